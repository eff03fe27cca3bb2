package jobcontrol

import (
	"context"
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// Expiry deletes Jobs that ended longer than ttlSecondsAfterFinished ago, for
// kinds whose cluster does not (KEP-592).
type Expiry interface {
	// DeleteJob deletes exactly this Job, by UID and resource version, in the
	// foreground: its pods go first. That it is gone already is success.
	DeleteJob(ctx context.Context, job *batchv1.Job) error
}

// ExpiresAt returns when a Job that has ended may be deleted. It is false for
// one that has not ended, has no ttlSecondsAfterFinished, or does not say when it
// ended.
func ExpiresAt(job *batchv1.Job) (time.Time, bool) {
	end := End(job)
	if job.Spec.TTLSecondsAfterFinished == nil || end == nil || end.LastTransitionTime.IsZero() {
		return time.Time{}, false
	}
	return end.LastTransitionTime.Add(seconds(int64(*job.Spec.TTLSecondsAfterFinished))), true
}

// expire deletes the Job if it has expired, else returns the time until then.
func (c *Controller) expire(ctx context.Context, job *batchv1.Job) (time.Duration, error) {
	at, expires := ExpiresAt(job)
	if c.cfg.Expiry == nil || !expires || job.DeletionTimestamp != nil {
		return 0, nil
	}
	if left := at.Sub(c.cfg.Clock.Now()); left > 0 {
		return left, nil
	}
	// The cache may be behind a change of the time to live.
	fresh, err := c.jobs.FetchJob(ctx, job.Namespace, job.Name)
	if apierrors.IsNotFound(err) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("expiry of Job %s/%s: %w", job.Namespace, job.Name, err)
	}
	at, expires = ExpiresAt(fresh)
	if fresh.UID != job.UID || fresh.DeletionTimestamp != nil || !expires {
		return 0, nil
	}
	if left := at.Sub(c.cfg.Clock.Now()); left > 0 {
		return left, nil
	}
	if c.cfg.BeforeExpiry != nil {
		if err := c.cfg.BeforeExpiry(ctx, fresh); err != nil {
			return 0, fmt.Errorf("expiry of Job %s/%s: %w", job.Namespace, job.Name, err)
		}
	}
	if err := c.cfg.Expiry.DeleteJob(ctx, fresh); err != nil {
		return 0, fmt.Errorf("expiry of Job %s/%s: %w", job.Namespace, job.Name, err)
	}
	return 0, nil
}
