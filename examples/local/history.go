package main

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobwright/jobwright/jobcontrol"
)

// history is what happened in a run, with the times at which it was seen: those
// in the objects have whole seconds, too coarse for a picture. The zero time
// means not yet.
type history struct {
	job        *batchv1.Job // as it was submitted
	start, end time.Time
	pods       []*podHistory // in the order of their creation
	marks      []mark        // in the order of their time

	failedIndexes jobcontrol.Indexes // those that have failed for good
	suspended     bool
	byUID         map[types.UID]*podHistory
	attempts      map[int]int // the number of pods, by index
}

// name is the Job's, with its namespace.
func (h *history) name() string { return h.job.Namespace + "/" + h.job.Name }

// podHistory is when a pod entered which phase.
type podHistory struct {
	name                    string
	index                   int // completion index, of meaning if there is an attempt
	attempt                 int // of how many pods of its index it is the last; 0: it has no index
	created, running, ended time.Time
	phase                   corev1.PodPhase
	stopped                 bool   // its end was asked for: it is no failure of its own
	end                     string // how it ended, for a person
	action                  batchv1.PodFailurePolicyAction
	restarts                []time.Time // of any of its containers
}

// mark is a condition of the Job that became true, or the resumption of one
// that was suspended.
type mark struct {
	at              time.Time
	kind            batchv1.JobConditionType
	reason, message string
}

// resumed is the kind of a mark where the condition Suspended has become false.
const resumed batchv1.JobConditionType = "Resumed"

// counts are the pods of a run by where they are.
type counts struct{ active, succeeded, failed, stopped int }

func (n counts) String() string {
	s := fmt.Sprintf("%d succeeded, %d failed", n.succeeded, n.failed)
	if n.stopped > 0 {
		s += fmt.Sprintf(", %d stopped", n.stopped)
	}
	return s
}

func (h *history) counts() (n counts) {
	for _, p := range h.pods {
		switch {
		case p.stopped:
			n.stopped++
		case p.phase == corev1.PodSucceeded:
			n.succeeded++
		case p.phase == corev1.PodFailed:
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
		p = h.add(now, pod)
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
		p.stopped = pod.DeletionTimestamp != nil || pod.Status.Reason == reasonNodeStops
		if p.phase == corev1.PodFailed && !p.stopped {
			p.action = policyAction(h.job, pod)
		}
	case gone:
		p.phase, p.ended, p.end, found.ended = corev1.PodFailed, now, "removed", true
		p.stopped = true
	}
	return found
}

func (h *history) add(now time.Time, pod *corev1.Pod) *podHistory {
	if h.byUID == nil {
		h.byUID, h.attempts = make(map[types.UID]*podHistory), make(map[int]int)
	}
	p := &podHistory{name: pod.Name, created: now}
	if index, err := strconv.Atoi(pod.Annotations[batchv1.JobCompletionIndexAnnotation]); err == nil {
		h.attempts[index]++
		p.index, p.attempt = index, h.attempts[index]
	}
	h.byUID[pod.UID] = p
	h.pods = append(h.pods, p)
	return p
}

// observeJob returns the conditions of the Job that are new and true, or that
// it was resumed, and the indexes that have newly failed for good.
func (h *history) observeJob(now time.Time, job *batchv1.Job) (marks []mark, failed jobcontrol.Indexes) {
	known := len(h.marks)
	for _, c := range job.Status.Conditions {
		m := mark{at: now, kind: c.Type, reason: c.Reason, message: c.Message}
		holds := c.Status == corev1.ConditionTrue
		switch {
		case c.Type == batchv1.JobSuspended && holds == h.suspended:
			continue
		case c.Type == batchv1.JobSuspended:
			h.suspended = holds
			if !holds {
				m.kind = resumed
			}
		case !holds || h.marked(c.Type):
			continue
		}
		h.marks = append(h.marks, m)
	}
	if text := job.Status.FailedIndexes; text != nil {
		if indexes, err := jobcontrol.ParseIndexes(*text); err == nil { // as our own controller wrote it
			failed = indexes.Without(h.failedIndexes)
			h.failedIndexes = indexes
		}
	}
	return h.marks[known:], failed
}

func (h *history) marked(kind batchv1.JobConditionType) bool {
	return slices.ContainsFunc(h.marks, func(m mark) bool { return m.kind == kind })
}

// outcome is how the pod ended, with what its failure came to by the policies.
func (h *history) outcome(p *podHistory) string {
	switch {
	case p.action != "":
		return fmt.Sprintf("%s: %s", p.end, p.action)
	case p.phase == corev1.PodFailed && p.attempt > 0 && p.attempt == h.attempts[p.index] && h.failedIndexes.Has(p.index):
		return p.end + ": index failed"
	}
	return p.end
}

// verb is how the pod ended, in a word.
func (p *podHistory) verb() string {
	switch {
	case p.stopped:
		return "stopped"
	case p.phase == corev1.PodFailed:
		return "failed"
	}
	return "succeeded"
}

// label is what tells a pod from the others of its Job.
func (p *podHistory) label() string {
	if p.attempt == 0 {
		return p.name
	}
	return fmt.Sprintf("index %d, attempt %d", p.index, p.attempt)
}

// byIndex returns the pods by index, each index by attempt. Those without index
// come first and keep their order.
func (h *history) byIndex() []*podHistory {
	return slices.SortedStableFunc(slices.Values(h.pods), func(a, b *podHistory) int {
		return cmp.Or(cmp.Compare(a.index, b.index), cmp.Compare(a.attempt, b.attempt))
	})
}
