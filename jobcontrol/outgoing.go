package jobcontrol

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// outgoing are the pods to untrack in a sync, and where each of them will
// be counted: as many as the status has room for.
type outgoing struct {
	untrack           []Untracking
	succeeded, failed []types.UID
	completed         Indexes
	// room is how many pods the status can still list; full says that some had
	// to stay for the next sync.
	room int
	full bool
}

// findOutgoing finds the pods that may go whatever becomes of the calls. One
// that is listed already or ignored needs no place. Failed pods come first: few
// as they are, they then are listed in the sync in which they begin to delay.
func (p *tracked) findOutgoing() {
	out := &p.outgoing
	out.room = maxUncounted
	for _, pod := range p.seen.listed {
		if out.room--; !p.waits(pod) {
			out.add(pod.Pod)
		}
	}
	for _, pod := range p.seen.ignored {
		out.add(pod.Pod)
	}
	for _, pod := range p.seen.failed {
		if !p.waits(pod) {
			out.addFailed(pod, p.spec.indexed)
		}
	}
	p.addSucceeded(out)
	out.clip()
}

// addUnended adds those that may go because the Job has ended or goes: the
// pods that waited for a replacement, and the tracked pods that have not ended.
// When the Job has failed the latter count as failed, else as nothing.
func (l *ledger) addUnended(d Decision) {
	out := &l.outgoing
	if len(l.plan.waiting) > 0 {
		for _, pod := range l.plan.seen.listed {
			if l.plan.waits(pod) {
				out.add(pod.Pod)
			}
		}
		for _, pod := range l.plan.seen.failed {
			if l.plan.waits(pod) {
				out.addFailed(pod, l.plan.spec.indexed)
			}
		}
	}
	if l.plan.seen.unended == 0 {
		return
	}
	unended := l.unended(d)
	for _, pod := range unended.pods {
		e := endedPod{indexedPod: pod, failed: l.carried && !l.success}
		if e.failed {
			l.plan.judgePod(&e)
		}
		out.addFailed(e, l.plan.spec.indexed)
	}
	out.full = out.full || unended.cut
}

// unended are the first tracked pods that have not ended and that the decision
// does not untrack by itself.
func (l *ledger) unended(d Decision) (unended firstPods) {
	untracked := make(map[types.UID]bool)
	for _, deletion := range d.Delete {
		if deletion.Untrack {
			untracked[deletion.Pod.UID] = true
		}
	}
	for _, pod := range l.plan.s.Pods {
		if hasEnded(pod) || !l.plan.isTracked(pod) || l.plan.uncounted.has(pod.UID) || pod.DeletionTimestamp != nil && l.plan.hasFailed(pod) {
			continue
		}
		if !untracked[pod.UID] {
			unended.offer(l.plan.indexed(pod))
		}
	}
	unended.trim()
	return unended
}

func (o *outgoing) add(pod *corev1.Pod) {
	o.untrack = append(o.untrack, Untracking{Pod: pod, Reason: "it is counted or will never be"})
}

// addFailed adds a pod that counts as failed or as nothing.
func (o *outgoing) addFailed(pod endedPod, indexed bool) {
	if o.room <= 0 {
		o.full = true
		return
	}
	o.add(pod.Pod)
	if pod.counted && pod.isOfJob(indexed) {
		o.room--
		o.failed = append(o.failed, pod.UID)
	}
}

func (p *tracked) addSucceeded(o *outgoing) {
	pods := p.seen.succeeded.pods
	o.full = o.full || p.seen.succeeded.cut
	o.untrack = slices.Grow(o.untrack, len(pods))
	if !p.spec.indexed {
		o.succeeded = make([]types.UID, 0, len(pods))
	}
	for _, pod := range pods {
		if o.room <= 0 {
			o.full = true
			return
		}
		o.add(pod.Pod)
		switch {
		case !p.spec.indexed:
			o.room--
			o.succeeded = append(o.succeeded, pod.UID)
		case pod.index != noIndex:
			o.room--
			o.completed.extend(indexRange{pod.index, pod.index})
		}
	}
}

// clip has what is added later not be shared.
func (o *outgoing) clip() {
	o.untrack, o.failed = slices.Clip(o.untrack), slices.Clip(o.failed)
}

// waits says whether a pod stays for its replacement.
func (p *tracked) waits(pod endedPod) bool {
	waiting, ok := p.waiting[pod.index]
	return ok && waiting.UID == pod.UID && pod.failed
}
