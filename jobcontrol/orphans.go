package jobcontrol

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// orphans remembers, by key, the owners whose pods may still hold the finalizer
// although nobody will count them: Jobs that are gone. The empty UID stands for
// pods that nobody owns. Handlers note, the worker of the key cleans up.
type orphans struct {
	mu     sync.Mutex
	owners map[string][]types.UID
}

func (o *orphans) note(key string, owner types.UID) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.owners == nil {
		o.owners = make(map[string][]types.UID)
	}
	if !slices.Contains(o.owners[key], owner) {
		o.owners[key] = append(o.owners[key], owner)
	}
}

func (o *orphans) take(key string) []types.UID {
	o.mu.Lock()
	defer o.mu.Unlock()
	owners := o.owners[key]
	delete(o.owners, key)
	return owners
}

// noteOrphan notes a pod that holds the finalizer and whose owner is not there
// to remove it, as far as the cache knows. The worker looks again.
func (c *Controller) noteOrphan(pod *corev1.Pod, owner owner) {
	if c.cfg.Accounting != Tracked || !c.holds(pod) {
		return
	}
	if job, err := c.jobs.Job(pod.Namespace, owner.name); err != nil || c.isLost(job, owner.uid) {
		c.orphans.note(owner.key, owner.uid)
	}
}

// holds says whether the pod shows the finalizer.
func (c *Controller) holds(pod *corev1.Pod) bool {
	return slices.Contains(pod.Finalizers, c.cfg.Names.finalizer())
}

// isLost says whether the pods of this owner have nobody to count them, if job
// is what the owner's name stands for now. The pods of a Job that others manage
// are theirs; once that is gone nobody can tell whose it was, and any controller
// lets its pods go, as upstream does.
func (c *Controller) isLost(job *batchv1.Job, owner types.UID) bool {
	return job == nil || job.UID != owner || c.isOurs(job) && IsFinished(job)
}

// untrackOrphans removes the finalizer from the pods of the noted owners that
// are lost. The cache of the Jobs may be behind that of the pods, so each is
// looked for where it is stored.
func (c *Controller) untrackOrphans(ctx context.Context, key, namespace, name string) error {
	var errs []error
	for _, uid := range c.orphans.take(key) {
		if err := c.untrackOrphansOf(ctx, namespace, name, uid); err != nil {
			c.orphans.note(key, uid)
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

func (c *Controller) untrackOrphansOf(ctx context.Context, namespace, name string, owner types.UID) error {
	pods, err := c.podsOf(namespace, owner)
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(pods, c.holds) {
		return nil
	}
	if owner != "" {
		job, err := c.jobs.FetchJob(ctx, namespace, name)
		if err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("owner of pods, Job %s/%s: %w", namespace, name, err)
		}
		if err == nil && !c.isLost(job, owner) {
			return nil
		}
	}
	return c.untrackAll(ctx, owner, pods)
}

// podsOf returns the pods of an owner, in a slice of the caller's; of none, those
// that no Job may adopt.
func (c *Controller) podsOf(namespace string, owner types.UID) ([]*corev1.Pod, error) {
	if owner != "" {
		pods, err := c.pods.PodsOf(namespace, owner)
		return slices.DeleteFunc(slices.Clone(pods), func(pod *corev1.Pod) bool {
			_, ours := c.ownerOf(pod)
			return !ours
		}), err
	}
	pods, err := c.pods.OrphanPods(namespace)
	if err != nil {
		return nil, err
	}
	jobs, err := c.jobs.Jobs(namespace)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(slices.Clone(pods), func(pod *corev1.Pod) bool {
		return metav1.GetControllerOfNoCopy(pod) != nil || slices.ContainsFunc(jobs, func(job *batchv1.Job) bool {
			return !IsFinished(job) && c.mayAdoptPod(job, pod)
		})
	}), nil
}

// untrackAll removes the finalizer from those of the pods that hold it.
func (c *Controller) untrackAll(ctx context.Context, job types.UID, pods []*corev1.Pod) error {
	var held []Untracking
	for _, pod := range pods {
		if c.holds(pod) {
			held = append(held, Untracking{Pod: pod})
		}
	}
	_, err := c.untrackPods(ctx, job, held)
	return err
}

// afterEnd sees to what is left of a Job that has ended: pods that turned up
// late are untracked, and deleted if they live, for nothing they do counts.
func (c *Controller) afterEnd(ctx context.Context, job *batchv1.Job) error {
	if c.cfg.Accounting != Tracked {
		return nil
	}
	pods, err := c.podsOf(job.Namespace, job.UID)
	if err != nil {
		return fmt.Errorf("pods of Job %s/%s: %w", job.Namespace, job.Name, err)
	}
	untrackErr := c.untrackAll(ctx, job.UID, pods)
	alive := slices.DeleteFunc(pods, func(pod *corev1.Pod) bool { return !isActive(pod) })
	deleteErr := c.inParallel(ctx, len(alive), func(ctx context.Context, i int) error {
		return c.control.Delete(ctx, alive[i])
	})
	return errors.Join(untrackErr, deleteErr)
}
