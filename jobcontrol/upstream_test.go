package jobcontrol_test

import (
	"context"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/jobwright/jobwright/fake"
	"github.com/jobwright/jobwright/jobcontrol"
)

// The tests of this file are faults of the controller of Kubernetes 1.37.2,
// each shown by experiment. E and a number are what the project calls them.

func TestE1AStartTimeAheadOfTheClockDoesNotHoldUpTheEnd(t *testing.T) {
	for name, outcome := range map[string]struct {
		phase corev1.PodPhase
		end   batchv1.JobConditionType
	}{"success": {corev1.PodSucceeded, batchv1.JobComplete}, "failure": {corev1.PodFailed, batchv1.JobFailed}} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t, epoch.Add(10*time.Minute), unbatched)
			h.submit(parallel(1, 1, 0))
			h.clock.Advance(-10 * time.Minute)
			h.reborn(unbatched)
			h.endAt(outcome.phase, 1, h.pods()...)
			h.settle()
			if end := jobcontrol.End(h.job()); end == nil || end.Type != outcome.end || len(h.errs) > 0 {
				t.Errorf("status %+v, errors %v", h.job().Status, h.errs)
			}
		})
	}
}

func TestE3AFailJobVerdictIsStoredThoughADeletionFails(t *testing.T) {
	h := running(t, newJob(and(sized(2, 2, 6), failJobOn(42))))
	h.refuse(func(call fake.Call) bool { return call.Verb == fake.Delete })
	bad := h.pods()[0]
	h.endAt(corev1.PodFailed, 42, bad)
	h.view.Deliver()
	h.work()
	if c := jobcontrol.Condition(&h.job().Status, batchv1.JobFailureTarget); c == nil || c.Reason != batchv1.JobReasonPodFailurePolicy {
		t.Errorf("verdict %+v, want it stored", c)
	}
	h.remove(bad)
	h.reborn(unbatched)
	h.refuse(nil)
	h.settle()
	for _, pod := range h.pods() {
		h.remove(pod)
	}
	h.settle()
	if end := jobcontrol.End(h.job()); end == nil || end.Reason != batchv1.JobReasonPodFailurePolicy {
		t.Errorf("it ends by %+v", end)
	}
	if h.made() != 2 {
		t.Errorf("%d pods made, want 2", h.made())
	}
}

func TestE4AScaleDownCutShortLeavesNoPodThatRunsUncounted(t *testing.T) {
	h := running(t, parallel(2, 2, 6))
	h.refuse(func(call fake.Call) bool { return call.Verb == fake.Delete })
	h.update(func(j *batchv1.Job) { j.Spec.Parallelism = new(int32(1)) })
	h.view.Deliver()
	h.work()
	if n := len(h.finalized()); n != 1 || len(h.live()) != 2 {
		t.Fatalf("%d of %d pods hold the finalizer, want the crash between untracking and deletion of one", n, len(h.live()))
	}
	h.reborn(unbatched)
	h.refuse(nil)
	h.update(func(j *batchv1.Job) { j.Spec.Parallelism = new(int32(2)) })
	h.settle()
	for _, pod := range h.pods() {
		if pod.DeletionTimestamp != nil {
			h.remove(pod)
		}
	}
	h.settle()
	if len(h.live()) != 2 || len(h.finalized()) != 2 {
		t.Fatalf("%d live pods, %d hold the finalizer; want 2 of 2", len(h.live()), len(h.finalized()))
	}
	h.endAt(corev1.PodSucceeded, 0, h.live()...)
	h.settle()
	h.wantStatus(0, 2, 0, batchv1.JobComplete)
	if h.made() != 3 {
		t.Errorf("%d pods made, want 3", h.made())
	}
}

func TestE5ACreationWhoseAnswerWasLost(t *testing.T) {
	lost := apierrors.NewTimeoutError("lost", 0)
	t.Run("it happened, and only the other pod's event has come: no third pod", func(t *testing.T) {
		h := newHarness(t, epoch, unbatched)
		h.control.OnCall = func(call fake.Call) error {
			if len(h.cluster.Pods("ns")) == 1 {
				h.control.OnCall = nil
				if _, err := h.cluster.Create(t.Context(), call.Pod); err != nil {
					t.Fatal(err)
				}
				return lost
			}
			return nil
		}
		if _, err := h.cluster.CreateJob(t.Context(), parallel(2, 2, 6)); err != nil {
			t.Fatal(err)
		}
		h.view.DeliverIf(fake.ForJob)
		h.work()
		h.view.DeliverNext() // the first pod
		for range 3 {
			h.view.DeliverIf(fake.ForJob)
			h.queue.Add(jobKey)
			h.work()
		}
		if n := len(h.pods()); n != 2 {
			t.Errorf("%d pods, want 2", n)
		}
		h.settle()
		h.wantStatus(2, 0, 0, "")
	})
	t.Run("it did not happen, which is found out where the pods are stored", func(t *testing.T) {
		for name, wait := range map[string]time.Duration{"batched": 0, "unbatched": -1} {
			h := newHarness(t, epoch, jobcontrol.Config{})
			h.restart(jobcontrol.Config{BatchPeriod: wait, PodFetcher: h.cluster})
			h.control.FailCall(2, lost)
			h.submit(parallel(3, 3, 6))
			h.advance(25 * time.Second)
			if n := len(h.pods()); n != 2 {
				t.Errorf("%s: %d pods while the creation may still happen, want 2", name, n)
			}
			h.advance(10 * time.Second)
			if n := len(h.pods()); n != 3 {
				t.Errorf("%s: %d pods after 35 s, want 3", name, n)
			}
		}
	})
	t.Run("it happened, and is found where the pods are stored: no third pod", func(t *testing.T) {
		h := newHarness(t, epoch, jobcontrol.Config{})
		h.restart(jobcontrol.Config{PodFetcher: h.cluster})
		h.control.OnCall = func(call fake.Call) error {
			h.control.OnCall = nil
			if _, err := h.cluster.Create(t.Context(), call.Pod); err != nil {
				t.Fatal(err)
			}
			return lost
		}
		if _, err := h.cluster.CreateJob(t.Context(), parallel(1, 1, 6)); err != nil {
			t.Fatal(err)
		}
		for range 60 {
			h.view.DeliverIf(fake.ForJob)
			h.work()
			h.clock.Advance(time.Second)
		}
		if n := len(h.pods()); n != 1 {
			t.Errorf("%d pods, want the one whose event is late", n)
		}
	})
	t.Run("it did not happen, and no event will come: the Job wakes by itself", func(t *testing.T) {
		for _, err := range []error{lost, context.DeadlineExceeded} {
			h := newHarness(t, epoch, unbatched)
			h.control.FailCall(1, err)
			h.submit(parallel(1, 1, 6))
			h.advance(6 * time.Minute)
			if n := len(h.pods()); n != 1 {
				t.Errorf("%d pods after 6 minutes without an event, want 1", n)
			}
		}
	})
}

func TestE7ACreationThatCommitsAfterTheEndIsUndone(t *testing.T) {
	h := newHarness(t, epoch, unbatched)
	job := h.submit(parallel(1, 1, 6))
	late := jobcontrol.NewPod(job, batchv1.SchemeGroupVersion.WithKind("Job"), jobcontrol.Names{}, jobcontrol.Slot{Tracked: true})
	h.endAt(corev1.PodSucceeded, 0, h.pods()...)
	h.settle()
	h.wantStatus(0, 1, 0, batchv1.JobComplete)
	if _, err := h.cluster.Create(t.Context(), late); err != nil {
		t.Fatal(err)
	}
	h.settle()
	if len(h.live()) != 0 || len(h.finalized()) != 0 {
		t.Errorf("%d pods live, %d hold the finalizer", len(h.live()), len(h.finalized()))
	}
	h.wantStatus(0, 1, 0, batchv1.JobComplete)
}

func TestE8AKubeletsClockAheadDoesNotDelayTheReplacement(t *testing.T) {
	for name, spec := range map[string]func(*batchv1.JobSpec){
		"by Job":   sized(1, 1, 6),
		"by index": and(sized(1, 1, 6), perIndex(3)),
	} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t, epoch, unbatched)
			h.submit(newJob(spec))
			pod := h.pods()[0]
			failedWith(1, h.clock.Now().Add(2*time.Hour), pod)
			h.end(corev1.PodFailed, pod)
			h.settle()
			if h.made() != 1 {
				t.Errorf("replaced at once, want it to wait 10s")
			}
			h.advance(11 * time.Second)
			if h.made() != 2 {
				t.Errorf("%d pods made 11s after the failure, want 2", h.made())
			}
		})
	}
}

// suspendInVain suspends the Job while every call is refused.
func (h *harness) suspendInVain() {
	h.t.Helper()
	h.refuse(func(fake.Call) bool { return true })
	h.suspend(true)
	h.view.Deliver()
	h.work()
}

func TestE10FailedDeletionsOfASuspendedJobLeaveReadyAsItIs(t *testing.T) {
	h := running(t, parallel(2, 2, 6))
	h.suspendInVain()
	if s := h.job().Status; s.Active != 2 || *s.Ready != 2 || *s.Terminating != 0 {
		t.Errorf("active %d, ready %d, terminating %d; want 2, 2, 0", s.Active, *s.Ready, *s.Terminating)
	}
}

func TestE14AnElasticJobScaledDownAndThenMadeNarrowerGoesOn(t *testing.T) {
	h := newHarness(t, epoch, unbatched)
	h.submit(newJob(and(sized(10, 10, 6), asIndexed)))
	h.endAt(corev1.PodSucceeded, 0, h.pods()[:6]...)
	h.settle()
	h.update(func(j *batchv1.Job) { j.Spec.Parallelism, j.Spec.Completions = new(int32(3)), new(int32(3)) })
	h.view.DeliverIf(fake.ForJob)
	h.update(func(j *batchv1.Job) { j.Spec.Parallelism = new(int32(2)) })
	h.settle()
	h.advance(time.Minute)
	if end := jobcontrol.End(h.job()); end == nil || end.Type != batchv1.JobComplete || len(h.errs) > 0 {
		t.Errorf("status %+v, errors %v", h.job().Status, h.errs)
	}
}

func TestE16ASuspendedJobCompletesWithAStartTime(t *testing.T) {
	h := running(t, parallel(1, 1, 6))
	h.suspendInVain()
	h.endAt(corev1.PodSucceeded, 0, h.pods()...)
	h.refuse(nil)
	h.settle()
	h.wantStatus(0, 1, 0, batchv1.JobComplete)
}

func TestE22AListedPodThatFlipsIsNotListedTwice(t *testing.T) {
	h := newHarness(t, epoch, unbatched)
	h.submit(parallel(1, 1, 0))
	h.refuse(func(call fake.Call) bool { return call.Verb == fake.Patch })
	h.endAt(corev1.PodSucceeded, 0, h.pods()...)
	h.settle()
	h.reborn(unbatched)
	h.refuse(nil)
	h.endAt(corev1.PodFailed, 1, h.pods()...)
	h.settle()
	h.wantStatus(0, 1, 0, batchv1.JobComplete)
}

func TestE23ASuspendedJobFailsWithAStartTime(t *testing.T) {
	h := running(t, newJob(and(sized(1, 1, 0), replaceFailed)))
	pod := h.pods()[0]
	h.delete(pod)
	h.settle()
	h.suspend(true)
	h.settle()
	pod = h.pods()[0]
	h.endAt(corev1.PodFailed, 1, pod)
	h.settle()
	h.wantStatus(0, 0, 1, batchv1.JobFailed)
	if end := jobcontrol.End(h.job()); end == nil || end.Reason != batchv1.JobReasonBackoffLimitExceeded {
		t.Errorf("it ends by %+v", end)
	}
}

// TestAPodThatIsGoneIsCountedOnce: the patch finds no pod, the cache still does.
func TestB5APodThatIsGoneIsCountedOnce(t *testing.T) {
	for name, answer := range map[string]error{
		"gone": apierrors.NewNotFound(schema.GroupResource{Resource: "pods"}, "j"),
	} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t, epoch, unbatched)
			h.submit(parallel(1, 2, 6))
			h.endAt(corev1.PodSucceeded, 0, h.pods()...)
			h.view.Deliver()
			h.control.OnCall = func(call fake.Call) error {
				if call.Verb != fake.Patch {
					return nil
				}
				stored := call.Pod
				stored.Finalizers = nil
				if _, err := h.cluster.UpdatePod(t.Context(), stored); err == nil {
					h.remove(stored)
				}
				return answer
			}
			h.work()
			for range 4 {
				h.view.DeliverIf(fake.ForJob)
				h.queue.Add(jobKey)
				h.work()
			}
			if got := h.job().Status.Succeeded; got != 1 {
				t.Errorf("succeeded %d, want 1: its end was seen once", got)
			}
		})
	}
}
