package jobcontrol

import (
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
)

// Snapshot is what is known about a Job when a decision is due. Plan changes
// nothing in it.
type Snapshot struct {
	// Job is the Job with the status that was last read. Its spec need not
	// have been defaulted.
	Job *batchv1.Job
	// Pods are the pods that the Job controls, each once, in any order.
	Pods []*corev1.Pod
	// Now is the time of the decision.
	Now time.Time
	// Satisfied says that every creation and deletion asked for earlier has
	// been seen in Pods. Until then no pod is created and no surplus deleted.
	Satisfied bool
	// Retries is how often in a row the queue has had to retry the Job.
	Retries int
	// Accounting is the mode; zero is the default.
	Accounting Accounting
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
	// Reason says why, for a person.
	Reason string
}

// Slot is a pod to create.
type Slot struct {
	// Reason says why, for a person.
	Reason string
}

// accounts is what a mode has found and needs to turn results into a status.
type accounts interface {
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
	spec, err := readSpec(s.Job, s.Accounting)
	if err != nil {
		return Decision{}, err
	}
	return plan(s, spec), nil
}

// plan is Plan for a Job that has not ended and whose spec was read.
func plan(s Snapshot, spec jobSpec) Decision {
	return planRecount(s, spec)
}

// finished are the accounts of a Job that has ended: closed.
type finished struct{}

func (finished) settle(Decision, Result) Outcome {
	return Outcome{Forget: true, Wake: Wake{Reason: "the Job has ended"}}
}
