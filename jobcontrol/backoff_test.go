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

// untilMade lets time pass until one more pod was made, and returns how much.
func (h *harness) untilMade(most time.Duration) time.Duration {
	h.t.Helper()
	before, began := h.made(), h.clock.Now()
	h.settle()
	for h.made() == before && h.clock.Now().Sub(began) < most {
		h.advance(time.Second)
	}
	return h.clock.Now().Sub(began)
}

func TestBackoffDoublesUpToItsLimit(t *testing.T) {
	for name, spec := range map[string]func(*batchv1.JobSpec){
		"by Job":   sized(1, 1, 9),
		"by index": and(sized(1, 1, 9), perIndex(9)),
	} {
		t.Run(name, func(t *testing.T) {
			cfg := unbatched
			cfg.Backoff = jobcontrol.Backoff{Base: 2 * time.Second, Limit: 10 * time.Second}
			h := newHarness(t, epoch, cfg)
			h.submit(newJob(spec))
			for _, want := range []time.Duration{2, 4, 8, 10, 10} {
				h.endAt(corev1.PodFailed, 1, h.live()...)
				if got := h.untilMade(time.Minute); got != want*time.Second {
					t.Errorf("replaced after %v, want %v", got, want*time.Second)
				}
			}
		})
	}
	t.Run("S36 by default 10s up to 10min", func(t *testing.T) {
		h := newHarness(t, epoch, unbatched)
		h.submit(parallel(1, 1, 9))
		for _, want := range []time.Duration{10, 20, 40, 80, 160, 320, 600, 600} {
			h.endAt(corev1.PodFailed, 1, h.live()...)
			if got := h.untilMade(time.Hour); got != want*time.Second {
				t.Errorf("replaced after %v, want %v", got, want*time.Second)
			}
		}
	})
}

func TestB16ASuccessEndsTheDelayAndNotTheLimit(t *testing.T) {
	h := newHarness(t, epoch, unbatched)
	h.submit(parallel(1, 4, 2))
	for range 2 {
		h.endAt(corev1.PodFailed, 1, h.live()...)
		if got := h.untilMade(time.Minute); got != 10*time.Second {
			t.Errorf("replaced after %v, want 10s: the first failure since a success", got)
		}
		h.clock.Advance(time.Second)
		h.endAt(corev1.PodSucceeded, 0, h.live()...)
		if got := h.untilMade(time.Minute); got != 0 {
			t.Errorf("the next pod came after %v, want at once", got)
		}
	}
	h.endAt(corev1.PodFailed, 1, h.live()...)
	h.settle()
	h.wantStatus(0, 2, 3, batchv1.JobFailed)
}

func TestB33NothingButCreationWaits(t *testing.T) {
	h := newHarness(t, epoch, unbatched)
	h.submit(parallel(2, 3, 6))
	h.endAt(corev1.PodFailed, 1, h.pods()[0])
	h.settle()
	h.wantStatus(1, 0, 1, "")
	h.endAt(corev1.PodFailed, 1, h.live()...)
	h.settle()
	h.wantStatus(0, 0, 2, "")
	h.untilMade(time.Minute)
	h.endAt(corev1.PodFailed, 1, h.live()[0])
	h.endAt(corev1.PodSucceeded, 0, h.live()[0])
	h.settle()
	if s := h.job().Status; s.Succeeded != 1 || s.Failed != 3 {
		t.Errorf("succeeded %d, failed %d; want 1 and 3 at once", s.Succeeded, s.Failed)
	}
}

func TestB3WhileItWaitsTheCountsAreThoseOfThePods(t *testing.T) {
	for name, spec := range map[string]func(*batchv1.JobSpec){
		"by Job":   sized(2, 2, 6),
		"by index": and(sized(2, 2, 6), perIndex(6)),
	} {
		t.Run(name, func(t *testing.T) {
			h := running(t, newJob(spec))
			h.endAt(corev1.PodFailed, 1, h.pods()[0])
			h.settle()
			s := h.job().Status
			if s.Active != 1 || *s.Ready != 1 || h.made() != 2 || len(h.errs) > 0 {
				t.Errorf("active %d, ready %d, %d pods made, errors %v; want 1, 1, 2", s.Active, *s.Ready, h.made(), h.errs)
			}
			if got := h.untilMade(time.Minute); got != 10*time.Second {
				t.Errorf("replaced after %v, want 10s", got)
			}
		})
	}
}

func TestB9ARecreatedJobHasNoFailures(t *testing.T) {
	h := newHarness(t, epoch, unbatched)
	h.submit(parallel(1, 1, 6))
	for range 3 {
		h.endAt(corev1.PodFailed, 1, h.live()...)
		h.untilMade(time.Hour)
	}
	h.endAt(corev1.PodFailed, 1, h.live()...)
	h.settle()
	h.deleteJob("Foreground")
	again, err := h.cluster.CreateJob(t.Context(), parallel(1, 1, 6))
	for err != nil { // the old one waits for its pods
		for _, pod := range h.pods() {
			h.remove(pod)
		}
		h.settle()
		again, err = h.cluster.CreateJob(t.Context(), parallel(1, 1, 6))
	}
	h.settle()
	if n := len(h.podsOf(again)); n != 1 {
		t.Fatalf("%d pods at once, want 1", n)
	}
	h.endAt(corev1.PodFailed, 1, h.podsOf(again)...)
	if got := h.untilMade(time.Hour); got != 10*time.Second {
		t.Errorf("replaced after %v, want 10s", got)
	}
}

func TestB49ARestartKeepsTheBackoff(t *testing.T) {
	fail := func(t *testing.T) *harness {
		h := newHarness(t, epoch, unbatched)
		h.submit(parallel(1, 1, 6))
		for range 2 {
			h.endAt(corev1.PodFailed, 1, h.live()...)
			h.untilMade(time.Hour)
		}
		h.endAt(corev1.PodFailed, 1, h.live()...)
		return h
	}
	t.Run("all is counted", func(t *testing.T) {
		h := fail(t)
		h.settle()
		h.reborn(unbatched)
		if got := h.untilMade(time.Hour); got != 40*time.Second {
			t.Errorf("replaced after %v, want 40s", got)
		}
	})
	t.Run("nothing was seen yet", func(t *testing.T) {
		h := fail(t)
		h.reborn(unbatched)
		if got := h.untilMade(time.Hour); got != 40*time.Second {
			t.Errorf("replaced after %v, want 40s", got)
		}
	})
	t.Run("the last failure was listed and not untracked", func(t *testing.T) {
		h := fail(t)
		h.refuse(func(call fake.Call) bool { return call.Verb == fake.Patch })
		h.view.Deliver()
		h.work()
		h.refuse(nil)
		h.reborn(unbatched)
		if got := h.untilMade(time.Hour); got != 40*time.Second {
			t.Errorf("replaced after %v, want 40s", got)
		}
	})
}

func TestB19WhetherAFailureDelaysIsReplaceable(t *testing.T) {
	evicted := func(pod *corev1.Pod) bool { return pod.Status.Reason == "Evicted" }
	for _, replaced := range []bool{false, true} {
		cfg := unbatched
		want := 10 * time.Second
		if replaced {
			cfg.Judgement.Delays = func(_ *batchv1.Job, pod *corev1.Pod) bool { return !evicted(pod) }
			want = 0
		}
		h := newHarness(t, epoch, cfg)
		h.submit(newJob(and(sized(2, 2, 6), ruled(batchv1.PodFailurePolicyActionIgnore, 143))))
		pod := h.pods()[0]
		pod.Status.Reason = "Evicted"
		h.endAt(corev1.PodFailed, 143, pod)
		if got := h.untilMade(time.Minute); got != want {
			t.Errorf("replaced %v: after %v, want %v", replaced, got, want)
		}
		if s := h.job().Status; s.Failed != 0 {
			t.Errorf("failed %d, want 0: it is ignored", s.Failed)
		}
	}
}

func TestFailuresRememberedInThePureCore(t *testing.T) {
	at := func(seconds int) time.Time { return epoch.Add(time.Duration(seconds) * time.Second) }
	made := held("FFSF")
	for i, second := range []int{10, 50, 30, 40} {
		failedWith(1, at(second), made[i])
	}
	s := known(of(sized(1, 9, 9)), made)
	turn := turnOf(t, s)
	if f := turn.interim.Failures; f.SinceSuccess != 2 || !f.Last.Equal(at(50)) {
		t.Errorf("remembered %+v, want the two failures after the success at 30s", f)
	}
	for _, pod := range made {
		pod.Finalizers = nil
	}
	if f := jobcontrol.PastFailures(stored(nil), made, jobcontrol.Names{}, epoch.Add(time.Hour)); f.SinceSuccess != 2 || !f.Last.Equal(at(50)) {
		t.Errorf("told by the pods %+v, want the same", f)
	}
	made[1].DeletionTimestamp = &metav1.Time{Time: at(45)}
	if f := jobcontrol.PastFailures(stored(nil), made, jobcontrol.Names{}, epoch.Add(time.Hour)); f.SinceSuccess != 1 || !f.Last.Equal(at(40)) {
		t.Errorf("told by the pods %+v, want one failure: the pod that was deleted did not fail", f)
	}
}
