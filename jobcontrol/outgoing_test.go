package jobcontrol_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobwright/jobwright/jobcontrol"
)

// TestTheFirstPodsAreUntracked compares with the plain way: sort all, take 500.
func TestTheFirstPodsAreUntracked(t *testing.T) {
	orders := map[string]func([]*corev1.Pod){
		"ascending":  func([]*corev1.Pod) {},
		"descending": slices.Reverse[[]*corev1.Pod],
		"shuffled": func(pods []*corev1.Pod) {
			rand.New(rand.NewPCG(1, 2)).Shuffle(len(pods), func(i, k int) { pods[i], pods[k] = pods[k], pods[i] })
		},
		"one too late": func(pods []*corev1.Pod) { pods[0], pods[len(pods)-1] = pods[len(pods)-1], pods[0] },
	}
	for _, m := range benchmarkModes[1:] {
		for name, arrange := range orders {
			for _, n := range []int{3, 499, 500, 501, 1000, 1001, 1700} {
				t.Run(fmt.Sprintf("%s, %s, %d", m.name, name, n), func(t *testing.T) {
					s := m.running(n, n)
					var want []types.UID
					for _, pod := range s.Pods[:min(n, 500)] {
						want = append(want, pod.UID)
					}
					arrange(s.Pods)
					turn := turnOf(t, s)
					var got []types.UID
					for _, out := range turn.interim.Untrack {
						got = append(got, out.Pod.UID)
					}
					if diff := cmp.Diff(want, got); diff != "" {
						t.Errorf("untracked (-want +got):\n%s", diff)
					}
					if int(turn.status.Succeeded) != len(want) || (turn.end() == "") != (n > 500) {
						t.Errorf("succeeded %d of %d, ends %q", turn.status.Succeeded, n, turn.end())
					}
				})
			}
		}
	}
}

// TestAFailedPodIsListedFirst: it begins to delay in the sync that sees it, and
// must not do so again in the next.
func TestAFailedPodIsListedFirst(t *testing.T) {
	turn := turnOf(t, known(of(sized(601, 601, 6)), held(strings.Repeat("S", 600)+"F")))
	u := turn.interim.Status.UncountedTerminatedPods
	if len(u.Succeeded) != 499 || len(u.Failed) != 1 {
		t.Errorf("%d succeeded, %d failed are listed; want 499, 1", len(u.Succeeded), len(u.Failed))
	}
}

// TestWhatADecisionGivesDoesNotChangeIt: a status is the caller's to change, and
// what goes because the Job ends is not added to the decision itself.
func TestWhatADecisionGivesDoesNotChangeIt(t *testing.T) {
	d := mustPlan(t, known(of(sized(2, 4, 0)), held("SFFRR"))) // it fails, two are deleted
	none, all := jobcontrol.Result{}, jobcontrol.AllDone(d)
	wantNone, wantAll := d.Interim(none), d.Interim(all)
	if len(wantNone.Untrack) != 3 || len(wantAll.Untrack) != 5 {
		t.Fatalf("%d and %d pods are untracked, want 3 and 5", len(wantNone.Untrack), len(wantAll.Untrack))
	}
	spoiled := d.Interim(all).Status
	spoiled.UncountedTerminatedPods.Succeeded[0], spoiled.UncountedTerminatedPods.Failed[0] = "x", "y"
	if diff := cmp.Diff([]jobcontrol.Interim{wantNone, wantAll}, []jobcontrol.Interim{d.Interim(none), d.Interim(all)}); diff != "" {
		t.Errorf("Interim (-before +after):\n%s", diff)
	}
	if status := d.Settle(all).Status; status.Failed != 4 || status.Succeeded != 1 {
		t.Errorf("succeeded %d, failed %d; want 1 and 4", status.Succeeded, status.Failed)
	}
}
