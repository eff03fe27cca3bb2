package jobcontrol_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/jobwright/jobwright/fake"
	"github.com/jobwright/jobwright/jobcontrol"
)

// swarm leads one Job through a life of faults that a seed deals, under the
// eyes of a ghost.
type swarm struct {
	*harness
	*trouble
	*rand.Rand
	ghost *ghost
	sees  *fake.View // of the ghost
	story []string
	users []func()
}

func newSwarm(t *testing.T, seed uint64, job *batchv1.Job, scales bool) *swarm {
	w := &swarm{harness: newHarness(t, epoch, unbatched), trouble: &trouble{}, Rand: rand.New(rand.NewPCG(seed, 5))}
	w.ghost = newGhost(w)
	w.sees = w.cluster.View()
	w.sees.Notify(w.ghost)
	w.before = func() {
		w.at = 0
		if w.IntN(12) == 0 {
			w.fault, w.at = faults[w.IntN(len(faults))], w.calls
			w.note("call %d: %s", w.calls, w.fault.name)
		}
	}
	w.after = func() { w.sees.Deliver() }
	if scales {
		w.users = append(w.users,
			func() { n := int32(w.IntN(4)); w.note("scale to %d", n); w.scale(n) },
			func() { is := w.IntN(2) == 0; w.note("suspend %v", is); w.suspend(is) })
	}
	w.start()
	if _, err := w.cluster.CreateJob(t.Context(), job); err != nil {
		t.Fatal(err)
	}
	return w
}

func (w *swarm) scale(n int32) { w.update(func(j *batchv1.Job) { j.Spec.Parallelism = &n }) }

// start begins a life: its caches have synced before its first sync.
func (w *swarm) start() {
	w.begin(w.harness)
	w.view.Deliver()
}

func (w *swarm) note(format string, args ...any) {
	w.story = append(w.story, fmt.Sprintf(format, args...))
}

func (w *swarm) blame(format string, args ...any) {
	w.t.Helper()
	w.t.Errorf(format, args...)
}

// step lets one thing happen, anywhere.
func (w *swarm) step() {
	switch w.IntN(8) {
	case 0, 1:
		n := w.IntN(4)
		of := []func(fake.Event) bool{fake.ForJob, fake.ForPod}[w.IntN(2)]
		w.view.DeliverIf(func(e fake.Event) bool { n--; return n >= 0 && of(e) })
	case 2:
		w.view.Deliver()
	case 3, 4:
		w.work()
		if w.dead {
			w.note("dies, and is born again")
			w.start()
		}
	case 5:
		w.clock.Advance(time.Duration(w.IntN(20)) * time.Second)
	case 6:
		w.podMoves()
	case 7:
		if len(w.users) > 0 && w.IntN(3) == 0 {
			w.users[w.IntN(len(w.users))]()
		}
	}
	w.sees.Deliver()
	w.ghost.check()
}

func (w *swarm) podMoves() {
	pods := w.harness.pods()
	if len(pods) == 0 {
		return
	}
	pod := pods[w.IntN(len(pods))]
	ended := hasEnded(pod)
	choice := w.IntN(10)
	w.note("pod %s in %s: choice %d", pod.Name, pod.Status.Phase, choice)
	switch {
	case choice == 0:
		w.delete(pod)
	case pod.DeletionTimestamp != nil && choice < 5:
		w.stop(pod)
	case ended && choice == 9: // the phase flips
		w.end(map[corev1.PodPhase]corev1.PodPhase{corev1.PodSucceeded: corev1.PodFailed, corev1.PodFailed: corev1.PodSucceeded}[pod.Status.Phase], pod)
	case ended && choice == 8:
		w.remove(pod)
	case ended:
	case pod.Status.Phase == corev1.PodPending && choice < 5:
		w.run(pod)
	case choice < 8:
		w.endAt(corev1.PodSucceeded, 0, pod)
	default:
		w.endAt(corev1.PodFailed, 1, pod)
	}
}

// stop is the end of a pod that is deleted. A Job that replaces Failed pods only
// needs a node agent that gives each a terminal phase first.
func (w *swarm) stop(pod *corev1.Pod) {
	if !hasEnded(pod) && (w.IntN(2) == 0 || w.ghost.job.Spec.PodReplacementPolicy != nil || w.ghost.job.Spec.PodFailurePolicy != nil) {
		w.endAt(corev1.PodFailed, 137, pod)
	}
	w.remove(pod)
}

// calm ends all faults, and has all pods succeed, until the Job has ended.
func (w *swarm) calm(parallelism int32) {
	w.before = nil
	w.at = 0
	w.scale(parallelism)
	w.suspend(false)
	for range 80 {
		for w.view.Deliver()+w.work() > 0 {
		}
		for _, pod := range w.harness.pods() {
			switch {
			case pod.DeletionTimestamp != nil:
				w.stop(pod)
			case pod.Status.Phase == corev1.PodPending || pod.Status.Phase == corev1.PodRunning:
				w.endAt(corev1.PodSucceeded, 0, pod)
			}
		}
		w.sees.Deliver()
		w.ghost.check()
		if w.ghost.job != nil && jobcontrol.IsFinished(w.ghost.job) && len(w.finalized()) == 0 {
			return
		}
		w.clock.Advance(time.Minute)
	}
	w.blame("L1, L2: it does not end: %+v, %d pods hold the finalizer", w.ghost.job.Status, len(w.finalized()))
}

// TestSwarm is many lives with many faults each. Each has to keep to the rules
// of counting at every commit, and to come to its end when the faults stop.
func TestSwarm(t *testing.T) {
	jobs := map[string]struct {
		job    *batchv1.Job
		scales bool
	}{
		"non-Indexed":      {parallel(3, 5, 6), false},
		"work queue":       {newJob(sized(3, -1, 6)), false},
		"Indexed":          {newJob(and(sized(3, 5, 9), asIndexed)), false},
		"by index":         {newJob(and(sized(3, 5, 99), perIndex(2))), false},
		"policy Failed":    {newJob(and(sized(3, 5, 6), replaceFailed)), false},
		"failure policy":   {newJob(and(sized(3, 5, 6), failJobOn(7))), false},
		"scaled":           {parallel(3, 5, 6), true},
		"Indexed, scaled":  {newJob(and(sized(3, 5, 9), asIndexed)), true},
		"by index, scaled": {newJob(and(sized(3, 5, 99), perIndex(2))), true},
		"success policy":   {newJob(and(sized(3, 5, 9), succeedsBy("0-2", 2), replaceFailed)), true},
	}
	for name, tt := range jobs {
		t.Run(name, func(t *testing.T) {
			for seed := range uint64(swarmSeeds) {
				w := newSwarm(t, seed, tt.job, tt.scales)
				for range 150 {
					w.step()
				}
				w.calm(*tt.job.Spec.Parallelism)
				w.ghost.atRest(tt.scales)
				for _, err := range w.errs {
					if apierrors.IsInvalid(err) { // S43
						w.blame("a status is refused: %v", err)
					}
				}
				if t.Failed() {
					t.Fatalf("seed %d, its story:\n%s", seed, lines(w.story))
				}
			}
		})
	}
}
