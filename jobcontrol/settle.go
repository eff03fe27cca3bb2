package jobcontrol

import (
	"errors"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
)

// Call is what became of one call that a Decision asked for.
type Call int

const (
	// Skipped: the call was never started. It is the zero value, so that a
	// Result without an entry for a call says that it was not made.
	Skipped Call = iota
	// Done: the call succeeded.
	Done
	// Refused: the call failed and had no effect.
	Refused
	// Unknown: the answer was lost, the effect may have happened.
	Unknown
)

// String returns the word for the result, as logs and metrics have it.
func (c Call) String() string {
	switch c {
	case Skipped:
		return "skipped"
	case Done:
		return "done"
	case Refused:
		return "refused"
	case Unknown:
		return "unknown"
	}
	return "invalid"
}

// Result is what the caller managed to do of a Decision. The zero Result says
// that no call was made.
type Result struct {
	// Deleted and Created hold what became of each entry of Decision.Delete
	// and Decision.Create, by its position. Entries left out were Skipped, those
	// too many are ignored.
	Deleted, Created []Call
	// Untracked holds what became of each entry of Interim.Untrack. It is empty
	// when Interim is asked.
	Untracked []Call
	// Err is a failure that the Job is to be retried for, or nil.
	Err error
}

// AllDone is the Result of a Decision of which every call succeeds: for asking
// what would happen.
func AllDone(d Decision) Result {
	r := Result{Deleted: allDone(len(d.Delete)), Created: allDone(len(d.Create))}
	r.Untracked = allDone(len(d.Interim(r).Untrack))
	return r
}

func allDone(n int) []Call {
	calls := make([]Call, n)
	for i := range calls {
		calls[i] = Done
	}
	return calls
}

// Interim is what comes between the calls of a Decision and its Outcome. The
// caller writes the status, then removes the finalizers, in any order; when the
// write fails, it does neither.
type Interim struct {
	// Status is the status to write first, the caller's own, or nil. It lists
	// the pods of Untrack that are to be counted.
	Status *batchv1.JobStatus
	// Events become true by the write of Status.
	Events []Event
	// Failures is what to remember of the Job's failures once Status is written.
	Failures Failures
	// Untrack lists the pods to remove the finalizer from. Every one is to be
	// tried, whatever becomes of the others; one that is gone is Done. The list is
	// the Decision's: read-only.
	Untrack []Untracking
}

// Untracking is a pod whose finalizer is to be removed.
type Untracking struct {
	Pod *corev1.Pod
	// Reason says why, for a person.
	Reason string
}

// Outcome is how a sync ends. The caller writes the status, then sends the
// events and forgets the key; when the write fails, neither.
type Outcome struct {
	// Status is the status to write, the caller's own, or nil when nothing in
	// it changed.
	Status *batchv1.JobStatus
	// Events become true by the write of Status.
	Events []Event
	// Wake says what will wake the Job again.
	Wake Wake
	// Retry is why the Job must be synced again with back-off, or nil.
	Retry error
	// Forget says that the queue's retries of the Job start anew.
	Forget bool
}

// Event is an event about a Job.
type Event struct {
	// Type is corev1.EventTypeNormal or corev1.EventTypeWarning.
	Type            string
	Reason, Message string
}

// Wake says what will wake a Job.
type Wake struct {
	// After is the time until the Job must be looked at again without any
	// event; zero: there is no need to, an event will come.
	After time.Duration
	// Reason names the event or what the time is for.
	Reason string
}

// ErrPodsFailed is the Outcome.Retry of a Job that goes on after new failures
// of its pods: the queue counts it, and so grows the delay.
var ErrPodsFailed = errors.New("pods failed since the last sync")

// Interim says what must be stored before finalizers go, and which then go. It
// is as pure as Plan.
func (d Decision) Interim(r Result) Interim {
	if d.accounts == nil {
		return Interim{}
	}
	return d.accounts.interim(d, r)
}

// Settle turns what was done into the status to write. Counters are computed
// here alone: a refused creation is not active, a refused deletion still is.
// It is as pure as Plan and may be called any number of times. The zero
// Decision settles to the zero Outcome.
func (d Decision) Settle(r Result) Outcome {
	if d.accounts == nil {
		return Outcome{}
	}
	return d.accounts.settle(d, r)
}

// count counts the calls with one of these results.
func count(calls []Call, results ...Call) int32 {
	var n int32
	for _, c := range calls {
		if slices.Contains(results, c) {
			n++
		}
	}
	return n
}
