package jobcontrol

import (
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
)

// endedPod is a tracked pod with what becomes of it in the counters.
type endedPod struct {
	indexedPod
	failed  bool // else it succeeded
	listed  bool // its UID is in uncountedTerminatedPods
	ignored bool // it has no outcome: it is untracked and counts nowhere

	// Of a pod that failed: whether it counts towards the limits, and what the
	// policy says.
	counted bool
	ruling  ruling
}

// endedPod looks at a tracked pod that has ended.
func (p *tracked) endedPod(pod *corev1.Pod) endedPod {
	e := endedPod{indexedPod: p.indexed(pod), failed: pod.Status.Phase != corev1.PodSucceeded}
	// The first recorded outcome stays, whatever the phase says later.
	if failed, listed := p.uncounted[pod.UID]; listed {
		e.listed, e.failed = true, failed
	} else if e.failed && p.succeededBefore(e.index) {
		e.failed = false
	} else if e.failed && !p.hasFailed(pod) {
		e.failed, e.ignored = false, true
	}
	if e.failed {
		p.judgePod(&e)
	}
	return e
}

// judgePod asks the policy about a failed pod.
func (p *tracked) judgePod(e *endedPod) {
	e.ruling = applyPolicy(p.spec.failurePolicy, e.Pod)
	e.counted = e.ruling.action != batchv1.PodFailurePolicyActionIgnore
	if counts := p.s.Judgement.Counts; counts != nil {
		e.counted = counts(p.s.Job, e.Pod)
	}
}

// succeededBefore says whether a pod that has failed is the one by which its
// index was completed. In an Indexed Job the status lists indexes and no UIDs:
// it is, unless there is another pod to have done it.
func (p *tracked) succeededBefore(index int) bool {
	if index == noIndex || !p.completedBefore.Has(index) {
		return false
	}
	if p.shownSucceeded == nil {
		p.shownSucceeded = make(map[int]bool)
		for _, other := range p.s.Pods {
			if other.Status.Phase == corev1.PodSucceeded {
				p.shownSucceeded[p.index(other)] = true
			}
		}
	}
	return !p.shownSucceeded[index]
}

// compareEnded puts the pods in the order of comparePods.
func compareEnded(a, b endedPod) int { return comparePods(a.indexedPod, b.indexedPod) }
