package jobcontrol

import (
	"cmp"
	"slices"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobwright/jobwright/podsort"
)

// failIndexes adds the indexes that have now failed for good, and finds the
// failed pods that must stay for their replacement (KEP-3850).
func (p *tracked) failIndexes(active *indexBits) {
	if p.spec.perIndex == nil {
		return
	}
	failures := p.trackedFailures()
	var failed []int
	for _, pod := range failures {
		if pod.index != noIndex && p.failsIndex(pod) {
			failed = append(failed, pod.index)
		}
	}
	p.failedIndexes = p.failedBefore.Union(indexesOf(failed)).Without(p.completed)
	p.findWaiting(failures, active)
}

// trackedFailures are the failed pods that still hold the finalizer.
func (p *tracked) trackedFailures() []endedPod {
	failures := slices.Clone(p.seen.failed)
	for _, pod := range p.seen.listed {
		if pod.failed {
			failures = append(failures, pod)
		}
	}
	return failures
}

// failsIndex says whether the failure of a pod is the last that its index has.
func (p *tracked) failsIndex(pod endedPod) bool {
	switch {
	case !pod.counted:
		return false
	case pod.ruling.action == batchv1.PodFailurePolicyActionFailIndex:
		return true
	}
	counted, _ := failuresBefore(pod.Pod, p.s.Names)
	return counted >= *p.spec.perIndex
}

// judgeFailedIndexes returns why failed indexes end the Job, or nil.
func (p *tracked) judgeFailedIndexes() *cause {
	failed := p.failedIndexes.Len()
	switch {
	case failed == 0:
		return nil
	case p.spec.maxFailedIndexes != nil && failed > int(*p.spec.maxFailedIndexes):
		return &cause{batchv1.JobReasonMaxFailedIndexesExceeded, "Job has exceeded the specified maximal number of failed indexes"}
	case failed+p.completed.Len() >= int(p.spec.completions):
		return &cause{batchv1.JobReasonFailedIndexes, "Job has failed indexes"}
	}
	return nil
}

// findWaiting finds, for each index that is neither decided nor at work, the
// failed pod whose counts its replacement takes over: it must not go before.
func (p *tracked) findWaiting(failures []endedPod, active *indexBits) {
	for _, pod := range failures {
		if pod.index == noIndex || active.has(pod.index) || p.completed.Has(pod.index) || p.failedIndexes.Has(pod.index) {
			continue
		}
		if p.waiting == nil {
			p.waiting = make(map[int]endedPod)
		}
		if last, ok := p.waiting[pod.index]; !ok || p.compareFailures(last, pod) < 0 {
			p.waiting[pod.index] = pod
		}
	}
}

// compareFailures puts the pod last whose failure is its index's latest.
func (p *tracked) compareFailures(a, b endedPod) int {
	return cmp.Or(
		cmp.Compare(p.failuresOf(a), p.failuresOf(b)),
		podsort.FinishTime(a.Pod).Compare(podsort.FinishTime(b.Pod)),
		strings.Compare(string(a.UID), string(b.UID)),
	)
}

// failuresOf is how often the index of a failed pod has failed, ignored or not.
func (p *tracked) failuresOf(pod endedPod) int32 {
	counted, ignored := failuresBefore(pod.Pod, p.s.Names)
	return counted + ignored + 1
}

// handOver returns the failure counts of the pod that replaces this one.
func (p *tracked) handOver(pod endedPod) (counted, ignored int32) {
	counted, ignored = failuresBefore(pod.Pod, p.s.Names)
	if pod.counted {
		return counted + 1, ignored
	}
	return counted, ignored + 1
}

// indexDelay is how long the next pod of an index has to wait.
func (p *tracked) indexDelay(index int) time.Duration {
	pod, ok := p.waiting[index]
	if !ok {
		return 0
	}
	f := Failures{SinceSuccess: p.failuresOf(pod), Last: p.s.Failures.ended(pod.Pod, p.s.Now)}
	return f.delay(p.s.Now, p.s.Backoff)
}

// ahead is what is remembered of the waiting pods whose times lie ahead.
func (p *tracked) ahead() map[types.UID]time.Time {
	var ahead map[types.UID]time.Time
	for _, pod := range p.waiting {
		if !podsort.FinishTime(pod.Pod).After(p.s.Now) {
			continue
		}
		if ahead == nil {
			ahead = make(map[types.UID]time.Time)
		}
		ahead[pod.UID] = p.s.Failures.ended(pod.Pod, p.s.Now)
	}
	return ahead
}
