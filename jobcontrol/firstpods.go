package jobcontrol

import (
	"cmp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// indexedPod is a pod with its completion index.
type indexedPod struct {
	*corev1.Pod
	index int // noIndex: none that is the Job's
}

func (p *tracked) indexed(pod *corev1.Pod) indexedPod {
	if !p.spec.indexed {
		return indexedPod{pod, noIndex}
	}
	return indexedPod{pod, p.index(pod)}
}

// isOfJob says whether the pod is one that the Job counts: in an Indexed Job
// only one with an index is.
func (pod indexedPod) isOfJob(indexed bool) bool { return !indexed || pod.index != noIndex }

// comparePods orders by index, then by UID.
func comparePods(a, b indexedPod) int {
	if a.index != b.index {
		return cmp.Compare(a.index, b.index)
	}
	return strings.Compare(string(a.UID), string(b.UID))
}

// firstPods keeps the first pods of those offered, in the order of comparePods:
// as many as one status can list. Its cost is that of a look at each; what is
// offered in order is not sorted.
type firstPods struct {
	pods       []indexedPod
	disordered bool
	// cut says that there were more, and that those after last are not kept.
	cut  bool
	last indexedPod
}

func (f *firstPods) offer(pod indexedPod) {
	if f.cut && comparePods(pod, f.last) > 0 {
		return
	}
	n := len(f.pods)
	f.disordered = f.disordered || n > 0 && comparePods(f.pods[n-1], pod) > 0
	if n == 32 {
		f.pods = slices.Grow(f.pods, maxUncounted) // more will come: one step instead of many
	}
	f.pods = append(f.pods, pod)
	if n++; n == 2*maxUncounted || n > maxUncounted && !f.disordered {
		f.trim()
	}
}

// trim sorts the pods and drops those that are too many.
func (f *firstPods) trim() {
	if f.disordered {
		slices.SortFunc(f.pods, comparePods)
		f.disordered = false
	}
	if len(f.pods) > maxUncounted {
		f.pods = f.pods[:maxUncounted]
		f.cut, f.last = true, f.pods[maxUncounted-1]
	}
}
