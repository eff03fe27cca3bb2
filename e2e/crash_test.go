package e2e

import (
	"fmt"
	"sync"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/jobwright/jobwright/jobcontrol"
	"github.com/jobwright/jobwright/jobcontrol/kube"
)

// The controller dies at a request of a Job's life, and another takes over. No
// pod is counted twice, none is lost, and none runs too many.
func TestKilledAndRestarted(t *testing.T) {
	points := []struct {
		what     string // the request that it dies at
		nth      int
		answered bool // the server has done it, the answer is lost
	}{
		{"create pods", 1, false},
		{"create pods", 1, true},
		{"create pods", 2, true},
		{"update jobs/status", 1, false}, // the start, and two pods
		{"update jobs/status", 1, true},
		{"update jobs/status", 2, false}, // lists the first pods that ended
		{"update jobs/status", 2, true},
		{"patch pods", 1, false},
		{"patch pods", 1, true},
		{"patch pods", 2, true},
		{"update jobs/status", 3, false}, // counts them
		{"update jobs/status", 3, true},
		{"create pods", 3, true},
		{"patch pods", 4, true},
	}
	for _, point := range points {
		when := "before"
		if point.answered {
			when = "after"
		}
		for _, indexed := range []bool{false, true} {
			name := fmt.Sprintf("%s %s no. %d, indexed=%v", when, point.what, point.nth, indexed)
			t.Run(name, func(t *testing.T) {
				w := newWorld(t)
				w.kubelet.fate = func(*corev1.Pod) (fate, bool) { return fate{after: 50 * time.Millisecond}, true }
				first := w.start(&controller{dies: at(point.what, point.nth, point.answered)}, unheard)
				job := newJob("j", 4, 2)
				if indexed {
					job = newIndexedJob("j", 4, 2)
				}
				w.submit(job)
				select {
				case <-first.done:
				case <-w.timeout():
					t.Fatalf("never got there: %v", w.requests.made())
				}
				w.control(kube.Config{})
				w.counts(w.awaitEnd("j", batchv1.JobComplete, batchv1.JobReasonCompletionsReached), 4, 0)
				w.wantPods("j", 4)
			})
		}
	}
}

// The same while it takes pods away: a suspended Job leaves nothing running and
// counts nothing, whenever the controller dies.
func TestKilledWhileSuspending(t *testing.T) {
	for _, what := range []string{"patch pods", "delete pods"} {
		for _, answered := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, answered=%v", what, answered), func(t *testing.T) {
				w := newWorld(t)
				first := w.start(&controller{dies: at(what, 1, answered)}, unheard)
				w.submit(newJob("j", 3, 3))
				w.awaitPods("j", 3)
				w.suspend("j", true)
				select {
				case <-first.done:
				case <-w.timeout():
					t.Fatalf("never got there: %v", w.requests.made())
				}
				w.control(kube.Config{})
				w.awaitJob("j", "suspended", func(job *batchv1.Job) bool { return has(job, batchv1.JobSuspended) && job.Status.Active == 0 })
				w.await("no pod runs", func() bool { return len(w.podsOf("j", runs)) == 0 })
				w.suspend("j", false)
				for range 3 {
					w.finish("j", succeeds)
				}
				w.counts(w.awaitEnd("j", batchv1.JobComplete, batchv1.JobReasonCompletionsReached), 3, 0)
			})
		}
	}
}

// The answer of a creation is lost, and the controller lives on: it finds out
// whether there is a pod, and the Job has as many as it asks for, never more.
func TestLostAnswers(t *testing.T) {
	for name, happened := range map[string]bool{"of a creation that happened": true, "of a creation that did not": false} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			loses := at("create pods", 2, happened)
			w.start(&controller{loses: loses}, kube.Config{})
			w.submit(newJob("j", 3, 3))
			w.awaitPods("j", 3)
			w.wantPods("j", 3)
			for range 3 {
				w.finish("j", succeeds)
			}
			w.counts(w.awaitEnd("j", batchv1.JobComplete, batchv1.JobReasonCompletionsReached), 3, 0)
			w.wantPods("j", 3)
		})
	}
}

// A controller starts where a thousand Jobs are unfinished whose pods have all
// ended while nobody looked.
func TestRestartWithAThousandJobs(t *testing.T) {
	const n = 1000
	w := newWorld(t)
	w.kubelet.unbound = true
	first := w.control(unheard)
	for i := range n {
		w.submit(newJob(fmt.Sprintf("j%d", i), 1, 1))
	}
	all := func(is func(*batchv1.Job) bool) func() bool {
		return func() bool {
			if len(w.jobs) < n {
				return false
			}
			for _, job := range w.jobs {
				if !is(job) {
					return false
				}
			}
			return true
		}
	}
	w.await("each Job is ready", all(func(job *batchv1.Job) bool { return job.Status.Ready != nil && *job.Status.Ready == 1 }))
	first.kill()
	var running []*corev1.Pod
	w.await("each Job's pod is seen", func() bool { running = pods(w); return len(running) == n })
	for _, pod := range running {
		w.kubelet.end(pod, succeeds)
	}
	w.await("all pods have ended", func() bool {
		for _, pod := range w.pods {
			if !ended(pod) {
				return false
			}
		}
		return true
	})
	began := time.Now()
	w.control(kube.Config{})
	w.await("each Job is complete", all(jobcontrol.IsFinished))
	t.Logf("%d Jobs were brought to their end in %v", n, time.Since(began).Round(time.Millisecond))
	for i := range n {
		name := fmt.Sprintf("j%d", i)
		w.counts(w.job(name), 1, 0)
		w.wantPods(name, 1)
	}
}

// unheard is a configuration without events, which a controller that is killed
// would have no time to write.
var unheard = kube.Config{Controller: jobcontrol.Config{Events: discard{}}}

// at is for controller.dies and loses: the nth request of a kind, before it is made or
// when its answer is there.
func at(what string, nth int, answered bool) func(request, bool) bool {
	var mu sync.Mutex
	n := 0
	return func(r request, isAnswered bool) bool {
		if r.String() != what || isAnswered != answered {
			return false
		}
		mu.Lock()
		defer mu.Unlock()
		n++
		return n == nth
	}
}
