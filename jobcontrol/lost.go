package jobcontrol

import (
	"context"
	"fmt"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
)

// lostAfter is how long a creation whose answer was lost may still be on its way:
// longer than an API server works for a client that has gone.
const lostAfter = 30 * time.Second

// findLost finds out whether creations have happened whose answers were lost. If
// none is still to be seen, none is expected any more. It returns the time after
// which to ask again; zero: nothing is lost, or the event that shows it will come.
func (c *Controller) findLost(ctx context.Context, key string, job *batchv1.Job, selector labels.Selector) (after time.Duration, err error) {
	lost := c.memory.lost(key)
	if c.cfg.PodFetcher == nil || lost.IsZero() {
		return 0, nil
	}
	if left := lostAfter - c.cfg.Clock.Now().Sub(lost); left > 0 {
		return min(left, lostAfter), nil
	}
	open, _ := c.expectations.Pending(job.UID)
	stored, err := c.cfg.PodFetcher.FetchPods(ctx, job.Namespace, selector)
	if err != nil {
		return 0, fmt.Errorf("pods of Job %s: %w", key, err)
	}
	cached, err := c.pods.PodsOf(job.Namespace, job.UID)
	if err != nil {
		return 0, fmt.Errorf("pods of Job %s: %w", key, err)
	}
	if !contains(cached, stored, job.UID) {
		return 0, nil
	}
	c.expectations.LowerCreations(job.UID, open)
	c.memory.find(key)
	// Not in this sync: an event may lag behind the cache, and would pass for one
	// of a pod created now.
	return time.Second, nil
}

// contains says whether the cache shows the stored pods of an owner.
func contains(cached, stored []*corev1.Pod, owner types.UID) bool {
	shown := byUID(cached)
	return !slices.ContainsFunc(stored, func(pod *corev1.Pod) bool {
		ref := metav1.GetControllerOfNoCopy(pod)
		return ref != nil && ref.UID == owner && shown[pod.UID] == nil
	})
}
