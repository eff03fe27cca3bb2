package main

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

func restartCount(pod *corev1.Pod) (n int32) {
	for _, s := range containerStatuses(pod) {
		n += s.RestartCount
	}
	return n
}

// hasStarted says whether a container, not counting init containers, ran.
func hasStarted(pod *corev1.Pod) bool {
	for _, s := range pod.Status.ContainerStatuses {
		if s.State.Waiting == nil || s.LastTerminationState.Terminated != nil {
			return true
		}
	}
	return false
}

func containerStatuses(pod *corev1.Pod) []corev1.ContainerStatus {
	all := make([]corev1.ContainerStatus, 0, len(pod.Status.InitContainerStatuses)+len(pod.Status.ContainerStatuses))
	return append(append(all, pod.Status.InitContainerStatuses...), pod.Status.ContainerStatuses...)
}

// describeEnd is how the containers of a pod ended: "exit code 1", or with
// several "main exit code 143 (signal 15)" for each; once one of them failed,
// those that did not are left out.
func describeEnd(pod *corev1.Pod) string {
	statuses := containerStatuses(pod)
	var ends []string
	if pod.Status.Reason != "" {
		ends = append(ends, pod.Status.Reason)
	}
	for i := range statuses {
		if t := statuses[i].State.Terminated; pod.Status.Phase == corev1.PodFailed && t != nil && t.ExitCode == 0 {
			continue
		}
		end := describeContainer(&statuses[i])
		if len(statuses) > 1 {
			end = statuses[i].Name + " " + end
		}
		ends = append(ends, end)
	}
	return strings.Join(ends, ", ")
}

// describeRestart is how those containers of a pod ended that were restarted.
func describeRestart(pod *corev1.Pod) string {
	var ends []string
	for _, s := range containerStatuses(pod) {
		if s.RestartCount > 0 {
			ends = append(ends, fmt.Sprintf("%s %s, restart %d", s.Name, describeContainer(&s), s.RestartCount))
		}
	}
	return strings.Join(ends, "; ")
}

// describeContainer is how a container ended, or how it last did.
func describeContainer(s *corev1.ContainerStatus) string {
	t := s.State.Terminated
	if t == nil {
		t = s.LastTerminationState.Terminated
	}
	switch {
	case t == nil:
		return "not started"
	case t.Signal != 0:
		return fmt.Sprintf("exit code %d (signal %d)", t.ExitCode, t.Signal)
	case t.Message != "":
		return fmt.Sprintf("exit code %d (%s)", t.ExitCode, t.Message)
	}
	return fmt.Sprintf("exit code %d", t.ExitCode)
}
