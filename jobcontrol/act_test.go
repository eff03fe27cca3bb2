package jobcontrol_test

import (
	"context"
	"errors"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/jobwright/jobwright/fake"
	"github.com/jobwright/jobwright/jobcontrol"
)

func TestRefusedCreations(t *testing.T) {
	t.Run("B28 B32 quota: the batch stops, the error comes back, and the retry makes the rest", func(t *testing.T) {
		h := newHarness(t, epoch, unbatched)
		h.control.FailCall(2, forbidden)
		if _, err := h.cluster.CreateJob(t.Context(), parallel(5, 5, 6)); err != nil {
			t.Fatal(err)
		}
		h.view.Deliver()
		h.work()
		if n := len(h.control.Calls(fake.Create)); n != 3 {
			t.Errorf("%d creations were tried, want 1 and a batch of 2", n)
		}
		h.wantStatus(2, 0, 0, "")
		if !h.sawErr(forbidden) {
			t.Errorf("errors %v, want the refusal", h.errs)
		}
		h.advance(time.Second)
		if n := len(h.pods()); n != 5 {
			t.Errorf("%d pods in the end, want 5", n)
		}
		h.wantStatus(5, 0, 0, "")
	})
	t.Run("a namespace that terminates is not hammered", func(t *testing.T) {
		h := newHarness(t, epoch, unbatched)
		job, err := h.cluster.CreateJob(t.Context(), parallel(5, 5, 6))
		if err != nil {
			t.Fatal(err)
		}
		h.cluster.TerminateNamespace("ns")
		h.advance(time.Hour)
		if n := len(h.control.Calls(fake.Create)); n == 0 || n > 2 {
			t.Errorf("%d creations tried within an hour, want 1 for each event of the Job", n)
		}
		if len(h.errs) > 0 {
			t.Errorf("errors ask for retries: %v", h.errs)
		}
		if err := h.cluster.DeleteJob(t.Context(), job.Namespace, job.Name, metav1.DeletePropagationBackground); err != nil {
			t.Fatal(err)
		}
		h.settle()
		if n := jobcontrol.Remembered(h.controller); n != 0 {
			t.Errorf("something is kept for %d Jobs", n)
		}
	})
}

func TestCreationsWhoseAnswerIsLost(t *testing.T) {
	t.Run("the pod may exist, and is waited for", func(t *testing.T) {
		h := newHarness(t, epoch, unbatched)
		h.control.OnCall = func(call fake.Call) error {
			h.control.OnCall = nil
			if _, err := h.cluster.Create(t.Context(), call.Pod); err != nil {
				t.Fatal(err)
			}
			return apierrors.NewTimeoutError("lost", 0)
		}
		if _, err := h.cluster.CreateJob(t.Context(), parallel(1, 1, 6)); err != nil {
			t.Fatal(err)
		}
		h.view.DeliverIf(fake.ForJob)
		h.work()
		h.wantStatus(1, 0, 0, "")
		h.view.DeliverIf(fake.ForJob)
		h.clock.Advance(time.Minute)
		h.work()
		if n := len(h.control.Calls(fake.Create)); n != 1 {
			t.Errorf("%d creations tried before the pod was seen, want 1", n)
		}
		h.settle()
		if n := len(h.pods()); n != 1 {
			t.Errorf("%d pods, want 1", n)
		}
	})
	t.Run("nothing happened: the wait ends by its age", func(t *testing.T) {
		h := newHarness(t, epoch, unbatched)
		h.control.FailCall(1, context.DeadlineExceeded)
		h.submit(parallel(1, 1, 6))
		h.advance(10 * time.Second)
		if n := len(h.pods()); n != 0 {
			t.Errorf("%d pods while the outcome is unknown, want 0", n)
		}
		h.clock.Advance(5 * time.Minute)
		h.queue.Add(jobKey)
		h.settle()
		if n := len(h.pods()); n != 1 {
			t.Errorf("%d pods, want 1", n)
		}
	})
}

func TestPodsUnseen(t *testing.T) {
	t.Run("B77 B79 B109 no second pod while the first is not in the cache", func(t *testing.T) {
		h := newHarness(t, epoch, unbatched)
		if _, err := h.cluster.CreateJob(t.Context(), parallel(1, 1, 6)); err != nil {
			t.Fatal(err)
		}
		for range 5 {
			h.view.DeliverIf(fake.ForJob)
			h.queue.Add(jobKey)
			h.work()
		}
		if n := len(h.pods()); n != 1 {
			t.Errorf("%d pods, want 1", n)
		}
	})
	t.Run("B27 a pod deleted by somebody is replaced at once", func(t *testing.T) {
		h := newHarness(t, epoch, recounting)
		h.submit(parallel(1, 1, 6))
		if err := h.cluster.Delete(t.Context(), h.pods()[0]); err != nil {
			t.Fatal(err)
		}
		h.settle()
		if n := len(h.pods()); n != 1 {
			t.Errorf("%d pods, want 1", n)
		}
		h.wantStatus(1, 0, 0, "")
	})
	t.Run("a pod seen first when it is being deleted counts as seen", func(t *testing.T) {
		h := newHarness(t, epoch, unbatched)
		if _, err := h.cluster.CreateJob(t.Context(), parallel(1, 1, 6)); err != nil {
			t.Fatal(err)
		}
		h.view.DeliverIf(fake.ForJob)
		h.work()
		pod := h.pods()[0]
		pod.DeletionTimestamp = &metav1.Time{Time: epoch}
		h.view.DeliverIf(fake.ForPod)
		jobcontrol.ExpectCreation(h.controller, h.job().UID)
		h.controller.PodAdded(pod)
		if n := jobcontrol.Expected(h.controller, h.job().UID); n != 0 {
			t.Errorf("%d pods are still waited for", n)
		}
	})
	t.Run("a deletion seen before it was expected is not waited for", func(t *testing.T) {
		h := newHarness(t, epoch, unbatched)
		h.submit(parallel(2, 2, 6))
		h.update(func(j *batchv1.Job) { j.Spec.Parallelism = new(int32(1)) })
		h.view.DeliverIf(fake.ForJob)
		h.control.OnCall = func(call fake.Call) error {
			h.control.OnCall = nil
			if err := h.cluster.Delete(t.Context(), call.Pod); err != nil {
				t.Fatal(err)
			}
			h.view.Deliver()
			jobcontrol.ExpectDeletion(h.controller, h.job().UID, call.Pod.UID) // as if its event had come before
			return nil
		}
		h.settle()
		if n := jobcontrol.Expected(h.controller, h.job().UID); n != 0 {
			t.Errorf("%d pods are still waited for", n)
		}
	})
}

func TestMetricsCountEachCallOnce(t *testing.T) {
	got := map[string]int{}
	tally := func(verb string) func(jobcontrol.Call, int) {
		return func(result jobcontrol.Call, n int) { got[verb+" "+result.String()] += n }
	}
	synced := 0
	cfg := jobcontrol.Config{BatchPeriod: -1, Metrics: &jobcontrol.Metrics{
		Created: tally("create"), Deleted: tally("delete"),
		Synced: func(time.Duration, error) { synced++ },
	}}
	h := newHarness(t, epoch, cfg)
	h.control.FailCall(2, forbidden)
	h.control.FailCall(3, apierrors.NewTimeoutError("lost", 0))
	h.submit(parallel(5, 5, 6))
	want := map[string]int{"create done": 1, "create refused": 1, "create unknown": 1, "create skipped": 2}
	for key := range want {
		if got[key] != want[key] {
			t.Errorf("B55 %s: %d, want %d (all: %v)", key, got[key], want[key], got)
		}
	}
	if synced == 0 {
		t.Error("no sync was measured")
	}
}

// TestE5AnswersThatAreLost: nothing is created again while a pod may exist.
func TestE5AnswersThatAreLost(t *testing.T) {
	for name, lost := range map[string]error{
		"the API server's own store timed out": apierrors.NewServerTimeout(schema.GroupResource{Resource: "pods"}, "create", 2),
		"its store says so in words":           apierrors.NewInternalError(errors.New("etcdserver: request timed out")),
	} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t, epoch, unbatched)
			h.control.OnCall = func(call fake.Call) error {
				h.control.OnCall = nil
				if _, err := h.cluster.Create(t.Context(), call.Pod); err != nil {
					return err
				}
				return lost
			}
			if _, err := h.cluster.CreateJob(t.Context(), parallel(1, 1, 6)); err != nil {
				t.Fatal(err)
			}
			for range 10 {
				h.view.DeliverIf(fake.ForJob)
				h.work()
				h.clock.Advance(time.Second)
			}
			if n := len(h.pods()); n != 1 {
				t.Errorf("%d pods with parallelism 1", n)
			}
		})
	}
}
