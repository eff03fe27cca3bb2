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
	began := c.clock.Now()
	defer func() { c.metrics.synced(c.clock.Now().Sub(began), err) }()

	namespace, name, err := splitKey(key)
	if err != nil {
		return Next{Forget: true}, err
	}
	job, err := c.jobs.Job(namespace, name)
	switch {
	case apierrors.IsNotFound(err):
		c.forget(key)
		return Next{Forget: true}, nil
	case err != nil:
		return Next{}, fmt.Errorf("read Job %s: %w", key, err)
	case IsFinished(job):
		c.forget(key)
		c.expectations.Forget(job.UID)
		return Next{Forget: true}, nil
	}
	if before := c.memory.begin(key, job.UID, began); before != "" {
		c.expectations.Forget(before)
		c.queue.Forget(key)
	}
	if c.memory.stale(key, job, began, c.patience) {
		return Next{}, nil // the event that shows the status we wrote brings us back
	}
	return c.syncJob(ctx, key, job)
}

// forget drops all that is kept for the Job that the key stood for.
func (c *Controller) forget(key string) {
	if uid := c.memory.drop(key); uid != "" {
		c.expectations.Forget(uid)
	}
}

func splitKey(key string) (namespace, name string, err error) {
	namespace, name, found := strings.Cut(key, "/")
	if !found || namespace == "" || name == "" || strings.Contains(name, "/") {
		return "", "", fmt.Errorf("%w: key %q is not namespace/name", ErrInvalid, key)
	}
	return namespace, name, nil
}

func (c *Controller) syncJob(ctx context.Context, key string, job *batchv1.Job) (Next, error) {
	spec, err := readSpec(job, c.accounting)
	if err != nil {
		c.event(job, Event{corev1.EventTypeWarning, "InvalidSpec", err.Error()})
		return Next{Forget: true}, err
	}
	snapshot := Snapshot{
		Job:        job,
		Satisfied:  c.expectations.Satisfied(job.UID), // read before the pods: what is seen since is in them
		Retries:    c.queue.NumRequeues(key),
		Accounting: c.accounting,
	}
	if snapshot.Pods, err = c.claim(ctx, job, spec.selector); err != nil {
		return Next{}, err
	}
	snapshot.Now = c.clock.Now()
	decision := plan(snapshot, spec)
	outcome := decision.Settle(c.act(ctx, job, decision))
	next := Next{After: outcome.Wake.After}
	if outcome.Status != nil {
		if err := c.writeStatus(ctx, key, job, outcome); err != nil {
			return next, errors.Join(err, outcome.Retry)
		}
	}
	next.Forget = outcome.Forget
	return next, outcome.Retry
}

// writeStatus writes the status and then tells of what became true by it.
func (c *Controller) writeStatus(ctx context.Context, key string, job *batchv1.Job, outcome Outcome) error {
	update := *job
	update.Status = *outcome.Status
	written, err := c.jobs.UpdateJobStatus(ctx, &update)
	if err != nil {
		return fmt.Errorf("write status of Job %s: %w", key, err)
	}
	c.memory.wrote(key, written, c.clock.Now())
	for _, e := range outcome.Events {
		c.event(job, e)
	}
	c.metrics.ended(outcome.Status)
	return nil
}

// event sends an event about the Job under the owner's kind.
func (c *Controller) event(job *batchv1.Job, e Event) {
	if c.events == nil {
		return
	}
	about := *job
	about.SetGroupVersionKind(c.owner)
	c.events.Event(&about, e.Type, e.Reason, e.Message)
}
