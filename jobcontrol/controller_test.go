package jobcontrol_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/jobwright/jobwright/fake"
	"github.com/jobwright/jobwright/jobcontrol"
)

// unbatched is a Controller that syncs at every event; recounting is one by the
// original algorithm.
var (
	unbatched  = jobcontrol.Config{BatchPeriod: -1}
	recounting = jobcontrol.Config{BatchPeriod: -1, Accounting: jobcontrol.Recount}
)

var forbidden = apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "", errors.New("exceeded quota"))

func parallel(parallelism, completions, backoffLimit int32) *batchv1.Job {
	return newJob(func(s *batchv1.JobSpec) {
		s.Parallelism, s.Completions, s.BackoffLimit = &parallelism, &completions, &backoffLimit
	})
}

func TestAJobRunsToItsEnd(t *testing.T) {
	h := newHarness(t, epoch, unbatched)
	h.submit(parallel(2, 3, 6))
	h.wantStatus(2, 0, 0, "")
	for range 3 {
		h.end(corev1.PodSucceeded, h.pods(corev1.PodPending)[0])
		h.settle()
	}
	h.wantStatus(0, 3, 0, batchv1.JobComplete)
	if n := len(h.pods()); n != 3 {
		t.Errorf("%d pods were made, want 3", n)
	}
	if len(h.errs) > 0 {
		t.Errorf("errors: %v", h.errs)
	}
	if n := jobcontrol.Remembered(h.controller); n != 0 {
		t.Errorf("B107 something is kept for %d ended Jobs", n)
	}
}

func TestInvalidJobs(t *testing.T) {
	t.Run("a key that is not namespace/name", func(t *testing.T) {
		h := newHarness(t, epoch, unbatched)
		for _, key := range []string{"", "j", "/j", "ns/", "a/b/c"} {
			_, err := h.controller.Sync(t.Context(), key)
			if !errors.Is(err, jobcontrol.ErrInvalid) || !strings.Contains(err.Error(), fmt.Sprintf("%q", key)) {
				t.Errorf("key %q gives %v", key, err)
			}
			h.queue.Add(key)
		}
		h.settle()
		h.advance(time.Hour)
		if n := h.queue.Len(); n != 0 {
			t.Errorf("%d keys are still tried", n)
		}
	})
	t.Run("a spec that cannot be honoured touches nothing and says so", func(t *testing.T) {
		h := newHarness(t, epoch, unbatched)
		h.submit(newJob(func(s *batchv1.JobSpec) { s.Parallelism = new(int32(-1)) }))
		if len(h.control.Calls()) != 0 || len(h.statuses) != 0 {
			t.Errorf("calls %v, statuses %v", h.control.Calls(), h.statuses)
		}
		if len(h.events) != 1 || !strings.HasPrefix(h.events[0], "Warning InvalidJob ") || !strings.Contains(h.events[0], "spec.parallelism") {
			t.Errorf("events %q", h.events)
		}
		h.advance(time.Hour)
		if len(h.errs) != 1 {
			t.Errorf("tried %d times without a change, want once", len(h.errs))
		}
		h.update(func(j *batchv1.Job) { j.Spec.Parallelism = new(int32(1)) })
		h.settle()
		if n := len(h.pods()); n != 1 {
			t.Errorf("mended, it has %d pods, want 1", n)
		}
	})
}

func TestOwnerIsConfiguration(t *testing.T) {
	kind := schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Batch"}
	h := newHarness(t, epoch, jobcontrol.Config{BatchPeriod: -1, Owner: kind})
	h.submit(parallel(1, 1, 6))
	ref := metav1.GetControllerOf(h.pods()[0])
	if ref.Kind != "Batch" || ref.APIVersion != "example.com/v1" {
		t.Errorf("owner is %+v", ref)
	}
	t.Run("B53 pods of another kind of that name are not its business", func(t *testing.T) {
		before := h.queue.Len()
		pod := h.pods()[0].DeepCopy()
		pod.OwnerReferences[0].APIVersion = "batch/v1"
		h.controller.PodAdded(pod)
		pod.OwnerReferences[0].APIVersion = "a/b/c"
		h.controller.PodDeleted(pod)
		if h.queue.Len() != before {
			t.Errorf("they wake %v", h.queue.Items())
		}
	})
}

func TestBatching(t *testing.T) {
	t.Run("the first after quiet comes at once, the others wait", func(t *testing.T) {
		h := quiet(t, 4)
		if syncs := h.endEach(h.pods()[:3]...); syncs != 1 || h.job().Status.Succeeded != 1 {
			t.Errorf("after a burst: %d syncs, succeeded %d", syncs, h.job().Status.Succeeded)
		}
		h.advance(time.Second)
		h.wantStatus(1, 3, 0, "")
	})
	t.Run("and so does what comes while a sync takes its time", func(t *testing.T) {
		h := newHarness(t, epoch, jobcontrol.Config{MaxInFlight: 1})
		h.control.OnCall = func(call fake.Call) error {
			if call.Verb == fake.Create && len(h.pods()) == 2 {
				h.view.Deliver()
				h.end(corev1.PodSucceeded, h.pods()[0])
				h.view.Deliver()
				h.clock.Advance(time.Minute)
			}
			return nil
		}
		h.submit(parallel(3, 3, 6))
		h.wantStatus(3, 0, 0, "")
		h.advance(time.Second)
		h.wantStatus(2, 1, 0, "")
	})
	t.Run("also when no event comes after its last write", func(t *testing.T) {
		h := quiet(t, 3)
		pods, writes := h.pods(), 0
		h.afterSave = func() {
			if writes++; writes == 2 { // the one that counts
				h.end(corev1.PodSucceeded, pods[1])
				h.view.Deliver()
			}
		}
		h.end(corev1.PodSucceeded, pods[0])
		h.advance(2 * time.Second)
		h.wantStatus(1, 2, 0, "")
	})
}

func TestRun(t *testing.T) {
	t.Run("B92 calls in flight are bounded, and what is under way ends when it is stopped", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			h := newHarness(t, epoch, jobcontrol.Config{MaxInFlight: 4})
			var inFlight, most atomic.Int32
			ctx, stop := context.WithCancel(t.Context())
			h.control.OnCall = func(fake.Call) error {
				if n := inFlight.Add(1); n > most.Load() {
					most.Store(n)
				}
				defer inFlight.Add(-1)
				time.Sleep(time.Second) // virtual: how long the API takes
				stop()
				return nil
			}
			if _, err := h.cluster.CreateJob(ctx, parallel(40, 40, 6)); err != nil {
				t.Fatal(err)
			}
			h.view.Deliver()
			if err := h.controller.Run(ctx, 2); err != nil {
				t.Errorf("Run: %v", err)
			}
			if most.Load() != 4 {
				t.Errorf("%d calls at once, want 4", most.Load())
			}
			h.wantStatus(40, 0, 0, "")
			if _, shutdown := h.queue.Get(); !shutdown {
				t.Error("the queue is not shut down")
			}
		})
	})
	t.Run("stopped, it starts no sync of what is queued", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			h := newHarness(t, epoch, unbatched)
			if _, err := h.cluster.CreateJob(t.Context(), parallel(1, 1, 6)); err != nil {
				t.Fatal(err)
			}
			h.view.Deliver()
			ctx, stop := context.WithCancel(t.Context())
			stop()
			if err := h.controller.Run(ctx, 1); err != nil {
				t.Errorf("Run: %v", err)
			}
			if n := len(h.pods()); n != 0 {
				t.Errorf("%d pods were made", n)
			}
		})
	})
	t.Run("it needs a worker", func(t *testing.T) {
		if err := newHarness(t, epoch, unbatched).controller.Run(t.Context(), 0); err == nil {
			t.Error("Run with 0 workers returns nil")
		}
	})
}

func TestNewNeedsItsParts(t *testing.T) {
	if _, err := jobcontrol.New(nil, nil, nil, nil, jobcontrol.Config{}); err == nil {
		t.Error("New without parts returns no error")
	}
	h := newHarness(t, epoch, unbatched)
	if _, err := jobcontrol.New(h.view, h.view, h.control, h.queue, jobcontrol.Config{Accounting: 99}); !errors.Is(err, jobcontrol.ErrInvalid) {
		t.Errorf("New with an unknown mode returns %v", err)
	}
}

func TestNewNamesWhatIsWrongInItsConfig(t *testing.T) {
	h := newHarness(t, epoch, unbatched)
	for name, cfg := range map[string]jobcontrol.Config{
		"Patience":          {Patience: -1},
		"Backoff.Base":      {Backoff: jobcontrol.Backoff{Base: -1}},
		"Backoff.Limit":     {Backoff: jobcontrol.Backoff{Limit: -1}},
		"MaxInFlight":       {MaxInFlight: -1},
		"Names.LabelPrefix": {Names: jobcontrol.Names{LabelPrefix: "example.com"}},
		"Names.Finalizer":   {Names: jobcontrol.Names{Finalizer: "held"}},
		"no blanks/":        {Names: jobcontrol.Names{LabelPrefix: "no blanks/"}},
	} {
		if _, err := jobcontrol.New(h.view, h.view, h.control, h.queue, cfg); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
