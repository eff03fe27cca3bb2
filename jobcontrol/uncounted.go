package jobcontrol

import (
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/types"
)

// maxUncounted bounds the UIDs in status.uncountedTerminatedPods, and with them
// the size of the status and the removals of one sync.
const maxUncounted = 500

// uncounted are the UIDs in status.uncountedTerminatedPods, by outcome.
type uncounted map[types.UID]bool // true: failed

// readUncounted reads the lists; nil when they are empty.
func readUncounted(lists *batchv1.UncountedTerminatedPods) uncounted {
	if lists == nil || len(lists.Succeeded)+len(lists.Failed) == 0 {
		return nil
	}
	u := make(uncounted, len(lists.Succeeded)+len(lists.Failed))
	for _, uid := range lists.Failed {
		u[uid] = true
	}
	for _, uid := range lists.Succeeded {
		u[uid] = false
	}
	return u
}

func (u uncounted) has(uid types.UID) bool {
	_, ok := u[uid]
	return ok
}

// countUnheld counts the listed pods that no longer hold the finalizer.
func (l *ledger) countUnheld() {
	held := make(map[types.UID]bool, len(l.plan.seen.listed))
	for _, pod := range l.plan.seen.listed {
		held[pod.UID] = true
	}
	l.keepUncounted(held)
}

// keepUncounted keeps these UIDs and counts the others.
func (l *ledger) keepUncounted(keep map[types.UID]bool) {
	var old, kept batchv1.UncountedTerminatedPods
	if l.status.UncountedTerminatedPods != nil {
		old = *l.status.UncountedTerminatedPods
	}
	kept.Succeeded = filter(old.Succeeded, keep)
	kept.Failed = filter(old.Failed, keep)
	if !l.plan.spec.indexed {
		l.status.Succeeded += int32(len(old.Succeeded) - len(kept.Succeeded))
	}
	l.status.Failed += int32(len(old.Failed) - len(kept.Failed))
	l.status.UncountedTerminatedPods = &kept
}

func filter(uids []types.UID, keep map[types.UID]bool) (kept []types.UID) {
	if len(keep) == 0 {
		return nil
	}
	for _, uid := range uids {
		if keep[uid] {
			kept = append(kept, uid)
		}
	}
	return kept
}

func uncountedChanged(to, from *batchv1.JobStatus) bool {
	a, b := to.UncountedTerminatedPods, from.UncountedTerminatedPods
	if b == nil {
		return true
	}
	return !slices.Equal(a.Succeeded, b.Succeeded) || !slices.Equal(a.Failed, b.Failed)
}
