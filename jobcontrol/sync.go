package jobcontrol

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
)

// Next is what a sync asks of the queue.
type Next struct {
	// After is the time until the next sync if no event comes before; zero:
	// none is needed. It holds also beside an error.
	After time.Duration
	// Forget says that the queue's retries of the key start anew.
	Forget bool
}

// Sync brings the Job of a key ("namespace/name") one step on: it observes the
// Job and its pods in the caches, decides, acts, and writes the status. Run
// calls it; call it yourself from a reconciler that has a queue of its own, and
// do with Next and the error what that queue does for Requeue-After and errors.
//
// An error asks for another sync with back-off, except one that wraps
// ErrInvalid, which only a change of the Job mends. When ctx ends, nothing new
// is started, and what was done is accounted for as far as it can be.
func (c *Controller) Sync(ctx context.Context, key string) (next Next, err error) {
	began := c.cfg.Clock.Now()
	defer func() { c.cfg.Metrics.synced(c.cfg.Clock.Now().Sub(began), err) }()

	namespace, name, err := splitKey(key)
	if err != nil {
		return Next{Forget: true}, err
	}
	orphansErr := c.untrackOrphans(ctx, key, namespace, name)
	next, err = c.syncKey(ctx, key, namespace, name, began)
	if orphansErr == nil {
		return next, err
	}
	if errors.Is(err, ErrInvalid) {
		err = nil // it will be found again; the orphans are what a retry is for
	}
	return Next{After: next.After}, errors.Join(err, orphansErr)
}

// syncKey brings whatever the key stands for one step on.
func (c *Controller) syncKey(ctx context.Context, key, namespace, name string, began time.Time) (Next, error) {
	job, err := c.jobs.Job(namespace, name)
	switch {
	case apierrors.IsNotFound(err):
		c.forget(key)
		return Next{Forget: true}, nil
	case err != nil:
		return Next{}, fmt.Errorf("read Job %s: %w", key, err)
	case !c.isOurs(job):
		c.forget(key)
		return Next{Forget: true}, nil
	case IsFinished(job):
		c.forget(key)
		return c.syncFinished(ctx, job)
	}
	if before := c.memory.begin(key, job.UID); before != "" {
		c.forgetJob(before)
		c.queue.Forget(key)
	}
	next, err := c.syncUnfinished(ctx, key, job, began)
	if again := c.memory.end(key, c.cfg.Clock.Now()); again {
		next.After = sooner(next.After, c.cfg.BatchPeriod)
	}
	return next, err
}

// syncUnfinished brings a Job that has not ended one step on.
func (c *Controller) syncUnfinished(ctx context.Context, key string, job *batchv1.Job, began time.Time) (Next, error) {
	if c.memory.stale(key, job, began, c.cfg.Patience) {
		return Next{After: c.cfg.Patience}, nil // the event that shows the status we wrote comes sooner
	}
	next, err := c.syncJob(ctx, key, job)
	if errors.Is(err, ErrInvalid) {
		c.event(job, Event{corev1.EventTypeWarning, "InvalidJob", err.Error()})
		if letGoErr := c.letGo(ctx, job); letGoErr != nil {
			return Next{}, letGoErr
		}
		return Next{Forget: true}, err
	}
	return next, err
}

// letGo untracks the pods of a Job that cannot be worked on and is being
// deleted: nothing they do counts, and the Job waits for them to go.
func (c *Controller) letGo(ctx context.Context, job *batchv1.Job) error {
	if c.cfg.Accounting != Tracked || job.DeletionTimestamp == nil {
		return nil
	}
	pods, err := c.podsOf(job.Namespace, job.UID)
	if err != nil {
		return err
	}
	return c.untrackAll(ctx, job.UID, pods)
}

// forget drops all that is kept for the Job that the key stood for.
func (c *Controller) forget(key string) {
	if uid := c.memory.drop(key); uid != "" {
		c.forgetJob(uid)
	}
}

func (c *Controller) forgetJob(uid types.UID) {
	c.expectations.Forget(uid)
	c.untracked.forget(uid)
}

// syncFinished sees to what a Job that has ended leaves behind, and in the end
// to the Job itself.
func (c *Controller) syncFinished(ctx context.Context, job *batchv1.Job) (Next, error) {
	if err := c.afterEnd(ctx, job); err != nil {
		return Next{}, err
	}
	after, err := c.expire(ctx, job)
	return Next{After: after, Forget: err == nil}, err
}

func splitKey(key string) (namespace, name string, err error) {
	namespace, name, found := strings.Cut(key, "/")
	if !found || namespace == "" || name == "" || strings.Contains(name, "/") {
		return "", "", fmt.Errorf("%w: key %q is not namespace/name", ErrInvalid, key)
	}
	return namespace, name, nil
}

func (c *Controller) syncJob(ctx context.Context, key string, job *batchv1.Job) (Next, error) {
	spec, err := readSpec(job, c.cfg.Accounting, c.cfg.Names)
	if err != nil {
		return Next{}, err
	}
	snapshot := Snapshot{
		Job:        job,
		Satisfied:  c.expectations.Satisfied(job.UID), // read before the pods: what is seen since is in them
		Untracked:  c.untracked.of(job.UID),
		Retries:    c.queue.NumRequeues(key),
		Accounting: c.cfg.Accounting,
		Names:      c.cfg.Names,
		Backoff:    c.cfg.Backoff,
		Judgement:  c.cfg.Judgement,
	}
	var askAgain time.Duration
	if snapshot.Satisfied {
		c.memory.find(key)
	} else if askAgain, err = c.findLost(ctx, key, job, spec.selector); err != nil {
		return Next{}, err
	}
	pods, err := c.claims(job, spec.selector)
	if err != nil {
		return Next{}, err
	}
	adopted, claimErr := c.claim(ctx, job, pods)
	if adopted || errors.Is(claimErr, errOtherJob) {
		return Next{After: c.cfg.Patience}, claimErr // the event that shows it comes sooner
	}
	snapshot.Pods = pods.keep
	// A pod that is to be adopted is one not to create, until that is settled.
	snapshot.Satisfied = snapshot.Satisfied && !(claimErr != nil && len(pods.adopt) > 0)
	snapshot.Now = c.cfg.Clock.Now()
	failures, known := c.memory.failures(key)
	if !known {
		failures = PastFailures(job, snapshot.Pods, c.cfg.Names, snapshot.Now)
	}
	snapshot.Failures = failures
	decision, err := plan(snapshot, spec)
	if err != nil {
		return Next{}, err
	}
	next, err := c.carryOut(ctx, key, job, decision)
	if claimErr != nil { // one pod that cannot be patched does not hold up the others
		next.Forget, err = false, errors.Join(err, claimErr)
	}
	if !snapshot.Satisfied {
		next.After = sooner(next.After, c.cfg.Patience) // an event that never comes is not waited for any longer
	}
	next.After = sooner(next.After, askAgain)
	return next, err
}

// sooner returns the shorter of two waits, of which zero is none.
func sooner(a, b time.Duration) time.Duration {
	if a <= 0 || b <= 0 {
		return max(a, b)
	}
	return min(a, b)
}

// carryOut makes the calls of a decision, and writes what became of them: first
// the pods that ended, then, when they are untracked, their count.
func (c *Controller) carryOut(ctx context.Context, key string, job *batchv1.Job, d Decision) (Next, error) {
	result := c.act(ctx, job, d)
	interim := d.Interim(result)
	if interim.Status != nil {
		written, err := c.writeStatus(ctx, key, job, interim.Status, interim.Events)
		if err != nil {
			return Next{After: d.Settle(result).Wake.After}, errors.Join(err, result.Err)
		}
		job = written
	}
	c.memory.remember(key, interim.Failures)
	var err error
	result.Untracked, err = c.untrackPods(ctx, job.UID, interim.Untrack)
	result.Err = errors.Join(result.Err, err)

	outcome := d.Settle(result)
	next := Next{After: outcome.Wake.After}
	if outcome.Status != nil {
		if _, err := c.writeStatus(ctx, key, job, outcome.Status, outcome.Events); err != nil {
			return next, errors.Join(err, outcome.Retry)
		}
	}
	next.Forget = outcome.Forget
	return next, outcome.Retry
}

// writeStatus writes the status and then tells of what became true by it.
func (c *Controller) writeStatus(ctx context.Context, key string, job *batchv1.Job, status *batchv1.JobStatus, events []Event) (*batchv1.Job, error) {
	update := *job
	update.Status = *status
	written, err := c.jobs.UpdateJobStatus(ctx, &update)
	if err != nil {
		return nil, fmt.Errorf("write status of Job %s: %w", key, err)
	}
	c.memory.wrote(key, written, c.cfg.Clock.Now())
	for _, e := range events {
		c.event(job, e)
	}
	c.cfg.Metrics.ended(status)
	return written, nil
}

// event sends an event about the Job under the owner's kind.
func (c *Controller) event(job *batchv1.Job, e Event) {
	if c.cfg.Events == nil {
		return
	}
	about := *job
	about.SetGroupVersionKind(c.cfg.Owner)
	c.cfg.Events.Event(&about, e.Type, e.Reason, e.Message)
}
