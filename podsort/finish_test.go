package podsort_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobwright/jobwright/podsort"
)

func ended(name string, at metav1.Time) corev1.ContainerStatus {
	return corev1.ContainerStatus{Name: name, State: corev1.ContainerState{
		Terminated: &corev1.ContainerStateTerminated{FinishedAt: at},
	}}
}

func containers(statuses ...corev1.ContainerStatus) func(*corev1.Pod) {
	return func(pod *corev1.Pod) { pod.Status.ContainerStatuses = statuses }
}

func initContainers(statuses ...corev1.ContainerStatus) func(*corev1.Pod) {
	return func(pod *corev1.Pod) { pod.Status.InitContainerStatuses = statuses }
}

func deleted(at metav1.Time, grace *int64) func(*corev1.Pod) {
	return func(pod *corev1.Pod) { pod.DeletionTimestamp, pod.DeletionGracePeriodSeconds = &at, grace }
}

func TestFinishTime(t *testing.T) {
	unready := readiness(corev1.ConditionFalse, minute(20))
	main := ended("main", minute(30))
	tests := []struct {
		name   string
		change func(*corev1.Pod)
		want   metav1.Time
	}{
		{"last container", all(unready, containers(ended("a", minute(31)), ended("b", minute(32)), main)), minute(32)},
		{"sidecar after the containers", initAndMain(main, ended("sidecar", minute(33))), minute(33)},
		{"sidecar before the containers", initAndMain(main, ended("sidecar", minute(29))), minute(30)},
		{"init container is no sidecar", initAndMain(main, ended("init", minute(33))), minute(30)},
		{"running init container is no sidecar", initAndMain(main, corev1.ContainerStatus{Name: "init"}), minute(30)},
		{"a container has not ended", all(unready, containers(main, corev1.ContainerStatus{Name: "b"})), minute(20)},
		{"a container ended without a time", all(unready, containers(ended("a", metav1.Time{}), main)), minute(20)},
		{"a sidecar has not ended", all(unready, initAndMain(main, corev1.ContainerStatus{Name: "sidecar"})), minute(20)},
		{"a sidecar ended without a time",
			all(unready, initAndMain(main, ended("sidecar", metav1.Time{}))), minute(20)},
		{"no container has a status", all(unready, containers()), minute(20)},
		{"readiness before deletion", all(unready, deleted(minute(50), nil)), minute(20)},
		{"still ready, deleted", deleted(minute(50), new(int64(120))), minute(48)},
		{"readiness unknown, deleted",
			all(readiness(corev1.ConditionUnknown, minute(20)), deleted(minute(50), new(int64(60)))), minute(49)},
		{"unready without a time, deleted",
			all(readiness(corev1.ConditionFalse, metav1.Time{}), deleted(minute(50), new(int64(60)))), minute(49)},
		{"deleted without a grace period", deleted(minute(50), nil), minute(50)},
		{"nothing but the creation", nil, minute(5)},
		{"not even that", created(metav1.Time{}), metav1.Time{}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got := podsort.FinishTime(running("a", test.change))
			if diff := cmp.Diff(test.want.Time, got); diff != "" {
				t.Errorf("FinishTime (-want +got):\n%s", diff)
			}
		})
	}
}

func initAndMain(main, init corev1.ContainerStatus) func(*corev1.Pod) {
	return all(containers(main), initContainers(init))
}

func TestByFinishTime(t *testing.T) {
	at := func(uid string, finished metav1.Time) *corev1.Pod {
		return running(uid, containers(ended("main", finished)))
	}
	subsecond := metav1.NewTime(minute(30).Add(time.Millisecond))
	want := []*corev1.Pod{
		at("d", metav1.Time{}), // falls back to its creation
		at("b", minute(30)), at("c", minute(30)), at("a", subsecond), at("0", minute(31)),
	}
	given := slices.Clone(want)
	slices.Reverse(given)
	if diff := cmp.Diff(want, slices.SortedFunc(slices.Values(given), podsort.ByFinishTime)); diff != "" {
		t.Errorf("order (-want +got):\n%s", diff)
	}
}
