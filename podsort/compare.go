package podsort

import (
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// compareBool puts false first.
func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	default:
		return 1
	}
}

// compareLatestFirst puts the later time first and takes zero for the latest.
func compareLatestFirst(a, b time.Time) int {
	if a.IsZero() || b.IsZero() {
		return compareBool(!a.IsZero(), !b.IsZero())
	}
	return b.Compare(a)
}

// compareIdentity ends every order. A UID alone tells stored pods apart; the
// names serve pods that were never stored.
func compareIdentity(a, b *corev1.Pod) int {
	if c := strings.Compare(string(a.UID), string(b.UID)); c != 0 {
		return c
	}
	if c := strings.Compare(a.Namespace, b.Namespace); c != 0 {
		return c
	}
	return strings.Compare(a.Name, b.Name)
}

func readyCondition(pod *corev1.Pod) *corev1.PodCondition {
	for i := range pod.Status.Conditions {
		if c := &pod.Status.Conditions[i]; c.Type == corev1.PodReady {
			return c
		}
	}
	return nil
}

// isSidecar says whether name is an init container that is restarted for as
// long as the pod runs, and so ends with it.
func isSidecar(pod *corev1.Pod, name string) bool {
	for i := range pod.Spec.InitContainers {
		if c := &pod.Spec.InitContainers[i]; c.Name == name {
			return c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways
		}
	}
	return false
}
