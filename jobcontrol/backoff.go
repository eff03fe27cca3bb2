package jobcontrol

import (
	"cmp"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobwright/jobwright/podsort"
)

// Backoff is how long the replacement of a failed pod waits: Base after the
// first failure in a row, twice as long after each further one, at most Limit.
// Zero fields are 10 s and 10 min.
type Backoff struct{ Base, Limit time.Duration }

// after is the delay after this many failures in a row.
func (b Backoff) after(failures int) time.Duration {
	base, limit := cmp.Or(b.Base, 10*time.Second), cmp.Or(b.Limit, 10*time.Minute)
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
	// Ahead is when pods were first seen to have ended whose own times lie
	// ahead of this clock: a node's clock is no reason to wait longer.
	Ahead map[types.UID]time.Time
	// Ignored are the pods counted here whose failure counts nowhere else, so
	// that no list in the status tells that they were seen.
	Ignored map[types.UID]struct{}
}

// after returns what is to be remembered when these pods have failed too, and
// others have succeeded, the last at that time; nil: none has. A success makes
// the failures before it forgotten.
func (f Failures) after(success *time.Time, failed []*corev1.Pod, now time.Time) Failures {
	if success != nil {
		f.SinceSuccess, f.Last = 0, time.Time{}
	}
	var last time.Time
	for _, pod := range failed {
		at := podsort.FinishTime(pod)
		if success != nil && !at.After(*success) {
			continue
		}
		f.SinceSuccess++
		last = latest(last, at)
		f.Last = earliest(last, now)
	}
	return f
}

// ended is when a pod ended, as far as this clock can believe it.
func (f Failures) ended(pod *corev1.Pod, now time.Time) time.Time {
	at := podsort.FinishTime(pod)
	if seen, ahead := f.Ahead[pod.UID]; ahead {
		return earliest(at, seen)
	}
	return earliest(at, now)
}

func earliest(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// PastFailures is what the pods of a Job tell of its failures so far: those that
// are counted or listed in its status, and not on their way out. It stands in for what a process has
// forgotten that was started anew.
func PastFailures(job *batchv1.Job, pods []*corev1.Pod, names Names, now time.Time) Failures {
	listed := readUncounted(job.Status.UncountedTerminatedPods)
	var success *time.Time
	var failed []*corev1.Pod
	for _, pod := range pods {
		held := slices.Contains(pod.Finalizers, names.finalizer())
		switch {
		case held && !listed.has(pod.UID):
		case !held && pod.DeletionTimestamp != nil: // let go to be deleted, which is no failure of its own
		case pod.Status.Phase == corev1.PodSucceeded:
			if success == nil {
				success = new(time.Time)
			}
			*success = latest(*success, podsort.FinishTime(pod))
		case pod.Status.Phase == corev1.PodFailed:
			failed = append(failed, pod)
		}
	}
	return Failures{}.after(success, failed, now)
}

// delay is how long the next pod has to wait from now: never longer than its
// due, whatever the clocks say.
func (f Failures) delay(now time.Time, b Backoff) time.Duration {
	due := b.after(int(f.SinceSuccess))
	return min(max(0, due-now.Sub(f.Last)), due)
}
