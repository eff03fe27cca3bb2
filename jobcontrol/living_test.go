package jobcontrol_test

import (
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/jobwright/jobwright/fake"
	"github.com/jobwright/jobwright/jobcontrol"
)

// quiet is a Job with this many pods at work, of which nothing was heard for a
// while.
func quiet(t *testing.T, pods int32) *harness {
	t.Helper()
	h := newHarness(t, epoch, jobcontrol.Config{})
	h.submit(parallel(pods, pods, 6))
	h.advance(10 * time.Second)
	return h
}

// endEach ends the pods one by one and lets the Job be synced whenever it is due.
func (h *harness) endEach(pods ...*corev1.Pod) (syncs int) {
	h.t.Helper()
	for _, pod := range pods {
		h.end(corev1.PodSucceeded, pod)
		h.view.Deliver()
		syncs += h.work()
	}
	return syncs
}

func TestTheLastPodIsNotWaitedFor(t *testing.T) {
	t.Run("nothing is waited for once the last pod has ended", func(t *testing.T) {
		h := quiet(t, 3)
		if syncs := h.endEach(h.pods()...); syncs != 2 {
			t.Errorf("%d syncs, want one for the first pod and one for the last", syncs)
		}
		h.wantStatus(0, 3, 0, batchv1.JobComplete)
	})
	t.Run("nor for longer than the Job's own status is unseen", func(t *testing.T) {
		h := newHarness(t, epoch, jobcontrol.Config{})
		if _, err := h.cluster.CreateJob(t.Context(), parallel(1, 1, 6)); err != nil {
			t.Fatal(err)
		}
		h.view.Deliver()
		h.work()
		h.end(corev1.PodSucceeded, h.pods()...)
		h.view.DeliverIf(fake.ForPod)
		h.work()
		h.wantStatus(1, 0, 0, "")
		h.view.Deliver()
		h.work()
		h.wantStatus(0, 1, 0, batchv1.JobComplete)
	})
	t.Run("unless it has not ended, for it may go on so with those that replace it", func(t *testing.T) {
		h := newHarness(t, epoch, jobcontrol.Config{Accounting: jobcontrol.Recount})
		h.submit(parallel(1, 1, 6))
		h.clock.Advance(100 * time.Millisecond)
		pod := h.pods()[0]
		h.delete(pod)
		if left := h.pods(); len(left) != 0 {
			h.remove(left[0])
		}
		h.view.Deliver()
		if syncs := h.work(); syncs != 0 {
			t.Errorf("%d syncs within the batch period, want none", syncs)
		}
	})
	t.Run("unless one that was asked for is still to be seen", func(t *testing.T) {
		h := newHarness(t, epoch, jobcontrol.Config{})
		if _, err := h.cluster.CreateJob(t.Context(), parallel(2, 2, 6)); err != nil {
			t.Fatal(err)
		}
		h.view.Deliver()
		h.work()
		first := h.pods()[0]
		h.end(corev1.PodSucceeded, first)
		h.view.DeliverIf(func(e fake.Event) bool { return e.Job != nil || e.Pod.Name == first.Name })
		if syncs := h.work(); syncs != 0 {
			t.Errorf("%d syncs while a pod is unseen, want none before the batch period ends", syncs)
		}
	})
}

// What becomes of the pods of a Job that has ended is nobody's business, unless
// one of them lives or is held.
func TestPodsOfAnEndedJobDoNotWakeIt(t *testing.T) {
	h := quiet(t, 3)
	h.end(corev1.PodSucceeded, h.pods()...)
	h.settle()
	h.wantStatus(0, 3, 0, batchv1.JobComplete)
	h.advance(10 * time.Second)
	for _, pod := range h.pods() {
		pod.Labels["looked-at"] = "yes"
		if _, err := h.cluster.UpdatePod(t.Context(), pod); err != nil {
			t.Fatal(err)
		}
		h.view.Deliver()
		h.delete(pod)
		h.view.Deliver()
	}
	if len(h.pods()) != 0 {
		t.Fatalf("%d pods are left", len(h.pods()))
	}
	if syncs := h.work(); syncs != 0 {
		t.Errorf("%d syncs, want none", syncs)
	}
}
