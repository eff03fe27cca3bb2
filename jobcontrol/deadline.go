package jobcontrol

import (
	"math"
	"time"

	batchv1 "k8s.io/api/batch/v1"
)

// noDeadline is longer than any time that passes. A deadline of 0 is one: the
// Job fails as soon as it has started.
const noDeadline time.Duration = math.MaxInt64

// startTime is when the Job became active: as its status says, or now.
func startTime(job *batchv1.Job, now time.Time) time.Time {
	if job.Status.StartTime != nil {
		return job.Status.StartTime.Time
	}
	return now
}

// latest keeps times in order under clocks that disagree.
func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// pastDeadline says whether activeDeadlineSeconds have passed. They count
// unbroken activity: suspension stops them and begins them anew.
func (p *tracked) pastDeadline() bool {
	return p.spec.deadline < noDeadline && !p.spec.suspended && p.s.Job.Status.StartTime != nil && p.activeFor() >= p.spec.deadline
}

// activeFor is for how long the Job has been active.
func (p *tracked) activeFor() time.Duration {
	return p.s.Now.Sub(startTime(p.s.Job, p.s.Now))
}

// armDeadline has every sync before the end ask for the rest of the time.
func (p *tracked) armDeadline() {
	if p.spec.deadline < noDeadline && !p.spec.suspended {
		p.wakeAfter(p.spec.deadline-p.activeFor(), "activeDeadlineSeconds end")
	}
}
