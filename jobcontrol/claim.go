package jobcontrol

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync/atomic"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
)

// claims are the pods that a Job has to do with, sorted by what is to be done.
type claims struct {
	keep    []*corev1.Pod // its own
	adopt   []*corev1.Pod // nobody's, and its selector matches
	release []*corev1.Pod // its own, but its selector no longer matches
}

// sortClaims decides by the controller reference's UID and the selector. A Job
// that is being deleted neither adopts nor releases, and nobody adopts a pod
// that is being deleted.
func sortClaims(job *batchv1.Job, selector labels.Selector, owned, orphans []*corev1.Pod) claims {
	c := claims{keep: make([]*corev1.Pod, 0, len(owned))}
	deleting := job.DeletionTimestamp != nil
	for _, pod := range owned {
		ref := metav1.GetControllerOfNoCopy(pod)
		switch {
		case ref == nil || ref.UID != job.UID:
		case selector.Matches(labels.Set(pod.Labels)):
			c.keep = append(c.keep, pod)
		case !deleting:
			c.release = append(c.release, pod)
		}
	}
	if deleting {
		return c
	}
	for _, pod := range orphans {
		if isOrphanOf(pod, selector) {
			c.adopt = append(c.adopt, pod)
		}
	}
	return c
}

// isOrphanOf says whether a Job with this selector may adopt the pod.
func isOrphanOf(pod *corev1.Pod, selector labels.Selector) bool {
	return metav1.GetControllerOfNoCopy(pod) == nil && pod.DeletionTimestamp == nil && selector.Matches(labels.Set(pod.Labels))
}

// claims sorts the pods that the caches have for the Job.
func (c *Controller) claims(job *batchv1.Job, selector labels.Selector) (claims, error) {
	owned, err := c.pods.PodsOf(job.Namespace, job.UID)
	if err != nil {
		return claims{}, fmt.Errorf("pods of Job %s/%s: %w", job.Namespace, job.Name, err)
	}
	orphans, err := c.pods.OrphanPods(job.Namespace)
	if err != nil {
		return claims{}, fmt.Errorf("pods without owner in %s: %w", job.Namespace, err)
	}
	return sortClaims(job, selector, owned, orphans), nil
}

// claim adopts and releases what it must, and says whether it adopted anything.
// Nothing is decided about a pod in the sync that adopts it: the cache does not
// show it as the Job's before its event, which wakes the Job.
func (c *Controller) claim(ctx context.Context, job *batchv1.Job, pods claims) (adopted bool, err error) {
	_, releaseErr := c.patchAll(ctx, pods.release, "release", func(pod *corev1.Pod) []byte {
		return releasePatch(job.UID, c.finalizer(), pod.UID)
	})
	if len(pods.adopt) == 0 {
		return false, releaseErr
	}
	if err := c.mayAdopt(ctx, job); err != nil {
		return false, errors.Join(err, releaseErr)
	}
	n, adoptErr := c.patchAll(ctx, pods.adopt, "adopt", func(pod *corev1.Pod) []byte {
		return adoptionPatch(job, c.cfg.Owner, c.finalizer(), pod.UID)
	})
	return n > 0, errors.Join(adoptErr, releaseErr)
}

// errOtherJob: the cache shows a Job that is not there any more.
var errOtherJob = errors.New("the cache is behind")

// mayAdopt reads the Job where it is stored: a cache may show a Job that was
// deleted since, and what it adopts would be deleted with it.
func (c *Controller) mayAdopt(ctx context.Context, job *batchv1.Job) error {
	fresh, err := c.jobs.FetchJob(ctx, job.Namespace, job.Name)
	switch {
	case apierrors.IsNotFound(err):
		return fmt.Errorf("adoption by Job %s/%s: %w: %w", job.Namespace, job.Name, errOtherJob, err)
	case err != nil:
		return fmt.Errorf("adoption by Job %s/%s: %w", job.Namespace, job.Name, err)
	case fresh.UID != job.UID:
		return fmt.Errorf("adoption by Job %s/%s: %w: UID %s is now %s", job.Namespace, job.Name, errOtherJob, job.UID, fresh.UID)
	case fresh.DeletionTimestamp != nil:
		return fmt.Errorf("adoption by Job %s/%s: %w: it is being deleted", job.Namespace, job.Name, errOtherJob)
	}
	return nil
}

// patchAll patches the pods, each whatever becomes of the others, and returns
// how many took the patch. A pod that is gone, or that found another controller
// meanwhile, is no error: the event that says so comes by itself.
func (c *Controller) patchAll(ctx context.Context, pods []*corev1.Pod, verb string, patch func(*corev1.Pod) []byte) (int, error) {
	var patched atomic.Int32
	err := c.inParallel(ctx, len(pods), func(ctx context.Context, i int) error {
		err := c.control.Patch(ctx, pods[i], patch(pods[i]))
		switch {
		case apierrors.IsNotFound(err) || apierrors.IsInvalid(err):
			return nil
		case err != nil:
			return fmt.Errorf("%s pod %s/%s: %w", verb, pods[i].Namespace, pods[i].Name, err)
		}
		patched.Add(1)
		return nil
	})
	return int(patched.Load()), err
}

// patch is a strategic merge patch on a pod's metadata. Its UID is a
// precondition: the API refuses it for any other pod of that name.
type patch struct {
	Metadata patchMetadata `json:"metadata"`
}

type patchMetadata struct {
	UID               types.UID `json:"uid"`
	OwnerReferences   []any     `json:"ownerReferences,omitempty"`
	Finalizers        []string  `json:"finalizers,omitempty"`
	RemovedFinalizers []string  `json:"$deleteFromPrimitiveList/finalizers,omitempty"`
}

func (m patchMetadata) bytes() []byte {
	b, err := json.Marshal(patch{m})
	if err != nil {
		panic(err) // strings and booleans only
	}
	return b
}

// finalizer is the finalizer of the Controller's pods, none in Recount.
func (c *Controller) finalizer() []string {
	if c.cfg.Accounting == Tracked {
		return []string{c.cfg.Names.finalizer()}
	}
	return nil
}

func adoptionPatch(job *batchv1.Job, owner schema.GroupVersionKind, finalizer []string, pod types.UID) []byte {
	return patchMetadata{UID: pod, OwnerReferences: []any{metav1.NewControllerRef(job, owner)}, Finalizers: finalizer}.bytes()
}

func releasePatch(job types.UID, finalizer []string, pod types.UID) []byte {
	ref := map[string]types.UID{"$patch": "delete", "uid": job}
	return patchMetadata{UID: pod, OwnerReferences: []any{ref}, RemovedFinalizers: finalizer}.bytes()
}

func untrackPatch(pod types.UID, finalizer string) []byte {
	return patchMetadata{UID: pod, RemovedFinalizers: []string{finalizer}}.bytes()
}
