package podsort

import (
	"cmp"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// ByFinishTime puts the pod first that finished first, by [FinishTime], and
// orders pods that finished at the same time by UID, then namespace, then name.
// It is meant for pods that have finished.
func ByFinishTime(a, b *corev1.Pod) int {
	return cmp.Or(FinishTime(a).Compare(FinishTime(b)), compareIdentity(a, b))
}

// FinishTime is the time at which a finished pod finished, as well as the pod
// tells it. It is the first of these that is known:
//
//   - when the last of its containers ended, sidecars included: all that report
//     a status have to have ended, each with a time;
//   - when the Ready condition became False, as it does at the end of a pod;
//   - when the deletion was asked for: the deletionTimestamp, which lies at the
//     end of the grace period, less deletionGracePeriodSeconds;
//   - when the pod was created, which is zero if that is not known either.
//
// For a pod that has not finished it is no more than a guess by these rules.
func FinishTime(pod *corev1.Pod) time.Time {
	if t := containersFinished(pod); !t.IsZero() {
		return t
	}
	if c := readyCondition(pod); c != nil && c.Status == corev1.ConditionFalse && !c.LastTransitionTime.IsZero() {
		return c.LastTransitionTime.Time
	}
	if pod.DeletionTimestamp != nil {
		var grace time.Duration
		if seconds := pod.DeletionGracePeriodSeconds; seconds != nil {
			grace = time.Duration(*seconds) * time.Second
		}
		return pod.DeletionTimestamp.Add(-grace)
	}
	return pod.CreationTimestamp.Time
}

// containersFinished is the time the last container ended, or zero if one has
// not ended, does not say when it did, or none has a status. Init containers
// that are not sidecars ended before any of the others began.
func containersFinished(pod *corev1.Pod) time.Time {
	var last time.Time
	for i := range pod.Status.ContainerStatuses {
		t := finishedAt(&pod.Status.ContainerStatuses[i])
		if t.IsZero() {
			return t
		}
		last = later(last, t)
	}
	for i := range pod.Status.InitContainerStatuses {
		status := &pod.Status.InitContainerStatuses[i]
		if !isSidecar(pod, status.Name) {
			continue
		}
		t := finishedAt(status)
		if t.IsZero() {
			return t
		}
		last = later(last, t)
	}
	return last
}

func finishedAt(status *corev1.ContainerStatus) time.Time {
	if status.State.Terminated == nil {
		return time.Time{}
	}
	return status.State.Terminated.FinishedAt.Time
}

func later(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}
