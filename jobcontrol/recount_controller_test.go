package jobcontrol_test

import (
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/jobwright/jobwright/fake"
	"github.com/jobwright/jobwright/jobcontrol"
)

func TestRecountedFailures(t *testing.T) {
	t.Run("B15 B40 B41 a Job that always fails stops at its limit, but for the pods in flight", func(t *testing.T) {
		h := newHarness(t, epoch, recounting)
		h.submit(parallel(2, 2, 3))
		for range 10 {
			h.end(corev1.PodFailed, h.pods(corev1.PodPending)...)
			h.advance(time.Hour)
		}
		if !jobcontrol.IsFinished(h.job()) {
			t.Fatalf("the Job goes on: %+v", h.job().Status)
		}
		if made := len(h.pods()); made < 4 || made > 5 {
			t.Errorf("%d pods were made with backoffLimit 3 and parallelism 2, want 4 or 5", made)
		}
	})
	t.Run("B33 a success is counted at once while a failure backs off", func(t *testing.T) {
		h := newHarness(t, epoch, recounting)
		h.submit(parallel(2, 3, 6))
		h.end(corev1.PodFailed, h.pods(corev1.PodPending)[0])
		h.settle()
		h.end(corev1.PodFailed, h.pods(corev1.PodPending)[0]) // this one waits
		h.view.Deliver()
		if h.work() != 0 {
			t.Error("a second failure in a row is acted on at once")
		}
		h.end(corev1.PodSucceeded, h.pods(corev1.PodPending)[0])
		h.settle()
		if got := h.job().Status.Succeeded; got != 1 {
			t.Errorf("succeeded is %d, want 1 at once", got)
		}
	})
	t.Run("the delay doubles with each failure in a row", func(t *testing.T) {
		h := newHarness(t, epoch, recounting)
		h.submit(parallel(1, 1, 6))
		for _, want := range []time.Duration{0, 10 * time.Second, 20 * time.Second, 40 * time.Second} {
			before := len(h.pods())
			h.end(corev1.PodFailed, h.pods(corev1.PodPending)...)
			began := h.clock.Now()
			h.settle()
			for len(h.pods()) == before && h.clock.Now().Sub(began) < time.Hour {
				h.advance(time.Second)
			}
			if got := h.clock.Now().Sub(began); got != want {
				t.Errorf("the replacement came after %v, want %v", got, want)
			}
			h.advance(time.Second) // the queue's own retry
		}
	})
	t.Run("B47 a restarted controller keeps the deadline", func(t *testing.T) {
		h := newHarness(t, epoch, unbatched)
		job := parallel(1, 1, 6)
		job.Spec.ActiveDeadlineSeconds = new(int64(300))
		h.submit(job)
		h.clock.Advance(100 * time.Second)
		h.queue = fake.NewQueue(h.clock)
		h.view = h.cluster.View()
		h.restart(unbatched)
		h.settle()
		h.advance(199 * time.Second)
		h.wantStatus(1, 0, 0, "")
		h.advance(time.Second)
		h.wantStatus(0, 0, 1, batchv1.JobFailed)
	})
}
