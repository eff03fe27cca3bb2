package main

import (
	"fmt"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// history is what happened in a run, with the times at which it was seen: those
// in the objects have whole seconds, too coarse for a picture. The zero time
// means not yet.
type history struct {
	job        string // namespace/name
	start, end time.Time
	pods       []*podHistory // in the order of their creation
	marks      []mark        // in the order of their time

	byUID map[types.UID]*podHistory
}

// podHistory is when a pod entered which phase.
type podHistory struct {
	name                    string
	created, running, ended time.Time
	phase                   corev1.PodPhase
	end                     string      // how it ended, for a person
	restarts                []time.Time // of any of its containers
}

// mark is a condition of the Job that became true.
type mark struct {
	at              time.Time
	kind            batchv1.JobConditionType
	reason, message string
}

// counts are the pods of a run by where they are.
type counts struct{ active, succeeded, failed int }

func (h *history) counts() (n counts) {
	for _, p := range h.pods {
		switch p.phase {
		case corev1.PodSucceeded:
			n.succeeded++
		case corev1.PodFailed:
			n.failed++
		default:
			n.active++
		}
	}
	return n
}

// change is what observePod found new about a pod.
type change struct {
	pod       *podHistory
	restarted bool // one of its containers was started again
	ended     bool
}

// observePod notes what is new about a pod. gone says that it was removed: if it
// had not ended by then, that was its end.
func (h *history) observePod(now time.Time, pod *corev1.Pod, gone bool) change {
	p := h.byUID[pod.UID]
	if p == nil {
		p = &podHistory{name: pod.Name, created: now}
		if h.byUID == nil {
			h.byUID = make(map[types.UID]*podHistory)
		}
		h.byUID[pod.UID] = p
		h.pods = append(h.pods, p)
	}
	if !p.ended.IsZero() {
		return change{pod: p}
	}
	found := change{pod: p}
	for int(restartCount(pod)) > len(p.restarts) {
		p.restarts = append(p.restarts, now)
		found.restarted = true
	}
	if p.running.IsZero() && hasStarted(pod) {
		p.running = now
	}
	p.phase = pod.Status.Phase
	switch {
	case p.phase == corev1.PodSucceeded, p.phase == corev1.PodFailed:
		p.ended, p.end, found.ended = now, describeEnd(pod), true
	case gone:
		p.phase, p.ended, p.end, found.ended = corev1.PodFailed, now, "removed", true
	}
	return found
}

// observeJob returns the conditions of the Job that are new and true.
func (h *history) observeJob(now time.Time, job *batchv1.Job) []mark {
	known := len(h.marks)
	for _, c := range job.Status.Conditions {
		if c.Status == corev1.ConditionTrue && !h.marked(c.Type) {
			h.marks = append(h.marks, mark{at: now, kind: c.Type, reason: c.Reason, message: c.Message})
		}
	}
	return h.marks[known:]
}

func (h *history) marked(kind batchv1.JobConditionType) bool {
	for _, m := range h.marks {
		if m.kind == kind {
			return true
		}
	}
	return false
}

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
