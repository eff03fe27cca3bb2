package main

import (
	"fmt"
	"sync"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/jobwright/jobwright/fake"
	"github.com/jobwright/jobwright/jobcontrol"
)

// progress watches a run: it keeps its history and tells it on a screen. It is
// told of Jobs and pods by a fake.View.
type progress struct {
	clock    jobcontrol.Clock
	screen   *screen
	finished *latch // the Job has ended

	mu      sync.Mutex
	history history // guarded by mu
	counts  counts  // guarded by mu: those shown
}

var _ fake.Handler = (*progress)(nil)

func newProgress(job *batchv1.Job, clock jobcontrol.Clock, s *screen) *progress {
	return &progress{
		clock: clock, screen: s, finished: newLatch(),
		history: history{job: job.Namespace + "/" + job.Name, start: clock.Now()},
	}
}

func (p *progress) JobAdded(*batchv1.Job)   {}
func (p *progress) JobDeleted(*batchv1.Job) {}

// JobUpdated tells of a condition that has become true.
func (p *progress) JobUpdated(_, cur *batchv1.Job) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if jobcontrol.IsFinished(cur) {
		p.finished.set()
	}
	for _, m := range p.history.observeJob(p.clock.Now(), cur) {
		line := fmt.Sprintf("job %s %s after %s", p.history.job, m.kind, p.since(p.history.start))
		for _, more := range []string{m.reason, m.message} {
			if more != "" {
				line += ": " + more
			}
		}
		p.screen.printf("%s", line)
	}
}

func (p *progress) PodAdded(pod *corev1.Pod)      { p.observe(pod, false) }
func (p *progress) PodUpdated(_, cur *corev1.Pod) { p.observe(cur, false) }
func (p *progress) PodDeleted(pod *corev1.Pod)    { p.observe(pod, true) }

func (p *progress) observe(pod *corev1.Pod, gone bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	seen := p.history.observePod(p.clock.Now(), pod, gone)
	if seen.restarted {
		p.screen.printf("pod %s: %s", pod.Name, describeRestart(pod))
	}
	if seen.ended {
		verb := "succeeded"
		if seen.pod.phase == corev1.PodFailed {
			verb = "failed"
		}
		p.screen.printf("pod %s %s after %s: %s", pod.Name, verb, p.since(seen.pod.created), seen.pod.end)
	}
	if n := p.history.counts(); n != p.counts {
		p.counts = n
		p.show()
	}
}

// tick shows the time that has passed; of use on a terminal only.
func (p *progress) tick() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.show()
}

// show shows the line of progress. The caller holds mu.
func (p *progress) show() {
	p.screen.setProgress(fmt.Sprintf("pods: %d active, %d succeeded, %d failed; %s",
		p.counts.active, p.counts.succeeded, p.counts.failed, p.since(p.history.start)))
}

// since is the time that has passed, in tenths of a second.
func (p *progress) since(t time.Time) string {
	return tickLabel(p.clock.Now().Sub(t).Truncate(100 * time.Millisecond))
}

// end closes the history, which is the caller's from then on.
func (p *progress) end() *history {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.screen.endProgress()
	p.history.end = p.clock.Now()
	return &p.history
}
