package jobcontrol

import (
	"time"

	batchv1 "k8s.io/api/batch/v1"
)

// Metrics are functions that a Controller calls with what it measures. A nil
// *Metrics and nil fields measure nothing. They are called from several
// goroutines and must not block.
type Metrics struct {
	// Synced is called after each sync with how long it took and its error.
	Synced func(took time.Duration, err error)
	// Created and Deleted are called after a batch of calls with the number
	// of them that ended so. Each call counts under one result.
	Created, Deleted func(result Call, n int)
	// Ended is called once for a Job, when the write of its terminal condition
	// has succeeded. The reason is that of the condition; Complete has none.
	Ended func(condition batchv1.JobConditionType, reason string)
}

func (m *Metrics) synced(took time.Duration, err error) {
	if m != nil && m.Synced != nil {
		m.Synced(took, err)
	}
}

func (m *Metrics) created(calls []Call) {
	if m != nil {
		report(m.Created, calls)
	}
}

func (m *Metrics) deleted(calls []Call) {
	if m != nil {
		report(m.Deleted, calls)
	}
}

func report(f func(Call, int), calls []Call) {
	if f == nil {
		return
	}
	for _, result := range []Call{Skipped, Done, Refused, Unknown} {
		if n := count(calls, result); n > 0 {
			f(result, int(n))
		}
	}
}

// ended reports the terminal condition of a status that was written.
func (m *Metrics) ended(status *batchv1.JobStatus) {
	if m == nil || m.Ended == nil {
		return
	}
	if end := End(&batchv1.Job{Status: *status}); end != nil {
		m.Ended(end.Type, end.Reason)
	}
}
