package podsort

import (
	"cmp"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// ForDeletion puts the pod first that has made the least progress and whose
// deletion therefore loses the least. It is meant for pods that are active.
// The first of these rules that tells a from b decides:
//
//  1. not assigned to a node before assigned;
//  2. Pending before Unknown before Running; every other phase, the absent one
//     included, ranks with Pending, as there is no running work to lose;
//  3. not ready before ready;
//  4. ready for less time before ready for longer; a Ready condition without a
//     time became true just now;
//  5. more restarts before fewer, by the container of the pod that restarted
//     most often; sidecars count, init containers that end do not;
//  6. created later before created earlier; no creation time is the latest;
//  7. UID, then namespace, then name, in ascending order.
//
// Rules 1 to 6 are those by which ReplicaSets and Jobs are scaled down in
// Kubernetes, which leaves what is equal by them in any order.
func ForDeletion(a, b *corev1.Pod) int {
	return forDeletion(a, b, false)
}

// ForDeletionByCost is [ForDeletion] with one rule more between its rules 3
// and 4: the lower cost of deletion first. The cost is the annotation
// controller.kubernetes.io/pod-deletion-cost, a decimal number of 32 bits
// without plus sign or leading zeros (KEP-2255). Without the annotation, or
// with one that is malformed, a pod costs 0.
func ForDeletionByCost(a, b *corev1.Pod) int {
	return forDeletion(a, b, true)
}

func forDeletion(a, b *corev1.Pod, byCost bool) int {
	if c := compareBool(a.Spec.NodeName != "", b.Spec.NodeName != ""); c != 0 {
		return c
	}
	if c := cmp.Compare(phaseRank(a.Status.Phase), phaseRank(b.Status.Phase)); c != 0 {
		return c
	}
	readyA, sinceA := ready(a)
	readyB, sinceB := ready(b)
	if c := compareBool(readyA, readyB); c != 0 {
		return c
	}
	if byCost {
		if c := cmp.Compare(deletionCost(a), deletionCost(b)); c != 0 {
			return c
		}
	}
	if c := compareLatestFirst(sinceA, sinceB); c != 0 {
		return c
	}
	if c := cmp.Compare(maxRestarts(b), maxRestarts(a)); c != 0 {
		return c
	}
	if c := compareLatestFirst(a.CreationTimestamp.Time, b.CreationTimestamp.Time); c != 0 {
		return c
	}
	return compareIdentity(a, b)
}

func phaseRank(phase corev1.PodPhase) int {
	switch phase {
	case corev1.PodRunning:
		return 2
	case corev1.PodUnknown:
		return 1
	default:
		return 0
	}
}

// ready says whether the pod is ready and since when. The time is zero for
// every pod that is not ready, so that it only ever orders ready ones.
func ready(pod *corev1.Pod) (bool, time.Time) {
	if c := readyCondition(pod); c != nil && c.Status == corev1.ConditionTrue {
		return true, c.LastTransitionTime.Time
	}
	return false, time.Time{}
}

func maxRestarts(pod *corev1.Pod) int32 {
	var restarts int32
	for i := range pod.Status.ContainerStatuses {
		restarts = max(restarts, pod.Status.ContainerStatuses[i].RestartCount)
	}
	for i := range pod.Status.InitContainerStatuses {
		status := &pod.Status.InitContainerStatuses[i]
		if status.RestartCount > restarts && isSidecar(pod, status.Name) {
			restarts = status.RestartCount
		}
	}
	return restarts
}

func deletionCost(pod *corev1.Pod) int64 {
	value := pod.Annotations[corev1.PodDeletionCost]
	if value == "" || value[0] == '+' || value[0] == '0' {
		return 0
	}
	cost, err := strconv.ParseInt(value, 10, 32)
	if err != nil {
		return 0 // ParseInt returns the nearest limit for what is out of range
	}
	return cost
}
