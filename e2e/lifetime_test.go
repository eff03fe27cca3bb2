package e2e

import (
	"context"
	"os"
	"slices"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/jobwright/jobwright/jobcontrol"
	"github.com/jobwright/jobwright/jobcontrol/kube"
)

// A running Job is suspended: its pods go, which is no failure. It is resumed and
// starts anew, with a start time of its own.
func TestSuspendAndResume(t *testing.T) {
	w := newWorld(t)
	w.control(kube.Config{})
	w.submit(newJob("j", 2, 2))
	w.awaitPods("j", 2)
	w.suspend("j", true)
	job := w.awaitJob("j", "suspended without pods", func(job *batchv1.Job) bool {
		return has(job, batchv1.JobSuspended) && job.Status.Active == 0 && job.Status.Terminating != nil && *job.Status.Terminating == 0
	})
	if job.Status.StartTime != nil {
		t.Errorf("startTime %v while suspended, want none", job.Status.StartTime)
	}
	w.suspend("j", false)
	w.awaitPods("j", 2)
	w.finish("j", succeeds)
	w.finish("j", succeeds)
	job = w.awaitEnd("j", batchv1.JobComplete, batchv1.JobReasonCompletionsReached)
	w.counts(job, 2, 0)
	w.wantPods("j", 4)
}

// A Job that is created suspended waits. What its pods ask for may still be
// changed; then it is resumed for the first time.
func TestCreatedSuspended(t *testing.T) {
	w := newWorld(t)
	w.control(kube.Config{})
	waiting := newJob("j", 1, 1)
	waiting.Spec.Suspend = new(true)
	w.submit(waiting)
	w.awaitJob("j", "suspended", func(job *batchv1.Job) bool { return has(job, batchv1.JobSuspended) })
	w.change("j", func(job *batchv1.Job) { job.Spec.Template.Spec.NodeSelector = map[string]string{"pool": "night"} })
	w.suspend("j", false)
	pod := w.finish("j", succeeds)
	if pod.Spec.NodeSelector["pool"] != "night" {
		t.Errorf("node selector %v, want the one that the queue gave it", pod.Spec.NodeSelector)
	}
	job := w.awaitEnd("j", batchv1.JobComplete, batchv1.JobReasonCompletionsReached)
	w.counts(job, 1, 0)
	w.wantPods("j", 1)
	if has(job, batchv1.JobSuspended) || job.Status.StartTime == nil {
		t.Errorf("status %+v, want resumed and a start time", job.Status)
	}
}

// A Job that was never resumed may be deleted.
func TestSuspendedAndDeleted(t *testing.T) {
	w := newWorld(t)
	w.control(kube.Config{})
	waiting := newJob("j", 1, 1)
	waiting.Spec.Suspend = new(true)
	w.submit(waiting)
	w.awaitJob("j", "suspended", func(job *batchv1.Job) bool { return has(job, batchv1.JobSuspended) })
	w.remove("j", metav1.DeletePropagationForeground)
	w.await("the Job is gone", func() bool { return w.jobs["j"] == nil })
}

// A deadline ends a Job, and wakes it by itself.
func TestActiveDeadline(t *testing.T) {
	w := newWorld(t)
	w.control(kube.Config{})
	job := newJob("late", 2, 2)
	job.Spec.ActiveDeadlineSeconds = new(int64(3))
	w.submit(job)
	w.awaitPods("late", 2)
	job = w.awaitEnd("late", batchv1.JobFailed, batchv1.JobReasonDeadlineExceeded)
	w.counts(job, 0, 2)
	if took := jobcontrol.End(job).LastTransitionTime.Sub(job.Status.StartTime.Time); took < 3*time.Second || took > 8*time.Second {
		t.Errorf("ended %v after its start, want 3 s", took)
	}
}

// A suspended Job's deadline stands still.
func TestDeadlineCountsUnbrokenActivity(t *testing.T) {
	w := newWorld(t)
	w.control(kube.Config{})
	job := newJob("late", 1, 1)
	job.Spec.ActiveDeadlineSeconds = new(int64(4))
	w.submit(job)
	w.awaitPods("late", 1)
	w.suspend("late", true)
	w.awaitJob("late", "suspended", func(job *batchv1.Job) bool { return has(job, batchv1.JobSuspended) })
	other := newJob("other", 1, 1) // which tells when the deadline would have been
	other.Spec.ActiveDeadlineSeconds = new(int64(5))
	w.submit(other)
	w.awaitEnd("other", batchv1.JobFailed, batchv1.JobReasonDeadlineExceeded)
	w.suspend("late", false)
	w.finish("late", succeeds)
	w.counts(w.awaitEnd("late", batchv1.JobComplete, batchv1.JobReasonCompletionsReached), 1, 0)
}

// A Job with a TTL is deleted when that has passed, where the controller is told
// to; its owner hears of it first.
func TestTTL(t *testing.T) {
	w := newWorld(t)
	client, err := kubernetes.NewForConfig(admin)
	if err != nil {
		t.Fatal(err)
	}
	told := make(chan string, 1)
	cfg := jobcontrol.Config{
		Expiry: kube.NewExpiry(client),
		BeforeExpiry: func(_ context.Context, job *batchv1.Job) error {
			told <- job.Name
			return nil
		},
	}
	w.control(kube.Config{Controller: cfg})
	job := newJob("brief", 1, 1)
	job.Spec.TTLSecondsAfterFinished = new(int32(2))
	w.submit(job)
	w.finish("brief", succeeds)
	job = w.awaitJob("brief", "ended", jobcontrol.IsFinished)
	w.await("the Job and its pods are gone", func() bool { return len(w.jobs) == 0 && len(w.pods) == 0 })
	if lived := time.Since(job.Status.CompletionTime.Time); lived < 2*time.Second {
		t.Errorf("gone %v after its end, want 2 s", lived)
	}
	select {
	case got := <-told:
		if got != "brief" {
			t.Errorf("told of %q", got)
		}
	default:
		if os.Getenv("E2E_KUBECONFIG") == "" { // elsewhere the cluster may have been faster
			t.Error("nobody was told")
		}
	}
}

// Each propagation policy leaves what it promises, and no pod keeps a finalizer
// that nobody removes.
func TestDelete(t *testing.T) {
	for _, how := range []metav1.DeletionPropagation{metav1.DeletePropagationForeground, metav1.DeletePropagationBackground, metav1.DeletePropagationOrphan} {
		t.Run(string(how), func(t *testing.T) {
			w := newWorld(t)
			w.control(kube.Config{})
			w.submit(newJob("j", 2, 2))
			w.awaitPods("j", 2)
			w.remove("j", how)
			w.await("the Job is gone", func() bool { return w.jobs["j"] == nil })
			if how != metav1.DeletePropagationOrphan {
				w.await("its pods are gone", func() bool { return len(w.pods) == 0 })
				return
			}
			left := 0
			w.await("its pods have no owner and no finalizer", func() bool {
				left = len(w.pods)
				for _, pod := range w.pods {
					if len(pod.OwnerReferences) > 0 || slices.Contains(pod.Finalizers, batchv1.JobTrackingFinalizer) {
						return false
					}
				}
				return true
			})
			if left != 2 {
				t.Errorf("%d pods are left, want the two orphans", left)
			}
		})
	}
}

// A Job is deleted and another created under its name at once: that one starts
// from nothing.
func TestRecreatedUnderItsName(t *testing.T) {
	w := newWorld(t)
	w.control(kube.Config{})
	first := newJob("j", 2, 1)
	first.Spec.BackoffLimit = new(int32(0))
	former := w.submit(first.DeepCopy())
	w.finish("j", succeeds)
	w.awaitJob("j", "one has succeeded", func(job *batchv1.Job) bool { return job.Status.Succeeded == 1 })
	w.remove("j", metav1.DeletePropagationBackground)
	current := w.submit(first.DeepCopy())
	w.awaitJob("j", "the new one is seen", func(job *batchv1.Job) bool { return job.UID == current.UID })
	w.finish("j", succeeds)
	w.finish("j", succeeds)
	job := w.awaitEnd("j", batchv1.JobComplete, batchv1.JobReasonCompletionsReached)
	w.counts(job, 2, 0)
	w.wantPods("j", 2)
	w.await("the pods of the former Job are gone", func() bool {
		for _, pod := range w.pods {
			if owner := metav1.GetControllerOf(pod); owner == nil || owner.UID == former.UID {
				return false
			}
		}
		return true
	})
}

// A namespace that is being deleted takes its Jobs along; nothing is created in
// it, and nothing holds it up.
func TestNamespaceIsDeleted(t *testing.T) {
	w := newWorld(t)
	w.control(kube.Config{})
	w.submit(newJob("j", 2, 2))
	w.awaitPods("j", 2)
	// Watched from before: of what is gone already, a watch tells nothing.
	events, err := w.client.CoreV1().Namespaces().Watch(t.Context(), metav1.ListOptions{FieldSelector: "metadata.name=" + w.namespace})
	if err != nil {
		t.Fatal(err)
	}
	defer events.Stop()
	if err := w.client.CoreV1().Namespaces().Delete(t.Context(), w.namespace, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	w.await("everything is gone", func() bool { return len(w.jobs) == 0 && len(w.pods) == 0 })
	timeout := w.timeout()
	for {
		select {
		case event := <-events.ResultChan():
			if event.Type == "DELETED" {
				return
			}
		case <-timeout:
			t.Fatal("the namespace is still there")
		}
	}
}

func (w *world) suspend(name string, suspended bool) {
	w.t.Helper()
	w.change(name, func(job *batchv1.Job) { job.Spec.Suspend = &suspended })
}

// has says whether a condition of the Job is true.
func has(job *batchv1.Job, condition batchv1.JobConditionType) bool {
	return slices.ContainsFunc(job.Status.Conditions, func(c batchv1.JobCondition) bool {
		return c.Type == condition && c.Status == corev1.ConditionTrue
	})
}
