package e2e

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobwright/jobwright/jobcontrol"
)

// What the stories are told in.

var (
	succeeds = fate{}
	fails    = fate{exit: 1}
)

// newJob returns a Job of completions pods, parallelism of them at a time.
func newJob(name string, completions, parallelism int32) *batchv1.Job {
	return &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: batchv1.JobSpec{
			Completions: &completions,
			Parallelism: &parallelism,
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": name}},
				Spec: corev1.PodSpec{
					RestartPolicy: corev1.RestartPolicyNever,
					SchedulerName: nodeName, // nobody's, in a cluster that has schedulers
					Containers:    []corev1.Container{{Name: "main", Image: "example.com/main"}},
				},
			},
		},
	}
}

// newIndexedJob is newJob with an index for each completion.
func newIndexedJob(name string, completions, parallelism int32) *batchv1.Job {
	job := newJob(name, completions, parallelism)
	job.Spec.CompletionMode = new(batchv1.IndexedCompletion)
	return job
}

// podsOf are the pods of a Job, the first created first.
func (w *world) podsOf(job string, is func(*corev1.Pod) bool) (pods []*corev1.Pod) {
	for _, pod := range w.pods {
		owner := metav1.GetControllerOf(pod)
		if owner != nil && w.jobs[job] != nil && owner.UID == w.jobs[job].UID && is(pod) {
			pods = append(pods, pod)
		}
	}
	slices.SortFunc(pods, func(a, b *corev1.Pod) int {
		if c := a.CreationTimestamp.Compare(b.CreationTimestamp.Time); c != 0 {
			return c
		}
		return indexOf(a) - indexOf(b)
	})
	return pods
}

func indexOf(pod *corev1.Pod) int {
	index, err := strconv.Atoi(pod.Annotations[batchv1.JobCompletionIndexAnnotation])
	if err != nil {
		return -1
	}
	return index
}

func every(*corev1.Pod) bool { return true }

// runs says of a pod that it runs and is not about to stop.
func runs(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodRunning && pod.DeletionTimestamp == nil
}

// besides says of a pod that it runs, and is not this one.
func besides(pod *corev1.Pod) func(*corev1.Pod) bool {
	return func(other *corev1.Pod) bool { return runs(other) && other.Name != pod.Name }
}

// awaitPods returns the running pods of a Job when there are n of them.
func (w *world) awaitPods(job string, n int) (pods []*corev1.Pod) {
	w.t.Helper()
	w.await(fmt.Sprintf("%d running pods of %s", n, job), func() bool {
		pods = w.podsOf(job, runs)
		return len(pods) == n
	})
	return pods
}

// finish waits for a running pod of the Job and lets it end.
func (w *world) finish(job string, f fate) *corev1.Pod {
	w.t.Helper()
	return w.finishWhere(job, f, runs)
}

// finishIndex is finish for one index.
func (w *world) finishIndex(job string, index int, f fate) *corev1.Pod {
	w.t.Helper()
	return w.finishWhere(job, f, func(pod *corev1.Pod) bool { return runs(pod) && indexOf(pod) == index })
}

func (w *world) finishWhere(job string, f fate, is func(*corev1.Pod) bool) (pod *corev1.Pod) {
	w.t.Helper()
	w.await("a running pod of "+job, func() bool {
		pods := w.podsOf(job, is)
		if len(pods) > 0 {
			pod = pods[0]
		}
		return pod != nil
	})
	w.kubelet.end(pod, f)
	w.await("the end of pod "+pod.Name, func() bool { return w.pods[pod.Name] == nil || ended(w.pods[pod.Name]) })
	return pod
}

// job is the Job as it was last seen.
func (w *world) job(name string) (job *batchv1.Job) {
	w.look(func() { job = w.jobs[name] })
	return job
}

// awaitJob returns the Job when it is as is says.
func (w *world) awaitJob(name, what string, is func(*batchv1.Job) bool) (job *batchv1.Job) {
	w.t.Helper()
	w.await("Job "+name+": "+what, func() bool {
		job = w.jobs[name]
		return job != nil && is(job)
	})
	return job
}

// awaitEnd returns the Job when it has ended, which must be in this way.
func (w *world) awaitEnd(name string, how batchv1.JobConditionType, reason string) *batchv1.Job {
	w.t.Helper()
	job := w.awaitJob(name, "ended", jobcontrol.IsFinished)
	end := jobcontrol.End(job)
	if end.Type != how || end.Reason != reason {
		w.t.Errorf("Job %s: %s for %s (%s), want %s for %s", name, end.Type, end.Reason, end.Message, how, reason)
	}
	// Nothing that ended holds a pod any longer (L2).
	w.await("the finalizers of the pods of "+name+" are gone", func() bool {
		return len(w.podsOf(name, func(pod *corev1.Pod) bool { return slices.Contains(pod.Finalizers, batchv1.JobTrackingFinalizer) })) == 0
	})
	return job
}

// counts compares what a Job that has ended counts.
func (w *world) counts(job *batchv1.Job, succeeded, failed int32) {
	w.t.Helper()
	type counts struct{ Succeeded, Failed, Active, Terminating, Uncounted int32 }
	got := counts{Succeeded: job.Status.Succeeded, Failed: job.Status.Failed, Active: job.Status.Active}
	if n := job.Status.Terminating; n != nil {
		got.Terminating = *n
	}
	if u := job.Status.UncountedTerminatedPods; u != nil {
		got.Uncounted = int32(len(u.Succeeded) + len(u.Failed))
	}
	if diff := cmp.Diff(counts{Succeeded: succeeded, Failed: failed}, got); diff != "" {
		w.t.Errorf("Job %s (-want +got):\n%s", job.Name, diff)
	}
}

// wantPods compares how many pods the Job ever had.
func (w *world) wantPods(job string, n int) {
	w.t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	if got := w.created[w.jobs[job].UID]; got != n {
		w.t.Errorf("Job %s had %d pods, want %d", job, got, n)
	}
}

// wantPatches compares how many pods were patched: one patch is what a pod needs.
func (w *world) wantPatches(n int) {
	w.t.Helper()
	if got := w.requests.made()["patch pods"]; got != n {
		w.t.Errorf("%d patches of pods, want %d", got, n)
	}
}

// deletePod deletes a pod as a user does.
func (w *world) deletePod(pod *corev1.Pod) {
	w.t.Helper()
	if err := w.client.CoreV1().Pods(w.namespace).Delete(w.t.Context(), pod.Name, metav1.DeleteOptions{}); err != nil {
		w.t.Fatal(err)
	}
}

// quick is a configuration that retries sooner than the default, which is 10 s.
var quick = jobcontrol.Config{Backoff: jobcontrol.Backoff{Base: time.Second, Limit: 4 * time.Second}}
