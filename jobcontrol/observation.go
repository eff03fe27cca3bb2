package jobcontrol

import (
	"cmp"
	"slices"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// observation is what one pass over the pods of a Job tells. Nothing in it
// grows with the pods about which there is nothing to do.
type observation struct {
	active, ready, terminating int32
	// stray counts live pods without finalizer: a scale-down or suspension that
	// was cut short released them and did not come to delete them.
	stray int32
	// restarts of the containers of pods that may still end well.
	restarts int32
	// unindexed counts active pods without an index below completions.
	unindexed int32
	// ended are the pods that hold the finalizer, have ended and are to be
	// counted or released, in the order of index and UID.
	ended []endedPod
	// listed are the UIDs of uncountedTerminatedPods whose pods still hold the
	// finalizer.
	listed map[types.UID]bool
}

// endedPod is a tracked pod with an outcome.
type endedPod struct {
	*corev1.Pod
	index   int  // noIndex: none that is valid
	failed  bool // by this pod's judgement; else it succeeded
	listed  bool // its UID is in uncountedTerminatedPods
	ignored bool // it has no outcome: it is released and counts nowhere
	verdict judgement
	counted bool // the failure counts towards the limits
}

// isTracked says whether a pod holds the finalizer, as far as this process
// knows: it is still to be counted.
func (p *tracked) isTracked(pod *corev1.Pod) bool {
	return slices.Contains(pod.Finalizers, p.finalizer) && !p.isReleasing(pod.UID)
}

// isReleasing says whether the pod's finalizer was removed, though it may show.
func (p *tracked) isReleasing(uid types.UID) bool {
	_, releasing := p.s.Releasing[uid]
	return releasing
}

// index is the pod's completion index if it is one of the Job's.
func (p *tracked) index(pod *corev1.Pod) int {
	if i := p.indexer.of(pod); i < int(p.spec.completions) {
		return i
	}
	return noIndex
}

// hasEnded says whether the pod is in a phase that it does not leave.
func hasEnded(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}

func isReady(pod *corev1.Pod) bool {
	for i := range pod.Status.Conditions {
		if c := &pod.Status.Conditions[i]; c.Type == corev1.PodReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

func (p *tracked) observe(pods []*corev1.Pod, active *activeIndexes) {
	o := &p.seen
	for _, pod := range pods {
		marked := slices.Contains(pod.Finalizers, p.finalizer)
		holds := marked && !p.isReleasing(pod.UID)
		if holds && p.uncounted.has(pod.UID) {
			o.hold(pod.UID)
		}
		if !hasEnded(pod) {
			if p.spec.onFailure && (pod.Status.Phase == corev1.PodRunning || pod.Status.Phase == corev1.PodPending) {
				o.restarts += restartsOf(pod)
			}
			if pod.DeletionTimestamp == nil {
				p.observeActive(pod, marked, active)
				continue
			}
			o.terminating++
		}
		if holds && (hasEnded(pod) || p.hasFailed(pod)) {
			o.ended = append(o.ended, p.endedPod(pod))
		}
	}
	slices.SortFunc(o.ended, compareEnded)
}

func compareEnded(a, b endedPod) int {
	return cmp.Or(cmp.Compare(a.index, b.index), strings.Compare(a.Name, b.Name), strings.Compare(string(a.UID), string(b.UID)))
}

func (o *observation) hold(uid types.UID) {
	if o.listed == nil {
		o.listed = make(map[types.UID]bool)
	}
	o.listed[uid] = true
}

func (p *tracked) observeActive(pod *corev1.Pod, marked bool, active *activeIndexes) {
	o := &p.seen
	o.active++
	if isReady(pod) {
		o.ready++
	}
	if !marked {
		o.stray++
	}
	if !p.spec.indexed {
		return
	}
	if index := p.index(pod); index != noIndex {
		active.add(index)
	} else {
		o.unindexed++
	}
}

func (p *tracked) endedPod(pod *corev1.Pod) endedPod {
	e := endedPod{Pod: pod, index: noIndex, failed: pod.Status.Phase != corev1.PodSucceeded}
	if p.spec.indexed {
		e.index = p.index(pod)
	}
	// The first recorded outcome stays, whatever the phase says later.
	if failed, listed := p.uncounted[pod.UID]; listed {
		e.listed, e.failed = true, failed
	} else if e.failed && p.succeededBefore(pod, e.index) {
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
	e.verdict = judgeFailure(p.spec.failurePolicy, e.Pod)
	e.counted = e.verdict.action != batchv1.PodFailurePolicyActionIgnore
	if counts := p.s.Judgement.Counts; counts != nil {
		e.counted = counts(p.s.Job, e.Pod)
	}
}

// succeededBefore says whether a pod that has failed is the one by which its
// index was completed. In an Indexed Job the status lists indexes and no UIDs:
// it is, unless there is another pod to have done it.
func (p *tracked) succeededBefore(pod *corev1.Pod, index int) bool {
	if index == noIndex || !p.completedBefore.Has(index) {
		return false
	}
	return !slices.ContainsFunc(p.s.Pods, func(other *corev1.Pod) bool {
		return other.UID != pod.UID && other.Status.Phase == corev1.PodSucceeded && p.index(other) == index
	})
}

// isOfJob says whether the pod is one that the Job counts: in an Indexed Job
// only one with an index is.
func (e endedPod) isOfJob(indexed bool) bool { return !indexed || e.index != noIndex }
