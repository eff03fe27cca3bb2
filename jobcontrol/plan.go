package jobcontrol

import (
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Snapshot is what is known about a Job when a decision is due. Plan changes
// nothing in it.
type Snapshot struct {
	// Job is the Job with the status that was last read. Its spec need not
	// have been defaulted.
	Job *batchv1.Job
	// Pods are the pods that the Job controls, each once and none nil, in any order.
	Pods []*corev1.Pod
	// Now is the time of the decision.
	Now time.Time
	// Satisfied says that every creation and deletion asked for earlier has
	// been seen in Pods. Until then no pod is created and no surplus deleted.
	Satisfied bool
	// Accounting is the mode; zero is the default.
	Accounting Accounting
	// Names are the names on the pods.
	Names Names

	// Untracked holds the UIDs of pods whose finalizer this process has removed
	// and that Pods may still show with it. They are counted already.
	Untracked map[types.UID]struct{}
	// Failures is what Interim returned at the last sync of the Job.
	Failures Failures
	// Backoff is how long replacements of failed pods wait.
	Backoff Backoff

	// Judgement replaces what the API says of pods and Jobs.
	Judgement Judgement

	// Retries is how often in a row the queue has had to retry the Job. Only
	// Recount asks.
	Retries int
}

// Decision is what to do about a Job. The caller makes the calls, bounded and
// in any order within a list, and hands their results to Settle. The zero
// Decision does nothing. The pods in it are those of the Snapshot: read-only.
type Decision struct {
	// Delete lists the pods to delete. Every one is to be tried, whatever
	// becomes of the others.
	Delete []Deletion
	// Create lists the pods to create: start in order, in growing batches, and
	// start no more once one has failed. NewPod makes the pod of a Slot.
	Create []Slot

	accounts accounts
}

// Deletion is a pod to delete.
type Deletion struct {
	Pod *corev1.Pod
	// Untrack says that the pod is not to be counted: its finalizer goes first,
	// and the call is Done when both are.
	Untrack bool
	// Reason says why, for a person.
	Reason string
}

// Slot is a pod to create.
type Slot struct {
	// Tracked says that the pod holds the finalizer.
	Tracked bool
	// Index is the completion index. It means nothing in a Job that is not Indexed.
	Index int
	// PerIndex says that the Job has a limit for each index. The pod then carries
	// how often its index has failed before: Failures that count towards the
	// limit, and IgnoredFailures that do not.
	PerIndex                  bool
	Failures, IgnoredFailures int32
	// Reason says why, for a person.
	Reason string
}

// accounts is what a mode has found and needs to turn results into a status.
type accounts interface {
	interim(Decision, Result) Interim
	settle(Decision, Result) Outcome
}

// Plan decides what to do about a Job. It is a pure function: the same
// Snapshot, with the pods in any order, gives the same Decision. A spec that
// cannot be honoured is an error that names the field and wraps ErrInvalid; the
// Decision is then zero.
func Plan(s Snapshot) (Decision, error) {
	if s.Job != nil && IsFinished(s.Job) {
		return Decision{accounts: finished{}}, nil
	}
	spec, err := readSpec(s.Job, s.Accounting, s.Names)
	if err != nil {
		return Decision{}, err
	}
	return plan(s, spec)
}

// plan is Plan for a Job that has not ended and whose spec was read.
func plan(s Snapshot, spec jobSpec) (Decision, error) {
	if s.Accounting == Recount {
		return planRecount(s, spec), nil
	}
	return planTracked(s, spec)
}

// finished are the accounts of a Job that has ended: closed.
type finished struct{}

func (finished) interim(Decision, Result) Interim { return Interim{} }

func (finished) settle(Decision, Result) Outcome {
	return Outcome{Forget: true, Wake: Wake{Reason: "the Job has ended"}}
}
