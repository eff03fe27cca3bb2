package main

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestSettleStatus(t *testing.T) {
	spec := &corev1.PodSpec{
		InitContainers: []corev1.Container{containers("init")[0], sidecar("proxy")},
		Containers:     containers("a", "b"),
	}
	crashed := corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}}
	for name, tt := range map[string]struct {
		states [4]corev1.ContainerState // init, proxy, a, b
		want   string
		init   corev1.ConditionStatus
	}{
		"nothing has begun": {[4]corev1.ContainerState{waiting, waiting, waiting, waiting},
			"Pending; init ; proxy ; a ; b ", corev1.ConditionFalse},
		"a sidecar is to start": {[4]corev1.ContainerState{exited(0, 0), waiting, waiting, waiting},
			"Pending; init  0; proxy ; a ; b ", corev1.ConditionFalse},
		"initialized": {[4]corev1.ContainerState{exited(0, 0), running, waiting, waiting},
			"Pending; init  0; proxy running; a ; b ", corev1.ConditionTrue},
		"one container is to start": {[4]corev1.ContainerState{exited(0, 0), running, running, waiting},
			"Running; init  0; proxy running; a running; b ", corev1.ConditionTrue},
		"all run": {[4]corev1.ContainerState{exited(0, 0), running, running, running},
			"Running ready; init  0; proxy running; a running; b running", corev1.ConditionTrue},
		"a sidecar is down": {[4]corev1.ContainerState{exited(0, 0), crashed, running, running},
			"Running; init  0; proxy CrashLoopBackOff; a running; b running", corev1.ConditionTrue},
	} {
		t.Run(name, func(t *testing.T) {
			status := initialStatus(spec, metav1.Now())
			all := []*corev1.ContainerStatus{&status.InitContainerStatuses[0], &status.InitContainerStatuses[1],
				&status.ContainerStatuses[0], &status.ContainerStatuses[1]}
			for i, s := range all {
				if tt.states[i] == crashed {
					setState(s, exited(1, 0))
				}
				setState(s, tt.states[i])
			}
			settleStatus(spec, &status, metav1.Now())
			if diff := cmp.Diff(tt.want, state(&corev1.Pod{Status: status})); diff != "" {
				t.Errorf("pod (-want +got):\n%s", diff)
			}
			for _, c := range status.Conditions {
				if c.Type == corev1.PodInitialized && c.Status != tt.init {
					t.Errorf("Initialized is %s, want %s", c.Status, tt.init)
				}
			}
		})
	}
}
