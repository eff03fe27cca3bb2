package jobcontrol_test

import (
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobwright/jobwright/fake"
	"github.com/jobwright/jobwright/jobcontrol"
	"github.com/jobwright/jobwright/podsort"
)

// TestPoint6: every sync before the end re-arms the deadline, by any clock.
func TestPoint6EverySyncReArmsTheDeadline(t *testing.T) {
	deadline := func(s *batchv1.JobSpec) { s.ActiveDeadlineSeconds = new(int64(100)) }
	listed := of(and(sized(2, 9, 6), deadline))
	listed.Status = turnOf(t, known(listed, held("RR"))).status
	for name, s := range map[string]jobcontrol.Snapshot{
		"first sync":  known(of(and(sized(2, 9, 6), deadline)), nil),
		"unchanged":   known(listed, held("RR")),
		"unseen":      {Job: listed, Pods: held("R"), Now: epoch.Add(time.Minute)},
		"surplus":     known(of(and(sized(1, 9, 6), deadline)), held("RRR")),
		"counting":    known(of(and(sized(2, 9, 6), deadline)), held("SS")),
		"backing off": known(of(and(sized(2, 9, 6), deadline)), func() []*corev1.Pod { p := held("FFFF"); failedWith(1, epoch.Add(time.Minute), p...); return p }()),
		"by index":    known(of(and(sized(2, 9, 6), deadline, perIndex(3))), indexed([]int{0, 1}, "FR")),
	} {
		t.Run(name, func(t *testing.T) {
			d := mustPlan(t, s)
			for _, r := range []jobcontrol.Result{{}, jobcontrol.AllDone(d), {Err: errInternal}} {
				if after := d.Settle(r).Wake.After; after <= 0 || after > 40*time.Second {
					t.Errorf("wakes after %v, want at most 40s", after)
				}
			}
		})
	}
	t.Run("a clock that jumps back", func(t *testing.T) {
		h := newHarness(t, epoch, unbatched)
		h.submit(newJob(and(sized(1, 1, 6), deadline)))
		h.clock.Advance(-time.Hour)
		writes := len(h.statuses)
		h.queue.Add(jobKey)
		h.settle()
		h.view.Resync()
		h.settle()
		h.wantStatus(1, 0, 0, "")
		if items := h.queue.Items(); len(h.statuses) != writes || len(items) != 1 {
			t.Errorf("%d writes, queued %v; want it to wait", len(h.statuses)-writes, items)
		}
		h.clock.Advance(time.Hour + 99*time.Second)
		h.settle()
		h.wantStatus(1, 0, 0, "")
		h.advance(time.Second)
		h.wantStatus(0, 0, 1, batchv1.JobFailed)
	})
	t.Run("L8 a clock that jumps forward", func(t *testing.T) {
		h := newHarness(t, epoch, unbatched)
		h.submit(newJob(and(sized(1, 1, 6), deadline)))
		h.clock.Advance(1000 * time.Hour)
		h.settle()
		h.wantStatus(0, 0, 1, batchv1.JobFailed)
	})
}

// TestPoint7: twins, but for their UID, have an order; see also
// TestTheOrderOfThePodsChangesNothing.
func TestPoint7TheOrderIsTotal(t *testing.T) {
	twins := held("RRRRRR")
	for _, pod := range twins {
		pod.Name = "twin"
	}
	for _, a := range twins {
		for _, b := range twins {
			if got := podsort.ForDeletion(a, b); (got == 0) != (a == b) || got != -podsort.ForDeletion(b, a) {
				t.Errorf("%s and %s compare as %d", a.UID, b.UID, got)
			}
		}
	}
	s := known(of(sized(3, 9, 6)), twins)
	want := turnOf(t, s).report()
	slices.Reverse(s.Pods)
	if diff := cmp.Diff(want, turnOf(t, s).report()); diff != "" {
		t.Errorf("reversed (-first +second):\n%s", diff)
	}
}

// TestPoint8: however many pods, the calls under way are bounded.
func TestPoint8CallsAreBounded(t *testing.T) {
	for _, most := range []int{0, 3} {
		synctest.Test(t, func(t *testing.T) {
			cfg := unbatched
			cfg.MaxInFlight = most
			h := newHarness(t, epoch, cfg)
			var now, peak atomic.Int32
			peaks := map[string]int32{}
			h.control.OnCall = func(fake.Call) error {
				defer now.Add(-1)
				if n := now.Add(1); n > peak.Load() {
					peak.Store(n)
				}
				time.Sleep(time.Millisecond) // virtual: how long the API takes
				return nil
			}
			measure := func(what string, do func()) {
				peak.Store(0)
				do()
				h.settle()
				peaks[what] = peak.Load()
			}
			measure("creations", func() { h.submit(parallel(300, 600, 6)) })
			measure("finalizers and creations", func() { h.endAt(corev1.PodSucceeded, 0, h.live()...) })
			measure("deletions", func() { h.suspend(true) })
			measure("creations again", func() { h.suspend(false) })
			measure("orphans", func() { h.deleteJob(metav1.DeletePropagationBackground) })
			if most == 0 {
				most = 64
			}
			for what, n := range peaks {
				if n != int32(most) {
					t.Errorf("%s: %d calls at once, want %d", what, n, most)
				}
			}
			if n := len(h.finalized()); n != 0 {
				t.Errorf("%d pods hold the finalizer", n)
			}
		})
	}
}

// TestPoint9: a pod whose index was edited is no success of any index.
func TestPoint9AnEditedIndexIsNone(t *testing.T) {
	edit := func(what, value string) func(*corev1.Pod) {
		return func(pod *corev1.Pod) {
			switch what {
			case "annotation":
				pod.Annotations[batchv1.JobCompletionIndexAnnotation] = value
			case "label":
				pod.Labels[batchv1.JobCompletionIndexAnnotation] = value
			case "both":
				pod.Annotations[batchv1.JobCompletionIndexAnnotation] = value
				pod.Labels[batchv1.JobCompletionIndexAnnotation] = value
			case "gone":
				delete(pod.Annotations, batchv1.JobCompletionIndexAnnotation)
			}
		}
	}
	for name, change := range map[string]func(*corev1.Pod){
		"B24 annotation": edit("annotation", "1"), "label": edit("label", "1"), "both": edit("both", "1"), "gone": edit("gone", ""),
		"malformed": edit("annotation", "01"), "negative": edit("annotation", "-1"), "huge": edit("both", "99999999999"),
	} {
		for _, ends := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, ended %v", name, ends), func(t *testing.T) {
				h := running(t, newJob(and(sized(1, 2, 6), asIndexed)))
				pod := h.pods()[0]
				change(pod)
				edited, err := h.cluster.UpdatePod(t.Context(), pod)
				if err != nil {
					t.Fatal(err)
				}
				if ends {
					h.endAt(corev1.PodSucceeded, 0, edited)
				}
				ran := map[string]int{}
				for range 6 {
					h.settle()
					for _, pod := range h.pods() {
						switch {
						case pod.DeletionTimestamp != nil:
							h.remove(pod)
						case pod.UID != edited.UID && pod.Status.Phase == corev1.PodPending:
							ran[pod.Spec.Hostname]++
							h.endAt(corev1.PodSucceeded, 0, pod)
						}
					}
				}
				if diff := cmp.Diff(map[string]int{"j-0": 1, "j-1": 1}, ran); diff != "" {
					t.Errorf("indexes run after the edit (-want +got):\n%s", diff)
				}
				h.wantStatus(0, 2, 0, batchv1.JobComplete)
				if got := h.job().Status.CompletedIndexes; got != "0,1" {
					t.Errorf("completedIndexes %q", got)
				}
			})
		}
	}
}
