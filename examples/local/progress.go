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
	clock   jobcontrol.Clock
	screen  *screen
	changed chan struct{} // the state of the Job has changed since this was last read

	mu      sync.Mutex
	history history  // guarded by mu
	counts  counts   // guarded by mu: those shown
	state   jobState // guarded by mu
	told    string   // guarded by mu: the message of the last condition
}

// jobState is where a Job is in its life.
type jobState int

const (
	jobActive    jobState = iota
	jobSuspended          // and none of its pods is left
	jobDecided            // its end is known and its pods are on their way out
	jobEnded
)

func stateOf(job *batchv1.Job) jobState {
	s := &job.Status
	switch {
	case jobcontrol.IsFinished(job):
		return jobEnded
	case jobcontrol.HasCondition(s, batchv1.JobFailureTarget), jobcontrol.HasCondition(s, batchv1.JobSuccessCriteriaMet):
		return jobDecided
	case jobcontrol.HasCondition(s, batchv1.JobSuspended) && s.Active == 0 && (s.Terminating == nil || *s.Terminating == 0):
		return jobSuspended
	}
	return jobActive
}

var _ fake.Handler = (*progress)(nil)

func newProgress(job *batchv1.Job, clock jobcontrol.Clock, s *screen) *progress {
	return &progress{
		clock: clock, screen: s, changed: make(chan struct{}, 1),
		history: history{job: job, start: clock.Now()},
	}
}

func (p *progress) JobAdded(*batchv1.Job)   {}
func (p *progress) JobDeleted(*batchv1.Job) {}

// JobUpdated tells of a condition that has become true, and of indexes that
// have failed for good.
func (p *progress) JobUpdated(_, cur *batchv1.Job) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if s := stateOf(cur); s != p.state {
		p.state = s
		select {
		case p.changed <- struct{}{}:
		default: // whoever waits has not looked since the last change
		}
	}
	marks, failed := p.history.observeJob(p.clock.Now(), cur)
	if failed.Len() > 0 {
		p.screen.printf("job %s: failed for good after %s: index %s", p.history.name(), p.since(p.history.start), failed)
	}
	for _, m := range marks {
		line := fmt.Sprintf("job %s %s after %s", p.history.name(), m.kind, p.since(p.history.start))
		if m.reason != "" {
			line += ": " + m.reason
		}
		if m.message != "" && m.message != p.told { // the end of a Job has that of the verdict before it
			line += ": " + m.message
		}
		p.told = m.message
		p.screen.printf("%s", line)
	}
}

// jobState is where the Job is, as far as this has been told.
func (p *progress) jobState() jobState {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.state
}

func (p *progress) PodAdded(pod *corev1.Pod)      { p.observe(pod, false) }
func (p *progress) PodUpdated(_, cur *corev1.Pod) { p.observe(cur, false) }
func (p *progress) PodDeleted(pod *corev1.Pod)    { p.observe(pod, true) }

func (p *progress) observe(pod *corev1.Pod, gone bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	seen := p.history.observePod(p.clock.Now(), pod, gone)
	name := pod.Name
	if seen.pod.attempt > 0 {
		name += " (" + seen.pod.label() + ")"
	}
	if seen.restarted {
		p.screen.printf("pod %s: %s", name, describeRestart(pod))
	}
	if seen.ended {
		p.screen.printf("pod %s %s after %s: %s", name, seen.pod.verb(), p.since(seen.pod.created), p.history.outcome(seen.pod))
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
	p.screen.setProgress(fmt.Sprintf("pods: %d active, %v; %s", p.counts.active, p.counts, p.since(p.history.start)))
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
