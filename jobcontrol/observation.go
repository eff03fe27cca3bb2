package jobcontrol

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// observation is what one pass over the pods of a Job tells. Nothing in it
// grows with the pods about which there is nothing to do.
type observation struct {
	active, ready, terminating int32
	// stray counts live pods without finalizer: a scale-down or suspension that
	// was cut short untracked them and did not come to delete them.
	stray int32
	// restarts of the containers of pods that may still end well.
	restarts int32
	// unindexed counts active pods without an index below completions.
	unindexed int32
	// listed are the pods of uncountedTerminatedPods that still hold the
	// finalizer, failed those that failed since, ignored those that ended without
	// outcome; each in the order of index and UID. succeeded are the first of
	// those that succeeded since, of all the newSucceeded.
	listed, failed, ignored []endedPod
	succeeded               firstPods
	newSucceeded            int32
	// unended counts the pods that hold the finalizer and have not ended.
	unended int32
}

// isTracked says whether a pod holds the finalizer, as far as this process
// knows: it is still to be counted.
func (p *tracked) isTracked(pod *corev1.Pod) bool {
	return slices.Contains(pod.Finalizers, p.finalizer) && !p.wasUntracked(pod.UID)
}

// wasUntracked says whether the pod's finalizer was removed, though it may show.
func (p *tracked) wasUntracked(uid types.UID) bool {
	_, untracked := p.s.Untracked[uid]
	return untracked
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

// isActive: a pod that has not ended and is not on its way out.
func isActive(pod *corev1.Pod) bool {
	return !hasEnded(pod) && pod.DeletionTimestamp == nil
}

func isReady(pod *corev1.Pod) bool {
	for i := range pod.Status.Conditions {
		if c := &pod.Status.Conditions[i]; c.Type == corev1.PodReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

// observe looks at each pod once. The sets take the indexes of active pods and
// of those that succeeded.
func (p *tracked) observe(pods []*corev1.Pod, active, succeeded *indexBits) {
	o := &p.seen
	for _, pod := range pods {
		marked := slices.Contains(pod.Finalizers, p.finalizer)
		holds := marked && !p.wasUntracked(pod.UID)
		ended := hasEnded(pod)
		switch {
		case ended:
		case pod.DeletionTimestamp == nil:
			p.observeActive(pod, marked, active)
		default:
			o.terminating++
		}
		if p.spec.onFailure && (pod.Status.Phase == corev1.PodRunning || pod.Status.Phase == corev1.PodPending) {
			o.restarts += restartsOf(pod)
		}
		switch {
		case !holds:
		case ended || pod.DeletionTimestamp != nil && p.hasFailed(pod):
			p.observeEnded(pod, succeeded)
		case p.uncounted.has(pod.UID):
			p.observeEnded(pod, succeeded)
			o.unended++
		default:
			o.unended++
		}
	}
	for _, ended := range [][]endedPod{o.listed, o.failed, o.ignored} {
		slices.SortFunc(ended, compareEnded)
	}
	o.succeeded.trim()
}

func (p *tracked) observeEnded(pod *corev1.Pod, succeeded *indexBits) {
	o := &p.seen
	if pod.Status.Phase == corev1.PodSucceeded && !p.uncounted.has(pod.UID) {
		p.observeSucceeded(p.indexed(pod), succeeded)
		return
	}
	e := p.endedPod(pod)
	switch {
	case e.listed:
		o.listed = append(o.listed, e)
		if !e.failed && e.index != noIndex {
			succeeded.add(e.index)
		}
	case e.ignored:
		o.ignored = append(o.ignored, e)
	case e.failed:
		o.failed = append(o.failed, e)
	default:
		p.observeSucceeded(e.indexedPod, succeeded)
	}
}

func (p *tracked) observeSucceeded(pod indexedPod, succeeded *indexBits) {
	if pod.index != noIndex {
		succeeded.add(pod.index)
	}
	if pod.isOfJob(p.spec.indexed) {
		p.seen.newSucceeded++
	}
	p.seen.succeeded.offer(pod)
}

func (p *tracked) observeActive(pod *corev1.Pod, marked bool, active *indexBits) {
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
