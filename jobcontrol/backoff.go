package jobcontrol

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/jobwright/jobwright/podsort"
)

// Backoff is how long the replacement of a failed pod waits: Base after the
// first failure in a row, twice as long after each further one, at most Limit.
// Zero fields are 10 s and 10 min.
type Backoff struct{ Base, Limit time.Duration }

// after is the delay after this many failures in a row.
func (b Backoff) after(failures int) time.Duration {
	base, limit := orDefault(b.Base, 10*time.Second), orDefault(b.Limit, 10*time.Minute)
	if failures <= 0 {
		return 0
	}
	delay := base
	for range failures - 1 {
		if delay > limit/2 {
			return limit
		}
		delay *= 2
	}
	return min(delay, limit)
}

// Failures is what is remembered of the failures of a Job between its syncs, so
// that the next pod waits. The zero value remembers none.
type Failures struct {
	// SinceSuccess is the number of pods that failed after the last success.
	SinceSuccess int32
	// Last is when the last of them ended; zero when there is none.
	Last time.Time
}

// after returns what is to be remembered when these pods have ended too. A
// success makes the failures before it forgotten.
func (f Failures) after(succeeded, failed []*corev1.Pod) Failures {
	var success time.Time
	for _, pod := range succeeded {
		success = latest(success, podsort.FinishTime(pod))
		f = Failures{}
	}
	var last time.Time
	for _, pod := range failed {
		at := podsort.FinishTime(pod)
		if len(succeeded) > 0 && !at.After(success) {
			continue
		}
		f.SinceSuccess++
		last = latest(last, at)
		f.Last = last
	}
	return f
}

// PastFailures is what the pods of a Job tell of its failures so far: those that
// are counted already. It stands in for what a process has forgotten that was
// started anew.
func PastFailures(pods []*corev1.Pod, names Names) Failures {
	var succeeded, failed []*corev1.Pod
	for _, pod := range pods {
		switch {
		case slices.Contains(pod.Finalizers, names.finalizer()):
		case pod.Status.Phase == corev1.PodSucceeded:
			succeeded = append(succeeded, pod)
		case pod.Status.Phase == corev1.PodFailed:
			failed = append(failed, pod)
		}
	}
	return Failures{}.after(succeeded, failed)
}

// delay is how long the next pod has to wait from now. A failure that a node's
// clock puts into the future counts from now: no delay is longer than its due.
func (f Failures) delay(now time.Time, b Backoff) time.Duration {
	due := b.after(int(f.SinceSuccess))
	return min(max(0, due-now.Sub(f.Last)), due)
}
