package jobcontrol

import (
	"cmp"
	"slices"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
)

// endedPod is a tracked pod with what becomes of it in the counters.
type endedPod struct {
	*corev1.Pod
	index   int  // noIndex: none that is the Job's
	failed  bool // else it succeeded
	listed  bool // its UID is in uncountedTerminatedPods
	ignored bool // it has no outcome: it is released and counts nowhere

	// Of a pod that failed: what the policy says, and whether it counts
	// towards the limits.
	verdict *judgement
	counted bool
}

// endedPod looks at a tracked pod that has ended.
func (p *tracked) endedPod(pod *corev1.Pod) endedPod {
	e := endedPod{Pod: pod, index: noIndex, failed: pod.Status.Phase != corev1.PodSucceeded}
	if p.spec.indexed {
		e.index = p.index(pod)
	}
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

// cutShort looks at a tracked pod, not listed, that has not ended when its Job does. When the
// Job has failed it counts as failed, else it counts as nothing.
func (l *ledger) cutShort(pod *corev1.Pod) endedPod {
	e := endedPod{Pod: pod, index: noIndex}
	if l.spec.indexed {
		e.index = l.index(pod)
	}
	e.failed = l.carried && !l.success
	e.ignored = !e.failed
	if e.failed {
		l.judgePod(&e)
	}
	return e
}

// judgePod asks the policy about a failed pod.
func (p *tracked) judgePod(e *endedPod) {
	e.verdict = new(judgeFailure(p.spec.failurePolicy, e.Pod))
	e.counted = e.verdict.action != batchv1.PodFailurePolicyActionIgnore
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

// isOfJob says whether the pod is one that the Job counts: in an Indexed Job
// only one with an index is.
func (e endedPod) isOfJob(indexed bool) bool { return !indexed || e.index != noIndex }

func compareEnded(a, b endedPod) int {
	if c := cmp.Compare(a.index, b.index); c != 0 {
		return c
	}
	if c := strings.Compare(a.Name, b.Name); c != 0 {
		return c
	}
	return strings.Compare(string(a.UID), string(b.UID))
}

// firstEnded keeps the first pods of those offered, in the order of index and
// name: as many as one status can list. Its cost is that of a look at each.
type firstEnded struct {
	pods []endedPod
	// cut says that there were more, and that those from last on are not kept.
	cut  bool
	last endedPod
}

func (f *firstEnded) offer(e endedPod) {
	if f.cut && compareEnded(e, f.last) > 0 {
		return
	}
	if f.pods = append(f.pods, e); len(f.pods) == 2*maxUncounted {
		f.trim()
	}
}

// trim sorts the pods and drops those that are too many.
func (f *firstEnded) trim() {
	slices.SortFunc(f.pods, compareEnded)
	if len(f.pods) > maxUncounted {
		f.pods = f.pods[:maxUncounted]
		f.cut, f.last = true, f.pods[maxUncounted-1]
	}
}
