package podsort_test

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobwright/jobwright/podsort"
)

func ExampleForDeletion() {
	pod := func(name, node string, phase corev1.PodPhase) *corev1.Pod {
		return &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec:       corev1.PodSpec{NodeName: node},
			Status:     corev1.PodStatus{Phase: phase},
		}
	}
	active := []*corev1.Pod{
		pod("at-work", "node-1", corev1.PodRunning),
		pod("pulling", "node-2", corev1.PodPending),
		pod("waiting", "", corev1.PodPending),
	}
	const parallelism = 1
	surplus := slices.SortedFunc(slices.Values(active), podsort.ForDeletion)[:len(active)-parallelism]
	for _, pod := range surplus {
		fmt.Println(pod.Name)
	}
	// Output:
	// waiting
	// pulling
}

func ExampleFinishTime() {
	deleted := metav1.Date(2026, time.March, 1, 9, 30, 30, 0, time.UTC)
	grace := int64(30)
	fmt.Println(podsort.FinishTime(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		DeletionTimestamp: &deleted, DeletionGracePeriodSeconds: &grace,
	}}))
	// Output: 2026-03-01 09:30:00 +0000 UTC
}
