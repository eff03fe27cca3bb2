package main

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// ownerField is the name of the index of pods by their controller.
const ownerField = "metadata.controller"

// ownerValues is the index function: a sync must not scan a namespace.
func ownerValues(pod client.Object) []string {
	owner := metav1.GetControllerOfNoCopy(pod)
	if owner == nil {
		return []string{orphan}
	}
	return []string{ownedBy(owner.UID)}
}

const orphan = "orphan"

func ownedBy(owner types.UID) string { return "owned/" + string(owner) }

// podStore is a jobcontrol.PodStore over the manager's cache, with the index.
type podStore struct{ cached client.Reader }

func (s podStore) PodsOf(namespace string, owner types.UID) ([]*corev1.Pod, error) {
	return s.pods(namespace, ownedBy(owner))
}

func (s podStore) OrphanPods(namespace string) ([]*corev1.Pod, error) {
	return s.pods(namespace, orphan)
}

// pods lists without the deep copies that a list from the cache has by default:
// the library only reads.
func (s podStore) pods(namespace, value string) ([]*corev1.Pod, error) {
	var list corev1.PodList
	if err := s.cached.List(context.Background(), &list, client.InNamespace(namespace),
		client.MatchingFields{ownerField: value}, client.UnsafeDisableDeepCopy); err != nil {
		return nil, err
	}
	pods := make([]*corev1.Pod, len(list.Items))
	for i := range list.Items {
		pods[i] = &list.Items[i]
	}
	return pods, nil
}
