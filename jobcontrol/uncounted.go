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
	held := make(map[types.UID]bool, len(l.seen.listed))
	for _, pod := range l.seen.listed {
		held[pod.UID] = true
	}
	l.setUncounted(func(uid types.UID) bool { return held[uid] })
}

// setUncounted keeps the UIDs that still hold and counts the others.
func (l *ledger) setUncounted(holds func(types.UID) bool) {
	var old, kept batchv1.UncountedTerminatedPods
	if l.status.UncountedTerminatedPods != nil {
		old = *l.status.UncountedTerminatedPods
	}
	kept.Succeeded = filter(old.Succeeded, holds)
	kept.Failed = filter(old.Failed, holds)
	if !l.spec.indexed {
		l.status.Succeeded += int32(len(old.Succeeded) - len(kept.Succeeded))
	}
	l.status.Failed += int32(len(old.Failed) - len(kept.Failed))
	l.status.UncountedTerminatedPods = &kept
}

func filter(uids []types.UID, keep func(types.UID) bool) (kept []types.UID) {
	for _, uid := range uids {
		if keep(uid) {
			kept = append(kept, uid)
		}
	}
	return kept
}

// list puts the pods that have ended where they will be counted, and says
// which may then be released. One that is listed already or ignored needs no
// place.
func (l *ledger) list(d Decision) {
	for _, pod := range slices.Concat(l.seen.listed, l.seen.ignored) {
		if l.ends() || !l.mustWait(pod) {
			l.mayRelease(pod)
		}
	}
	var completed []int
	u := l.status.UncountedTerminatedPods
	pods := l.outgoing(d)
	slices.SortFunc(pods, compareEnded)
	l.release = slices.Grow(l.release, min(len(pods), maxUncounted))
	l.full = l.seen.succeeded.cut
	for _, pod := range pods {
		if len(completed)+len(u.Succeeded)+len(u.Failed) >= maxUncounted {
			l.full = true
			break
		}
		l.mayRelease(pod)
		switch {
		case pod.ignored || !pod.isOfJob(l.spec.indexed):
		case !pod.failed && l.spec.indexed:
			completed = append(completed, pod.index)
		case !pod.failed:
			u.Succeeded = append(u.Succeeded, pod.UID)
		case pod.counted:
			u.Failed = append(u.Failed, pod.UID)
		}
	}
	if l.spec.indexed && l.full {
		l.completed = l.completedBefore.Union(indexesOf(completed))
	}
}

func (l *ledger) mayRelease(pod endedPod) {
	l.release = append(l.release, Release{Pod: pod.Pod, Reason: "it is counted or will never be"})
}

// outgoing are the pods, neither listed nor ignored, that may be released in
// this sync: those that have ended, and once the Job has ended or goes, all
// others too.
func (l *ledger) outgoing(d Decision) []endedPod {
	out := slices.Clone(l.seen.succeeded.pods)
	for _, pod := range l.seen.failed {
		if l.ends() || !l.mustWait(pod) {
			out = append(out, pod)
		}
	}
	if !l.ends() || l.seen.unended == 0 {
		return out
	}
	released := make(map[types.UID]bool)
	for _, deletion := range d.Delete {
		if deletion.Release {
			released[deletion.Pod.UID] = true
		}
	}
	for _, pod := range l.s.Pods {
		if hasEnded(pod) || !l.isTracked(pod) || l.uncounted.has(pod.UID) || pod.DeletionTimestamp != nil && l.hasFailed(pod) {
			continue
		}
		if !released[pod.UID] {
			out = append(out, l.cutShort(pod))
		}
	}
	return out
}

// ends says whether the Job has ended or goes, so that every pod may go.
func (l *ledger) ends() bool { return l.carried || l.s.Job.DeletionTimestamp != nil }

// mustWait says whether a pod stays for its replacement.
func (l *ledger) mustWait(pod endedPod) bool {
	waiting, ok := l.waiting[pod.index]
	return ok && waiting.UID == pod.UID && pod.failed
}

func uncountedChanged(to, from *batchv1.JobStatus) bool {
	a, b := to.UncountedTerminatedPods, from.UncountedTerminatedPods
	if b == nil {
		return true
	}
	return !slices.Equal(a.Succeeded, b.Succeeded) || !slices.Equal(a.Failed, b.Failed)
}
