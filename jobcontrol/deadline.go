package jobcontrol

import (
	"time"

	batchv1 "k8s.io/api/batch/v1"
)

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
