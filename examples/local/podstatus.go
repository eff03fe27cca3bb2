package main

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// isSidecar says whether an init container stays beside the containers.
func isSidecar(c *corev1.Container) bool {
	return c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways
}

// initialStatus is the status of a pod that has just come to this machine.
func initialStatus(spec *corev1.PodSpec, now metav1.Time) corev1.PodStatus {
	waiting := func(containers []corev1.Container, reason string) []corev1.ContainerStatus {
		statuses := make([]corev1.ContainerStatus, len(containers))
		for i, c := range containers {
			statuses[i] = corev1.ContainerStatus{
				Name: c.Name, Image: c.Image, Started: new(false),
				State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason}},
			}
		}
		return statuses
	}
	status := corev1.PodStatus{
		Phase:                 corev1.PodPending,
		StartTime:             &now,
		InitContainerStatuses: waiting(spec.InitContainers, "PodInitializing"),
		ContainerStatuses:     waiting(spec.Containers, "ContainerCreating"),
	}
	setPodCondition(&status, corev1.PodScheduled, true, "", now)
	return status
}

// settleStatus brings what follows from the container statuses in line with
// them: the conditions, and the phase of a pod that has not ended.
func settleStatus(spec *corev1.PodSpec, status *corev1.PodStatus, now metav1.Time) {
	initialized, ready, begun := true, true, false
	for i := range status.InitContainerStatuses {
		s := &status.InitContainerStatuses[i]
		if isSidecar(&spec.InitContainers[i]) {
			initialized = initialized && (s.Ready || s.LastTerminationState.Terminated != nil)
			ready = ready && s.Ready
		} else {
			initialized = initialized && s.State.Terminated != nil && s.State.Terminated.ExitCode == 0
		}
	}
	for i := range status.ContainerStatuses {
		s := &status.ContainerStatuses[i]
		ready = ready && s.Ready
		begun = begun || s.State.Waiting == nil || s.LastTerminationState.Terminated != nil
	}
	reason := ""
	switch {
	case status.Phase == corev1.PodSucceeded:
		ready, reason = false, "PodCompleted"
	case status.Phase == corev1.PodFailed:
		ready, reason = false, "PodFailed"
	case !ready:
		reason = "ContainersNotReady"
	}
	if begun && status.Phase == corev1.PodPending {
		status.Phase = corev1.PodRunning
	}
	setPodCondition(status, corev1.PodInitialized, initialized, "", now)
	setPodCondition(status, corev1.ContainersReady, ready, reason, now)
	setPodCondition(status, corev1.PodReady, ready, reason, now)
}

// setPodCondition keeps the time of a condition that does not turn.
func setPodCondition(status *corev1.PodStatus, kind corev1.PodConditionType, holds bool, reason string, now metav1.Time) {
	value := corev1.ConditionFalse
	if holds {
		value = corev1.ConditionTrue
	}
	for i := range status.Conditions {
		c := &status.Conditions[i]
		if c.Type == kind {
			if c.Status != value {
				c.LastTransitionTime = now
			}
			c.Status, c.Reason = value, reason
			return
		}
	}
	status.Conditions = append(status.Conditions,
		corev1.PodCondition{Type: kind, Status: value, Reason: reason, LastTransitionTime: now})
}

// setState puts a container into its next state; how it ended before is kept.
func setState(s *corev1.ContainerStatus, state corev1.ContainerState) {
	if s.State.Terminated != nil {
		s.LastTerminationState = s.State
	}
	s.State = state
	s.Ready = state.Running != nil
	s.Started = new(s.Ready)
}

func backOffStatus(s *corev1.ContainerStatus, delay time.Duration) {
	setState(s, corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{
		Reason:  "CrashLoopBackOff",
		Message: fmt.Sprintf("restarted %v after its end", delay),
	}})
}

// countStart counts a start that is not the first.
func countStart(s *corev1.ContainerStatus) {
	if s.State.Terminated != nil || s.LastTerminationState.Terminated != nil {
		s.RestartCount++
	}
}

func runningStatus(s *corev1.ContainerStatus, began metav1.Time) {
	countStart(s)
	setState(s, corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: began}})
}

// startErrorStatus: no process came to be. The exit code is the one that
// container runtimes give.
func startErrorStatus(s *corev1.ContainerStatus, at metav1.Time, err error) {
	countStart(s)
	setState(s, corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
		ExitCode: 128, Reason: "StartError", Message: err.Error(), StartedAt: at, FinishedAt: at,
	}})
}

func terminatedStatus(s *corev1.ContainerStatus, now metav1.Time, end exit) {
	reason := "Completed"
	if end.code != 0 {
		reason = "Error"
	}
	setState(s, corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
		ExitCode: end.code, Signal: end.signal, Reason: reason,
		StartedAt: s.State.Running.StartedAt, FinishedAt: now,
	}})
}
