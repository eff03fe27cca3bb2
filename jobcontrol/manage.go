package jobcontrol

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/jobwright/jobwright/podsort"
)

// maxCreations bounds the creations of one sync, so that one large Job does
// not hold a worker; the rest follows when these have been seen.
const maxCreations = 500

// manage brings the active pods to what the spec asks for: it deletes or it
// creates, deletions first.
func (p *tracked) manage(d *Decision, active *indexBits) {
	if p.spec.suspended {
		d.Delete = p.deleteAll("the Job is suspended", true)
		return
	}
	surplus := max(0, p.seen.active-p.wanted())
	if surplus > 0 || p.seen.stray > 0 || p.seen.unindexed > 0 || active.repeated > 0 {
		d.Delete = p.deleteSurplus(int(surplus))
		return
	}
	if missing := p.missing(); missing > 0 {
		p.create(d, int(min(missing, maxCreations)), active)
	}
}

// wanted is how many pods should be active. A work queue starts no more pods
// after the first success: the queue is then empty, or those at work empty it.
func (p *tracked) wanted() int32 {
	switch {
	case !p.spec.workQueue:
		return max(0, min(p.spec.completions-p.succeeded, p.spec.parallelism))
	case p.succeeded > 0:
		return p.seen.active
	}
	return p.spec.parallelism
}

// create adds the slots of n new pods, or the time at which their back-off ends.
func (p *tracked) create(d *Decision, n int, active *indexBits) {
	if p.spec.perIndex == nil {
		if delay := p.failures.delay(p.s.Now, p.s.Backoff); delay > 0 {
			p.wakeAfter(delay, "the back-off after a failure ends")
			return
		}
	}
	reason := fmt.Sprintf("%d pods active, %d wanted", p.seen.active, p.wanted())
	if !p.spec.indexed {
		d.Create = slices.Repeat([]Slot{{Reason: reason, Tracked: true}}, n)
		return
	}
	var soonest time.Duration
	for _, index := range p.pending(n, active) {
		if delay := p.indexDelay(index); delay > 0 {
			if soonest == 0 || delay < soonest {
				soonest = delay
			}
			continue
		}
		slot := Slot{Reason: reason, Tracked: true, Index: index}
		if p.spec.perIndex != nil {
			slot.PerIndex = true
			if before, ok := p.waiting[index]; ok {
				slot.Failures, slot.IgnoredFailures = p.handOver(before)
			}
		}
		d.Create = append(d.Create, slot)
	}
	if len(d.Create) == 0 && soonest > 0 {
		p.wakeAfter(soonest, "the back-off of an index ends")
	}
}

// pending returns the first n indexes that need a pod.
func (p *tracked) pending(n int, active *indexBits) []int {
	var terminating map[int]bool
	if p.spec.replaceFailedOnly && p.seen.terminating > 0 {
		terminating = p.terminatingIndexes()
	}
	open := allBelow(int(p.spec.completions)).Without(p.completed).Without(p.failedIndexes)
	indexes := make([]int, 0, n)
	for index := range open.All() {
		if len(indexes) == n {
			break
		}
		if !active.has(index) && !terminating[index] {
			indexes = append(indexes, index)
		}
	}
	return indexes
}

// activePod is a candidate for deletion.
type activePod struct {
	*corev1.Pod
	index  int
	reason string // why it has to go whatever the number, or ""
}

func (p *tracked) activePods() []activePod {
	pods := make([]activePod, 0, p.seen.active)
	for _, pod := range p.s.Pods {
		if isActive(pod) {
			pods = append(pods, activePod{Pod: pod, index: noIndex})
		}
	}
	return pods
}

// deleteAll deletes every active pod.
func (p *tracked) deleteAll(reason string, untrack bool) []Deletion {
	pods := p.activePods()
	slices.SortFunc(pods, func(a, b activePod) int { return p.compareForDeletion(a.Pod, b.Pod) })
	all := make([]Deletion, len(pods))
	for i := range pods {
		all[i] = p.deletion(pods[i].Pod, reason, untrack)
	}
	return all
}

// deletion deletes a pod. One that is not to be counted is untracked first: then
// a life that ends between the two leaves a live pod without finalizer, which
// the next life knows by that and deletes.
func (p *tracked) deletion(pod *corev1.Pod, reason string, untrack bool) Deletion {
	return Deletion{Pod: pod, Reason: reason, Untrack: untrack && p.isTracked(pod)}
}

// deleteSurplus deletes the pods that must go for what they are, and as many
// more as are needed to be rid of n, those with the least progress first.
func (p *tracked) deleteSurplus(n int) []Deletion {
	pods := p.activePods()
	for i := range pods {
		p.mark(&pods[i])
	}
	p.markRepeated(pods)
	slices.SortFunc(pods, func(a, b activePod) int {
		return cmp.Or(boolFirst(a.reason != "", b.reason != ""), p.compareForDeletion(a.Pod, b.Pod))
	})
	var chosen []Deletion
	for _, pod := range pods {
		if pod.reason == "" && len(chosen) >= n {
			break
		}
		chosen = append(chosen, p.deletion(pod.Pod, cmp.Or(pod.reason, "more pods active than wanted"), true))
	}
	return chosen
}

func (p *tracked) compareForDeletion(a, b *corev1.Pod) int {
	if order := p.s.Judgement.DeletionOrder; order != nil {
		return order(a, b)
	}
	return podsort.ForDeletion(a, b)
}

// mark says why a pod has to go for what it is itself.
func (p *tracked) mark(pod *activePod) {
	switch {
	case !slices.Contains(pod.Finalizers, p.finalizer):
		pod.reason = "it was untracked and would not be counted"
	case p.spec.indexed:
		if pod.index = p.index(pod.Pod); pod.index == noIndex {
			pod.reason = "it has no completion index of the Job"
		}
	}
}

// markRepeated leaves, of the pods of an index, the one with the most progress.
func (p *tracked) markRepeated(pods []activePod) {
	if !p.spec.indexed {
		return
	}
	best := make(map[int]*activePod, len(pods))
	for i := range pods {
		pod := &pods[i]
		if pod.reason != "" {
			continue
		}
		if other := best[pod.index]; other == nil {
			best[pod.index] = pod
		} else if p.compareForDeletion(other.Pod, pod.Pod) < 0 {
			other.reason, best[pod.index] = "another pod works on its index", pod
		} else {
			pod.reason = "another pod works on its index"
		}
	}
}

// boolFirst puts true before false.
func boolFirst(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	}
	return 1
}
