package jobcontrol

import (
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Accounting says how the pods of a Job that ended are counted. The zero value
// is the default: Recount, the only mode so far.
type Accounting int

const (
	// Recount is the original algorithm: succeeded and failed are counted anew
	// from the pods that exist at each sync, and the queue's retries of the key
	// are the memory of failures. It needs no finalizers. It suits owners whose
	// ended pods nobody deletes before the Job has ended; a pod deleted
	// earlier is forgotten by the counters and its work is done again.
	Recount Accounting = iota + 1
)

const defaultAccounting = Recount

// String returns the name of the mode as flags and logs have it.
func (a Accounting) String() string {
	if a.orDefault() == Recount {
		return "recount"
	}
	return fmt.Sprintf("Accounting(%d)", int(a))
}

// orDefault returns the mode that the zero value stands for.
func (a Accounting) orDefault() Accounting {
	if a == 0 {
		return defaultAccounting
	}
	return a
}

func (a Accounting) check() error {
	if a.orDefault() != Recount {
		return fmt.Errorf("%w: unknown accounting mode %v", ErrInvalid, a)
	}
	return nil
}

// checkSupported refuses what a mode would silently ignore.
func checkSupported(spec *batchv1.JobSpec, mode Accounting) (errs field.ErrorList) {
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
