package jobcontrol_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobwright/jobwright/fake"
	"github.com/jobwright/jobwright/jobcontrol"
)

// The tests of this file are what the project promises to do better than the
// controller of Kubernetes 1.37, by number.

// TestPoint1: a Job recreated under its name starts clean.
func TestPoint1ARecreatedJobStartsClean(t *testing.T) {
	for _, again := range []string{"at once", "suspended"} {
		for _, gap := range []string{"none", "one update", "pods late", "in the old one's sync"} {
			t.Run(again+", "+gap, func(t *testing.T) {
				h := newHarness(t, epoch, unbatched)
				job := parallel(2, 2, 6)
				second := job.DeepCopy()
				if again == "suspended" {
					second.Spec.Suspend = new(true)
				}
				recreate := func() {
					h.deleteJob(metav1.DeletePropagationBackground)
					if _, err := h.cluster.CreateJob(t.Context(), second); err != nil {
						t.Fatal(err)
					}
				}
				old := h.submit(job)
				h.endAt(corev1.PodFailed, 1, h.pods()[0]) // leaves back-off, untracked pods and expectations behind
				h.settle()
				late := h.pods()
				jobcontrol.ExpectCreation(h.controller, old.UID)
				h.queue.Requeued(jobKey, 5)
				switch gap {
				case "one update":
					recreate()
					h.view.Relist()
				case "in the old one's sync":
					h.beforeSave = func() error {
						h.beforeSave = nil
						recreate()
						h.view.Deliver()
						return nil
					}
					h.endAt(corev1.PodFailed, 1, h.live()...)
				case "pods late":
					recreate()
					h.view.DeliverIf(fake.ForJob)
					h.work()
				default:
					recreate()
				}
				h.settle()
				for _, pod := range late {
					h.controller.PodAdded(pod)
					h.controller.PodDeleted(pod)
				}
				h.advance(time.Second)
				if again == "suspended" {
					h.wantStatus(0, 0, 0, "")
					h.suspend(false)
					h.settle()
				}
				h.wantStatus(2, 0, 0, "")
				if n := len(h.podsOf(h.job())); n != 2 || h.job().UID == old.UID {
					t.Errorf("the new Job has %d pods, want 2", n)
				}
				if n := h.queue.NumRequeues(jobKey); n != 0 {
					t.Errorf("the new Job begins with %d retries", n)
				}
				h.endAt(corev1.PodSucceeded, 0, h.podsOf(h.job())...)
				h.settle()
				h.wantStatus(0, 2, 0, batchv1.JobComplete)
				if n := len(h.finalized()); n != 0 {
					t.Errorf("%d pods hold the finalizer", n)
				}
			})
		}
	}
}

// TestPoint2: a pod that flips after it was recorded counts once, as recorded.
func TestPoint2AFlipIsCountedOnceAsFirstRecorded(t *testing.T) {
	for name, spec := range map[string]func(*batchv1.JobSpec){"non-Indexed": and(), "Indexed": asIndexed, "by index": perIndex(9)} {
		for first, then := range map[corev1.PodPhase]corev1.PodPhase{
			corev1.PodSucceeded: corev1.PodFailed, corev1.PodFailed: corev1.PodSucceeded,
		} {
			for _, untracked := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s, first %s, untracked %v", name, first, untracked), func(t *testing.T) {
					h := newHarness(t, epoch, unbatched)
					h.submit(newJob(and(sized(2, 2, 6), spec)))
					h.refuse(func(call fake.Call) bool { return call.Verb == fake.Patch && !untracked })
					pod := h.pods()[0]
					h.endAt(first, 1, pod)
					h.advance(11 * time.Second) // a replacement that takes over is there
					h.refuse(nil)
					pod, err := h.cluster.FetchPod(t.Context(), "ns", pod.Name)
					if err != nil {
						t.Fatal(err)
					}
					h.endAt(then, 1, pod)
					h.advance(time.Minute)
					want := [2]int32{0, 1}
					if first == corev1.PodSucceeded {
						want = [2]int32{1, 0}
					}
					s := h.job().Status
					if diff := cmp.Diff(want, [2]int32{s.Succeeded, s.Failed}); diff != "" {
						t.Errorf("succeeded, failed (-want +got):\n%s", diff)
					}
					if u := s.UncountedTerminatedPods; u != nil && len(u.Succeeded)+len(u.Failed) != 0 {
						t.Errorf("uncounted %v", u)
					}
				})
			}
		}
	}
}

// TestPoint3: calls that failed change nothing, and count once.
func TestPoint3CallsThatFailed(t *testing.T) {
	t.Run("a deletion leaves ready and active", func(t *testing.T) {
		for name, change := range map[string]func(*batchv1.Job){
			"scaled down": func(j *batchv1.Job) { j.Spec.Parallelism = new(int32(0)) },
			"suspended":   func(j *batchv1.Job) { j.Spec.Suspend = new(true) },
			"failing":     func(j *batchv1.Job) { j.Spec.ActiveDeadlineSeconds = new(int64(1)) },
		} {
			h := newHarness(t, epoch, unbatched)
			h.submit(parallel(3, 3, 6))
			h.run(h.pods()...)
			h.advance(2 * time.Second)
			h.refuse(func(call fake.Call) bool { return call.Verb == fake.Delete })
			h.update(change)
			h.view.Deliver()
			h.work()
			if s := h.job().Status; s.Active != 3 || *s.Ready != 3 || *s.Terminating != 0 {
				t.Errorf("%s: active %d, ready %d, terminating %d; want 3, 3, 0", name, s.Active, *s.Ready, *s.Terminating)
			}
		}
	})
	t.Run("a creation and a deletion count once in the metrics", func(t *testing.T) {
		got := map[string]int{}
		tally := func(verb string) func(jobcontrol.Call, int) {
			return func(result jobcontrol.Call, n int) { got[verb+" "+result.String()] += n }
		}
		cfg := unbatched
		cfg.Metrics = &jobcontrol.Metrics{Created: tally("create"), Deleted: tally("delete")}
		h := newHarness(t, epoch, cfg)
		h.control.FailCall(1, forbidden)
		h.submit(parallel(1, 1, 6))
		h.advance(time.Second)
		h.refuse(func(fake.Call) bool { return true })
		h.update(func(j *batchv1.Job) { j.Spec.Suspend = new(true) })
		h.view.Deliver()
		h.work()
		h.refuse(nil)
		h.advance(time.Second)
		if diff := cmp.Diff(map[string]int{"create refused": 1, "create done": 1, "delete refused": 1, "delete done": 1}, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

// TestPoint4: a terminating namespace ends the batch and leaves nothing behind.
func TestPoint4ATerminatingNamespaceEndsTheBatch(t *testing.T) {
	h := newHarness(t, epoch, unbatched)
	job, err := h.cluster.CreateJob(t.Context(), parallel(100, 100, 6))
	if err != nil {
		t.Fatal(err)
	}
	h.control.OnCall = func(call fake.Call) error {
		if len(h.control.Calls()) == 3 {
			h.cluster.TerminateNamespace("ns")
		}
		return nil
	}
	h.view.DeliverIf(fake.ForJob)
	h.work()
	if n := h.made(); n < 3 || n > 7 {
		t.Errorf("%d creations tried, want no batch after the refusal", n)
	}
	h.view.Deliver()
	if n := jobcontrol.Expected(h.controller, job.UID); n != 0 || len(h.errs) != 0 {
		t.Errorf("%d pods are waited for, errors %v", n, h.errs)
	}
	if got := int(h.job().Status.Active); got != len(h.pods()) {
		t.Errorf("active %d of %d pods", got, len(h.pods()))
	}
}

// TestPoint5: a suspended Job that is decided gets a start time before its end.
func TestPoint5ASuspendedJobEndsWithAStartTime(t *testing.T) {
	h := newHarness(t, epoch, unbatched)
	job := newJob(and(sized(2, 2, 0), replaceFailed))
	job.Spec.ActiveDeadlineSeconds = new(int64(1))
	h.submit(job)
	h.run(h.pods()...)
	h.settle()
	h.delete(h.pods()[0])
	h.suspend(true)
	h.advance(10 * time.Second) // past the deadline, which does not count
	h.wantStatus(0, 0, 0, "")
	if h.job().Status.StartTime != nil {
		t.Errorf("start time %v of a suspended Job", h.job().Status.StartTime)
	}
	pod := h.finalized()[0]
	h.endAt(corev1.PodFailed, 1, pod)
	h.settle()
	for _, pod := range h.pods() {
		h.remove(pod)
	}
	h.advance(time.Second)
	h.wantStatus(0, 0, 1, batchv1.JobFailed)
	if h.job().Status.StartTime == nil || len(h.errs) != 0 {
		t.Errorf("start time %v, errors %v", h.job().Status.StartTime, h.errs)
	}
}
