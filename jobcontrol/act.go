package jobcontrol

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	utilnet "k8s.io/apimachinery/pkg/util/net"

	"github.com/jobwright/jobwright/slowstart"
)

// act makes the calls of a decision. Expectations are raised before a call and
// lowered for each that failed or was skipped.
func (c *Controller) act(ctx context.Context, job *batchv1.Job, d Decision) Result {
	deleted, deleteErr := c.deletePods(ctx, job, d.Delete)
	created, createErr := c.createPods(ctx, job, d.Create)
	return Result{Deleted: deleted, Created: created, Err: errors.Join(deleteErr, createErr)}
}

func (c *Controller) deletePods(ctx context.Context, job *batchv1.Job, deletions []Deletion) ([]Call, error) {
	if len(deletions) == 0 {
		return nil, nil
	}
	uids := make([]types.UID, len(deletions))
	for i := range deletions {
		uids[i] = deletions[i].Pod.UID
	}
	c.expectations.ExpectDeletions(job.UID, uids...)
	calls := make([]Call, len(deletions))
	err := c.inParallel(ctx, len(deletions), func(ctx context.Context, i int) error {
		err := c.deletePod(ctx, job.UID, deletions[i])
		calls[i] = resultOf(err)
		return err
	})
	for i, call := range calls {
		if call != Done {
			c.expectations.DeletionObserved(job.UID, uids[i])
		}
	}
	c.observeEarly(job.Namespace, job.UID, uids)
	c.cfg.Metrics.deleted(calls)
	return calls, err
}

// deletePod deletes a pod, after its finalizer where it is not to be counted.
func (c *Controller) deletePod(ctx context.Context, job types.UID, d Deletion) error {
	if d.Untrack {
		if _, err := c.untrackPod(ctx, job, d.Pod); err != nil {
			return err
		}
	}
	if err := c.control.Delete(ctx, d.Pod); err != nil {
		return fmt.Errorf("delete pod %s/%s: %w", d.Pod.Namespace, d.Pod.Name, err)
	}
	return nil
}

// untrackPods removes the finalizer from the pods. A pod that is gone has none.
func (c *Controller) untrackPods(ctx context.Context, job types.UID, pods []Untracking) ([]Call, error) {
	if len(pods) == 0 {
		return nil, nil
	}
	calls := make([]Call, len(pods))
	err := c.inParallel(ctx, len(pods), func(ctx context.Context, i int) (err error) {
		calls[i], err = c.untrackPod(ctx, job, pods[i].Pod)
		return err
	})
	uids := make([]types.UID, len(pods))
	for i := range pods {
		uids[i] = pods[i].Pod.UID
	}
	c.observeEarly(pods[0].Pod.Namespace, job, uids)
	return calls, err
}

// untrackPod removes the finalizer from the pod, which the cache may show with
// it for a while yet.
func (c *Controller) untrackPod(ctx context.Context, job types.UID, pod *corev1.Pod) (Call, error) {
	c.untracked.expect(job, pod.UID)
	err := c.control.Patch(ctx, pod, untrackPatch(pod.UID, c.cfg.Names.finalizer()))
	if err == nil || apierrors.IsNotFound(err) {
		return Done, nil
	}
	c.untracked.observed(job, pod.UID)
	return resultOf(err), fmt.Errorf("remove finalizer of pod %s/%s: %w", pod.Namespace, pod.Name, err)
}

// observeEarly takes note of what the cache shows already. The event of a pod
// may have come between the reading of the pods and the noting of what is
// expected of it, and will not come again.
func (c *Controller) observeEarly(namespace string, job types.UID, uids []types.UID) {
	pods, err := c.pods.PodsOf(namespace, job)
	if err != nil {
		return // what is expected then ends by its age, or with the Job
	}
	shown := byUID(pods)
	for _, uid := range uids {
		pod := shown[uid]
		if pod == nil {
			c.untracked.observed(job, uid)
		}
		if pod == nil || pod.DeletionTimestamp != nil {
			c.expectations.DeletionObserved(job, uid)
		}
	}
}

func byUID(pods []*corev1.Pod) map[types.UID]*corev1.Pod {
	found := make(map[types.UID]*corev1.Pod, len(pods))
	for _, pod := range pods {
		found[pod.UID] = pod
	}
	return found
}

func (c *Controller) createPods(ctx context.Context, job *batchv1.Job, slots []Slot) ([]Call, error) {
	if len(slots) == 0 {
		return nil, nil
	}
	c.expectations.ExpectCreations(job.UID, len(slots))
	calls := make([]Call, len(slots))
	var namespaceEnds atomic.Bool
	started, err := slowstart.Run(ctx, len(slots), slowstart.Config{InFlight: c.cfg.MaxInFlight}, func(ctx context.Context, i int) error {
		_, err := c.control.Create(ctx, NewPod(job, c.cfg.Owner, c.cfg.Names, slots[i]))
		calls[i] = resultOf(err)
		if calls[i] == Refused {
			c.expectations.LowerCreations(job.UID, 1)
		}
		if apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) {
			namespaceEnds.Store(true)
		}
		if err != nil {
			return fmt.Errorf("create pod for Job %s/%s: %w", job.Namespace, job.Name, err)
		}
		return nil
	})
	c.expectations.LowerCreations(job.UID, len(slots)-started.Attempted)
	c.cfg.Metrics.created(calls)
	if slices.Contains(calls, Unknown) {
		c.memory.lose(keyOf(job.Namespace, job.Name), c.cfg.Clock.Now())
	}
	if namespaceEnds.Load() {
		// Nothing will be created there again: no retry, the Job goes next.
		c.cfg.Logger.Info("namespace is being deleted, no pods are created", "job", job.Namespace+"/"+job.Name)
		return calls, nil
	}
	return calls, err
}

// resultOf tells a refusal from a lost answer. A creation whose answer was lost
// may have happened: the pod then shows up as an event, or never.
func resultOf(err error) Call {
	switch {
	case err == nil:
		return Done
	case apierrors.IsTimeout(err), apierrors.IsServerTimeout(err),
		strings.Contains(err.Error(), "etcdserver: request timed out"), // comes as a plain 500
		errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled),
		utilnet.IsTimeout(err), utilnet.IsProbableEOF(err),
		utilnet.IsConnectionReset(err), utilnet.IsHTTP2ConnectionLost(err):
		return Unknown
	}
	return Refused
}

// inParallel makes n calls, each whatever becomes of the others, and returns
// their errors joined.
func (c *Controller) inParallel(ctx context.Context, n int, call func(context.Context, int) error) error {
	_, err := slowstart.Run(ctx, n, slowstart.Config{Initial: n, InFlight: c.cfg.MaxInFlight}, call)
	return err
}
