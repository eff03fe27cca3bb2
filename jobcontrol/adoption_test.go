package jobcontrol_test

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobwright/jobwright/fake"
)

func TestAdoption(t *testing.T) {
	t.Run("a matching orphan is adopted instead of a pod created", func(t *testing.T) {
		h := newHarness(t, epoch, unbatched)
		h.orphan("stray")
		job := h.submit(selecting())
		if n := len(h.pods()); n != 1 || len(h.podsOf(job)) != 1 {
			t.Errorf("%d pods, %d of the Job; want the adopted one alone", n, len(h.podsOf(job)))
		}
		patch := h.control.Calls(fake.Patch)[0]
		if !strings.Contains(string(patch.Patch), `"uid":"`+string(patch.Pod.UID)+`"`) {
			t.Errorf("patch %s carries no UID of the pod", patch.Patch)
		}
	})
	t.Run("an orphan that turns up later wakes the Job", func(t *testing.T) {
		h := newHarness(t, epoch, unbatched)
		job := h.submit(selecting())
		h.orphan("stray")
		h.settle()
		if n := len(h.podsOf(job)); n != 1 {
			t.Errorf("the Job has %d pods; want one of the two deleted as surplus", n)
		}
	})
	t.Run("a pod whose labels no longer match is released and replaced", func(t *testing.T) {
		h := newHarness(t, epoch, unbatched)
		job := h.submit(selecting())
		pod := h.pods()[0]
		pod.Labels = map[string]string{"app": "y"}
		if _, err := h.cluster.UpdatePod(t.Context(), pod); err != nil {
			t.Fatal(err)
		}
		h.settle()
		released, err := h.cluster.FetchPod(t.Context(), "ns", pod.Name)
		if err != nil || metav1.GetControllerOf(released) != nil {
			t.Errorf("the pod is still owned: %v, %v", released.OwnerReferences, err)
		}
		if n := len(h.podsOf(job)); n != 1 {
			t.Errorf("the Job has %d pods, want 1", n)
		}
	})
	t.Run("B57 two Jobs whose selectors overlap act on their own pods alone", func(t *testing.T) {
		h := newHarness(t, epoch, unbatched)
		a := h.submit(selecting())
		other := selecting()
		other.Name = "k"
		other.Spec.Parallelism = new(int32(0))
		b := h.submit(other)
		h.settle()
		if len(h.podsOf(a)) != 1 || len(h.podsOf(b)) != 0 || len(h.control.Calls(fake.Delete)) != 0 {
			t.Errorf("pods %d and %d, deletions %v; want 1, 0 and none", len(h.podsOf(a)), len(h.podsOf(b)), h.control.Calls(fake.Delete))
		}
	})
}

// TestAJobThatIsGoneAdoptsNothing: it is gone from the API, though not from the cache.
func TestAJobThatIsGoneAdoptsNothing(t *testing.T) {
	for name, behind := range map[string]func(*harness){
		"deleted": func(h *harness) {},
		"recreated": func(h *harness) {
			if _, err := h.cluster.CreateJob(t.Context(), selecting()); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t, epoch, unbatched)
			h.submit(selecting())
			h.orphan("stray")
			if err := h.cluster.DeleteJob(t.Context(), "ns", "j", metav1.DeletePropagationOrphan); err != nil {
				t.Fatal(err)
			}
			behind(h)
			h.view.DeliverIf(fake.ForPod)
			h.queue.Add(jobKey)
			h.work()
			if n := len(h.control.Calls(fake.Patch)); n != 0 || len(h.errs) == 0 {
				t.Errorf("%d patches, errors %v; want no patch and an error", n, h.errs)
			}
		})
	}
}

// TestS1AnAdoptedPodIsCountedOnce: it has ended, and the cache shows its
// adoption late.
func TestS1AnAdoptedPodIsCountedOnce(t *testing.T) {
	h := newHarness(t, epoch, unbatched)
	job := selecting()
	job.Spec.Parallelism, job.Spec.Completions = new(int32(0)), new(int32(5))
	h.submit(job)
	stray := h.orphan("stray")
	h.end(corev1.PodSucceeded, stray)
	h.view.Deliver()
	for range 3 {
		h.work()
		h.view.DeliverIf(fake.ForJob)
		h.queue.Add(jobKey)
	}
	h.settle()
	h.wantStatus(0, 1, 0, "")
}

// TestL11APodThatCannotBeReleasedHoldsUpNobody: the other pods are counted.
func TestL11APodThatCannotBeReleasedHoldsUpNobody(t *testing.T) {
	h := newHarness(t, epoch, unbatched)
	job := selecting()
	job.Spec.Parallelism, job.Spec.Completions = new(int32(3)), new(int32(3))
	h.submit(job)
	pods := h.pods()
	h.end(corev1.PodSucceeded, pods[0])
	pods[1].Labels = nil
	if _, err := h.cluster.UpdatePod(t.Context(), pods[1]); err != nil {
		t.Fatal(err)
	}
	h.control.OnCall = func(call fake.Call) error {
		if call.Verb == fake.Patch && call.Pod.UID == pods[1].UID {
			return forbidden
		}
		return nil
	}
	h.settle()
	h.advance(time.Minute)
	if got := h.job().Status.Succeeded; got != 1 {
		t.Errorf("succeeded is %d, want 1", got)
	}
	if !h.sawErr(forbidden) {
		t.Error("nobody says that the pod cannot be released")
	}
}
