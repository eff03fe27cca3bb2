package jobcontrol_test

import (
	"slices"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobwright/jobwright/fake"
	"github.com/jobwright/jobwright/jobcontrol"
)

func TestRecreatedUnderItsName(t *testing.T) {
	t.Run("B1 B9 B103 delete and create are seen as one update, the old pods never", func(t *testing.T) {
		h := newHarness(t, epoch, unbatched)
		h.submit(parallel(1, 1, 6))
		h.control.FailAll(forbidden)
		h.queue.Requeued(jobKey, 3)
		jobcontrol.ExpectCreation(h.controller, h.job().UID) // its event never comes
		if err := h.cluster.DeleteJob(t.Context(), "ns", "j", metav1.DeletePropagationBackground); err != nil {
			t.Fatal(err)
		}
		h.control.FailAll(nil)
		again, err := h.cluster.CreateJob(t.Context(), parallel(1, 1, 6))
		if err != nil {
			t.Fatal(err)
		}
		h.view.Relist()
		h.settle()
		if made := h.podsOf(again); len(made) != 1 {
			t.Errorf("the new Job has %d pods, want 1", len(made))
		}
		if n := h.queue.NumRequeues(jobKey); n != 0 {
			t.Errorf("the new Job begins with %d retries", n)
		}
	})
	t.Run("B104 a worker is still inside the sync of the old one", func(t *testing.T) {
		h := newHarness(t, epoch, unbatched)
		var again *batchv1.Job
		h.control.OnCall = func(call fake.Call) error {
			h.control.OnCall = nil
			if err := h.cluster.DeleteJob(t.Context(), "ns", "j", metav1.DeletePropagationBackground); err != nil {
				t.Fatal(err)
			}
			var err error
			if again, err = h.cluster.CreateJob(t.Context(), parallel(1, 1, 6)); err != nil {
				t.Fatal(err)
			}
			h.view.Deliver()
			return forbidden
		}
		h.submit(parallel(1, 1, 6))
		h.advance(time.Second)
		if made := h.podsOf(again); len(made) != 1 {
			t.Errorf("the new Job has %d pods, want 1", len(made))
		}
		h.end(corev1.PodSucceeded, h.podsOf(again)...)
		h.settle()
		h.wantStatus(0, 1, 0, batchv1.JobComplete)
	})
	t.Run("late events of an old pod change nothing for the new Job", func(t *testing.T) {
		h := newHarness(t, epoch, unbatched)
		h.submit(parallel(1, 1, 6))
		old := h.pods()[0]
		if err := h.cluster.DeleteJob(t.Context(), "ns", "j", metav1.DeletePropagationBackground); err != nil {
			t.Fatal(err)
		}
		h.settle()
		again := h.submit(parallel(1, 1, 6))
		h.controller.PodAdded(old)
		h.controller.PodUpdated(old, old)
		h.controller.PodDeleted(old)
		h.settle()
		if made := h.podsOf(again); len(made) != 1 {
			t.Errorf("the new Job has %d pods, want 1", len(made))
		}
		h.wantStatus(1, 0, 0, "")
	})
}

// podsOf are the stored pods that a Job controls.
func (h *harness) podsOf(job *batchv1.Job) []*corev1.Pod {
	return slices.DeleteFunc(h.pods(), func(pod *corev1.Pod) bool {
		ref := metav1.GetControllerOf(pod)
		return ref == nil || ref.UID != job.UID
	})
}
