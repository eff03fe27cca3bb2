package jobcontrol

import (
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Accounting says how the pods of a Job that ended are counted.
type Accounting int

const (
	// Tracked counts each pod once: a finalizer holds it until it is counted, so
	// that no crash, late event or deletion counts a pod twice or never. It is
	// batch/v1 today, and the zero value. A live pod of the Job without the
	// finalizer, as Recount leaves them or a hand makes them, is deleted and
	// replaced: nobody would count it.
	Tracked Accounting = iota
	// Recount is the original algorithm: succeeded and failed are counted anew
	// from the pods that exist at each sync, and the queue's retries of the key
	// are the memory of failures. It needs no finalizers. It suits owners whose
	// ended pods nobody deletes before the Job has ended; a pod deleted
	// earlier is forgotten by the counters and its work is done again.
	Recount
)

// String returns the name of the mode as flags and logs have it.
func (a Accounting) String() string {
	switch a {
	case Tracked:
		return "tracked"
	case Recount:
		return "recount"
	}
	return fmt.Sprintf("Accounting(%d)", int(a))
}

func (a Accounting) check() error {
	if a != Tracked && a != Recount {
		return fmt.Errorf("%w: unknown accounting mode %v", ErrInvalid, a)
	}
	return nil
}

// checkSupported refuses what a mode would silently ignore or cannot read.
func checkSupported(spec *batchv1.JobSpec, mode Accounting) (errs field.ErrorList) {
	if mode == Tracked {
		return checkPolicies(spec)
	}
	refuse := func(set bool, name string) {
		if set {
			errs = append(errs, field.Forbidden(field.NewPath("spec", name), fmt.Sprintf("not supported by %v accounting", mode)))
		}
	}
	refuse(valueOr(spec.Suspend, false), "suspend")
	refuse(valueOr(spec.CompletionMode, batchv1.NonIndexedCompletion) == batchv1.IndexedCompletion, "completionMode")
	refuse(spec.BackoffLimitPerIndex != nil, "backoffLimitPerIndex")
	refuse(spec.MaxFailedIndexes != nil, "maxFailedIndexes")
	refuse(spec.PodFailurePolicy != nil, "podFailurePolicy")
	refuse(spec.SuccessPolicy != nil, "successPolicy")
	refuse(valueOr(spec.PodReplacementPolicy, batchv1.TerminatingOrFailed) == batchv1.Failed, "podReplacementPolicy")
	return errs
}
