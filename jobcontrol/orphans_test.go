package jobcontrol_test

import (
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobwright/jobwright/fake"
	"github.com/jobwright/jobwright/jobcontrol"
)

// deleteJob deletes the Job as a user does.
func (h *harness) deleteJob(propagation metav1.DeletionPropagation) {
	h.t.Helper()
	if err := h.cluster.DeleteJob(h.t.Context(), "ns", "j", propagation); err != nil {
		h.t.Fatal(err)
	}
}

func TestPodsOfAJobThatGoesAreUntracked(t *testing.T) {
	for _, propagation := range []metav1.DeletionPropagation{
		metav1.DeletePropagationBackground, metav1.DeletePropagationForeground, metav1.DeletePropagationOrphan,
	} {
		t.Run(string(propagation), func(t *testing.T) {
			h := newHarness(t, epoch, unbatched)
			h.submit(parallel(3, 3, 6))
			h.run(h.pods()[0])
			h.endAt(corev1.PodSucceeded, 0, h.pods()[1])
			h.deleteJob(propagation)
			h.settle()
			if n := len(h.finalized()); n != 0 {
				t.Errorf("%d pods hold the finalizer", n)
			}
			if _, err := h.cluster.FetchJob(t.Context(), "ns", "j"); err == nil && propagation != metav1.DeletePropagationForeground {
				t.Error("the Job is still there")
			}
			for _, pod := range h.pods() {
				h.remove(pod)
			}
			h.settle()
			if _, err := h.cluster.FetchJob(t.Context(), "ns", "j"); err == nil {
				t.Error("the Job is still there, its pods are not")
			}
			if n := jobcontrol.Remembered(h.controller); n != 0 {
				t.Errorf("something is kept for %d Jobs that are gone", n)
			}
		})
	}
}

func TestPodsOfAJobThatWentUnseenAreUntracked(t *testing.T) {
	h := running(t, parallel(2, 2, 6))
	h.deleteJob(metav1.DeletePropagationBackground)
	h.reborn(unbatched)
	h.settle()
	if n := len(h.finalized()); n != 0 {
		t.Errorf("%d pods hold the finalizer", n)
	}
}

func TestAPodThatTurnsUpAfterItsJobIsUntracked(t *testing.T) {
	h := newHarness(t, epoch, unbatched)
	job := h.submit(parallel(1, 1, 6))
	late := jobcontrol.NewPod(job, batchv1.SchemeGroupVersion.WithKind("Job"), jobcontrol.Names{}, jobcontrol.Slot{Tracked: true})
	h.deleteJob(metav1.DeletePropagationBackground)
	h.settle()
	if _, err := h.cluster.Create(t.Context(), late); err != nil {
		t.Fatal(err)
	}
	h.settle()
	if n := len(h.finalized()); n != 0 {
		t.Errorf("%d pods hold the finalizer", n)
	}
}

// TestACacheBehindDoesNotMakeOrphans: the pods are known before their Job is.
func TestACacheBehindDoesNotMakeOrphans(t *testing.T) {
	t.Run("a Job not yet known", func(t *testing.T) {
		h := newHarness(t, epoch, unbatched)
		h.submit(parallel(2, 2, 6))
		h.run(h.pods()[0])
		h.endAt(corev1.PodSucceeded, 0, h.pods()[1])
		h.reborn(unbatched)
		h.view.DeliverIf(fake.ForPod)
		h.work()
		if n := len(h.finalized()); n != 2 {
			t.Errorf("%d pods hold the finalizer, want 2: their Job exists", n)
		}
		h.settle()
		h.wantStatus(1, 1, 0, "")
		if h.made() != 2 {
			t.Errorf("%d pods made, want 2", h.made())
		}
	})
	t.Run("a Job known by its predecessor", func(t *testing.T) {
		h := newHarness(t, epoch, unbatched)
		h.submit(parallel(1, 1, 6))
		h.deleteJob(metav1.DeletePropagationBackground)
		again, err := h.cluster.CreateJob(t.Context(), parallel(1, 1, 6))
		if err != nil {
			t.Fatal(err)
		}
		slot := jobcontrol.Slot{Tracked: true}
		pod := jobcontrol.NewPod(again, batchv1.SchemeGroupVersion.WithKind("Job"), jobcontrol.Names{}, slot)
		if _, err := h.cluster.Create(t.Context(), pod); err != nil { // by another leader
			t.Fatal(err)
		}
		h.view.DeliverIf(fake.ForPod)
		h.work()
		if n := len(h.podsOf(again)); n != 1 || len(h.finalized()) == 0 {
			t.Errorf("the pod of the new Job does not hold the finalizer any more")
		}
		h.settle()
		if h.made() != 1 {
			t.Errorf("%d pods made here, want the one of the old Job", h.made())
		}
	})
}

func TestB53PodsOfOthersKeepTheFinalizer(t *testing.T) {
	owned := func(kind, apiVersion string) []metav1.OwnerReference {
		return []metav1.OwnerReference{{Kind: kind, APIVersion: apiVersion, Name: "j", UID: "other", Controller: new(true)}}
	}
	for name, refs := range map[string][]metav1.OwnerReference{
		"another kind":           owned("Foo", "batch/v1"),
		"a Job of another group": owned("Job", "example.com/v1"),
		"another group and kind": owned("Foo", "example.com/v1"),
	} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t, epoch, unbatched)
			pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
				Namespace: "ns", Name: "j-0", Finalizers: []string{batchv1.JobTrackingFinalizer}, OwnerReferences: refs,
				Labels: map[string]string{batchv1.JobNameLabel: "j"},
			}}
			if _, err := h.cluster.Create(t.Context(), pod); err != nil {
				t.Fatal(err)
			}
			h.submit(parallel(1, 1, 6))
			h.delete(pod)
			h.settle()
			stored, err := h.cluster.FetchPod(t.Context(), "ns", "j-0")
			if err != nil || len(stored.Finalizers) != 1 {
				t.Errorf("pod %v, %v", stored.Finalizers, err)
			}
		})
	}
}

func TestAPodOfNobodysIsUntracked(t *testing.T) {
	h := newHarness(t, epoch, unbatched)
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: "ns", Name: "stray", Finalizers: []string{batchv1.JobTrackingFinalizer},
	}}
	if _, err := h.cluster.Create(t.Context(), pod); err != nil {
		t.Fatal(err)
	}
	h.settle()
	if n := len(h.finalized()); n != 0 {
		t.Errorf("%d pods hold the finalizer", n)
	}
	t.Run("but not one that a Job may still adopt", func(t *testing.T) {
		h := newHarness(t, epoch, unbatched)
		h.submit(selecting())
		pod := h.pods()[0]
		pod.OwnerReferences = nil
		if _, err := h.cluster.UpdatePod(t.Context(), pod); err != nil {
			t.Fatal(err)
		}
		h.settle()
		if n := len(h.finalized()); n != 1 || len(h.podsOf(h.job())) != 1 {
			t.Errorf("%d pods hold the finalizer, want the one adopted again", n)
		}
	})
}

// TestL11AnOrphanThatCannotBePatchedHoldsUpNobody: the Job recreated under the
// name of one whose pod is stuck starts at once.
func TestL11AnOrphanThatCannotBePatchedHoldsUpNobody(t *testing.T) {
	h := newHarness(t, epoch, unbatched)
	h.submit(parallel(1, 1, 6))
	stuck := h.pods()[0]
	h.refuse(func(call fake.Call) bool { return call.Verb == fake.Patch && call.Pod.UID == stuck.UID })
	h.deleteJob(metav1.DeletePropagationBackground)
	again, err := h.cluster.CreateJob(t.Context(), parallel(1, 1, 6))
	if err != nil {
		t.Fatal(err)
	}
	h.advance(5 * time.Second)
	if n := len(h.podsOf(again)); n != 1 {
		t.Errorf("the new Job has %d pods, want 1", n)
	}
	h.refuse(nil)
	h.advance(time.Minute)
	if n := len(h.pods()); n != 1 {
		t.Errorf("%d pods, want that of the old Job gone", n)
	}
}

// TestL2AJobThatCannotBeReadStillGoes: what is wrong with its spec or status
// does not keep its pods when it is deleted.
func TestL2AJobThatCannotBeReadStillGoes(t *testing.T) {
	for name, spoil := range map[string]func(*harness){
		"spec": func(h *harness) { h.update(func(j *batchv1.Job) { j.Spec.Parallelism = new(int32(-1)) }) },
		"status": func(h *harness) {
			h.cluster.AnyStatus = true
			job := h.job()
			job.Status.CompletedIndexes = "5-3"
			if _, err := h.cluster.UpdateJobStatus(t.Context(), job); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t, epoch, unbatched)
			h.submit(newJob(and(sized(2, 2, 6), asIndexed)))
			spoil(h)
			h.settle()
			h.refuse(func(fake.Call) bool { return true }) // for a moment
			h.deleteJob(metav1.DeletePropagationForeground)
			h.settle()
			h.refuse(nil)
			h.advance(time.Minute)
			if n := len(h.pods()); n != 0 {
				t.Errorf("%d pods are held", n)
			}
			if _, err := h.cluster.FetchJob(t.Context(), "ns", "j"); err == nil {
				t.Error("the Job is still there")
			}
		})
	}
}
