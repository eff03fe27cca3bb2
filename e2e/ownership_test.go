package e2e

import (
	"maps"
	"slices"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobwright/jobwright/jobcontrol/kube"
)

// A Job whose pods were left behind by another, deleted with orphans, takes them
// over and counts them as its own.
func TestAdoption(t *testing.T) {
	w := newWorld(t)
	w.control(kube.Config{})
	w.submit(manual(newJob("old", 2, 2), "train"))
	w.awaitPods("old", 2)
	w.remove("old", metav1.DeletePropagationOrphan)
	w.await("the pods are orphans", func() bool {
		return w.jobs["old"] == nil && len(w.pods) == 2 && !slices.ContainsFunc(pods(w), func(pod *corev1.Pod) bool {
			return len(pod.OwnerReferences) > 0 || len(pod.Finalizers) > 0
		})
	})
	w.submit(manual(newJob("new", 2, 2), "train"))
	for _, pod := range w.awaitPods("new", 2) {
		if !slices.Contains(pod.Finalizers, batchv1.JobTrackingFinalizer) {
			t.Errorf("pod %s was adopted without the finalizer", pod.Name)
		}
		w.kubelet.end(pod, succeeds)
	}
	w.counts(w.awaitEnd("new", batchv1.JobComplete, batchv1.JobReasonCompletionsReached), 2, 0)
	if owners := w.createdFor(); len(owners) != 1 {
		t.Errorf("pods were created for %v, want for the first Job only", owners)
	}
}

// A pod whose labels no longer match is let go, without owner and finalizer, and
// another takes its place. It is nobody's business then.
func TestRelease(t *testing.T) {
	w := newWorld(t)
	w.control(kube.Config{})
	w.submit(manual(newJob("j", 1, 1), "train"))
	first := w.awaitPods("j", 1)[0]
	labelled := first.DeepCopy()
	labelled.Labels["group"] = "debug"
	if _, err := w.client.CoreV1().Pods(w.namespace).Update(t.Context(), labelled, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	pod := first
	w.await("the pod is let go", func() bool {
		pod = w.pods[first.Name]
		return pod == nil || len(pod.OwnerReferences) == 0 && len(pod.Finalizers) == 0
	})
	w.finish("j", succeeds)
	w.counts(w.awaitEnd("j", batchv1.JobComplete, batchv1.JobReasonCompletionsReached), 1, 0)
	w.look(func() { pod = w.pods[first.Name] })
	if pod == nil || !runs(pod) {
		t.Errorf("the pod that was let go is %+v, want running", pod)
	}
}

// Two Jobs with the same selector leave each other's pods alone.
func TestOverlappingSelectors(t *testing.T) {
	w := newWorld(t)
	w.control(kube.Config{})
	for _, name := range []string{"a", "b"} {
		w.submit(manual(newJob(name, 2, 2), "train"))
	}
	for _, name := range []string{"a", "b"} {
		for _, pod := range w.awaitPods(name, 2) {
			w.kubelet.end(pod, succeeds)
		}
	}
	for _, name := range []string{"a", "b"} {
		w.counts(w.awaitEnd(name, batchv1.JobComplete, batchv1.JobReasonCompletionsReached), 2, 0)
		w.wantPods(name, 2)
	}
}

// Each Job has the manager that spec.managedBy names: ours, the Job controller of
// the cluster, or another that is not there. A Job may change hands only by being
// created anew.
func TestManagedBy(t *testing.T) {
	w := newWorld(t)
	w.control(kube.Config{})
	theirs := newJob("theirs", 1, 1)
	theirs.Spec.ManagedBy = new("example.com/another")
	builtIn := newJob("built-in", 1, 1)
	builtIn.Spec.ManagedBy = new(batchv1.JobControllerName)
	changing := newJob("changing", 1, 1)
	changing.Spec.ManagedBy = theirs.Spec.ManagedBy
	for _, job := range []*batchv1.Job{theirs, builtIn, changing, newJob("ours", 1, 1)} {
		w.submit(job)
	}
	w.finish("ours", succeeds)
	w.awaitEnd("ours", batchv1.JobComplete, batchv1.JobReasonCompletionsReached)
	w.finish("built-in", succeeds)
	w.awaitEnd("built-in", batchv1.JobComplete, batchv1.JobReasonCompletionsReached)
	for _, name := range []string{"theirs", "changing"} {
		job := w.awaitJob(name, "seen", func(*batchv1.Job) bool { return true })
		w.look(func() {
			if job.Status.StartTime != nil || len(w.podsOf(name, every)) > 0 {
				t.Errorf("%s was worked on: %+v", name, job.Status)
			}
		})
	}
	for _, owner := range w.createdFor() {
		if owner != "ours" {
			t.Errorf("a pod was created for %s", owner)
		}
	}

	w.remove("changing", metav1.DeletePropagationForeground)
	w.await("it is gone", func() bool { return w.jobs["changing"] == nil })
	w.submit(newJob("changing", 1, 1))
	w.finish("changing", succeeds)
	w.awaitEnd("changing", batchv1.JobComplete, batchv1.JobReasonCompletionsReached)
	if made := w.requests.made(); made["create pods"] != 2 {
		t.Errorf("requests %v, want two pods created", made)
	}
}

// The pods of a Job that another manages are left alone, though they have ended
// and nobody counts them. Once their Job is gone nobody can tell whose they were,
// and they are let go.
func TestPodsOfOthersAreLeftAlone(t *testing.T) {
	w := newWorld(t)
	w.control(kube.Config{})
	theirs := newJob("theirs", 1, 1)
	theirs.Spec.ManagedBy = new("example.com/another")
	theirs = w.submit(theirs)
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: "theirs", Labels: theirs.Spec.Template.Labels, Finalizers: []string{batchv1.JobTrackingFinalizer},
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(theirs, batchv1.SchemeGroupVersion.WithKind("Job"))},
		},
		Spec: theirs.Spec.Template.Spec,
	}
	if _, err := w.client.CoreV1().Pods(w.namespace).Create(t.Context(), pod, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	w.deletePod(w.finish("theirs", succeeds))

	w.submit(newJob("ours", 1, 1)) // which tells that the controller has seen all that was before
	w.finish("ours", succeeds)
	w.awaitEnd("ours", batchv1.JobComplete, batchv1.JobReasonCompletionsReached)
	w.await("their pod is about to go, and held", func() bool {
		pod := w.pods["theirs"]
		return pod != nil && pod.DeletionTimestamp != nil && len(pod.Finalizers) == 1
	})
	w.wantPatches(1) // of our own pod
	w.remove("theirs", metav1.DeletePropagationBackground)
	w.await("their pod is gone", func() bool { return w.jobs["theirs"] == nil && w.pods["theirs"] == nil })
}

// manual gives the Job a selector of its own.
func manual(job *batchv1.Job, group string) *batchv1.Job {
	job.Spec.ManualSelector = new(true)
	job.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"group": group}}
	job.Spec.Template.Labels = map[string]string{"group": group}
	return job
}

// createdFor are the names of the Jobs that controllers of the test have created pods
// for.
func (w *world) createdFor() []string {
	w.requests.mu.Lock()
	defer w.requests.mu.Unlock()
	return slices.Collect(maps.Values(w.requests.owners))
}

func pods(w *world) (pods []*corev1.Pod) {
	for _, pod := range w.pods {
		pods = append(pods, pod)
	}
	return pods
}
