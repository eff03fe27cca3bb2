package jobcontrol

import (
	"context"
	"encoding/json"
	"fmt"

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

// claim returns the pods that the Job controls, after it has adopted and
// released what it must.
func (c *Controller) claim(ctx context.Context, job *batchv1.Job, selector labels.Selector) ([]*corev1.Pod, error) {
	owned, err := c.pods.PodsOf(job.Namespace, job.UID)
	if err != nil {
		return nil, fmt.Errorf("pods of Job %s/%s: %w", job.Namespace, job.Name, err)
	}
	orphans, err := c.pods.OrphanPods(job.Namespace)
	if err != nil {
		return nil, fmt.Errorf("pods without owner in %s: %w", job.Namespace, err)
	}
	claims := sortClaims(job, selector, owned, orphans)
	if len(claims.adopt) > 0 {
		if err := c.mayAdopt(ctx, job); err != nil {
			return nil, err
		}
	}
	adopted, err := c.patchAll(ctx, claims.adopt, "adopt", func(pod *corev1.Pod) []byte {
		return adoptionPatch(job, c.cfg.Owner, c.finalizer(), pod.UID)
	})
	if err != nil {
		return nil, err
	}
	if _, err := c.patchAll(ctx, claims.release, "release", func(pod *corev1.Pod) []byte {
		return releasePatch(job.UID, c.finalizer(), pod.UID)
	}); err != nil {
		return nil, err
	}
	for _, pod := range adopted {
		claims.keep = append(claims.keep, c.asAdopted(job, pod))
	}
	return claims.keep, nil
}

// asAdopted is the pod as the patch has made it: the cache shows it so later.
func (c *Controller) asAdopted(job *batchv1.Job, pod *corev1.Pod) *corev1.Pod {
	pod = pod.DeepCopy()
	pod.OwnerReferences = append(pod.OwnerReferences, *metav1.NewControllerRef(job, c.cfg.Owner))
	pod.Finalizers = append(pod.Finalizers, c.finalizer()...)
	return pod
}

// mayAdopt reads the Job where it is stored: a cache may show a Job that was
// deleted since, and what it adopts would be deleted with it.
func (c *Controller) mayAdopt(ctx context.Context, job *batchv1.Job) error {
	fresh, err := c.jobs.FetchJob(ctx, job.Namespace, job.Name)
	switch {
	case err != nil:
		return fmt.Errorf("adoption by Job %s/%s: %w", job.Namespace, job.Name, err)
	case fresh.UID != job.UID:
		return fmt.Errorf("adoption by Job %s/%s: it was recreated, UID %s is now %s", job.Namespace, job.Name, job.UID, fresh.UID)
	case fresh.DeletionTimestamp != nil:
		return fmt.Errorf("adoption by Job %s/%s: it is being deleted", job.Namespace, job.Name)
	}
	return nil
}

// patchAll patches the pods and returns those that took the patch. A pod that
// is gone, or that found another controller meanwhile, is left out: the event
// that says so comes by itself.
func (c *Controller) patchAll(ctx context.Context, pods []*corev1.Pod, verb string, patch func(*corev1.Pod) []byte) ([]*corev1.Pod, error) {
	gone := make([]bool, len(pods))
	err := c.inParallel(ctx, len(pods), func(ctx context.Context, i int) error {
		err := c.control.Patch(ctx, pods[i], patch(pods[i]))
		if apierrors.IsNotFound(err) || apierrors.IsInvalid(err) {
			gone[i] = true
			return nil
		}
		if err != nil {
			return fmt.Errorf("%s pod %s/%s: %w", verb, pods[i].Namespace, pods[i].Name, err)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	var patched []*corev1.Pod
	for i, pod := range pods {
		if !gone[i] {
			patched = append(patched, pod)
		}
	}
	return patched, nil
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

func releaseFinalizerPatch(pod types.UID, finalizer string) []byte {
	return patchMetadata{UID: pod, RemovedFinalizers: []string{finalizer}}.bytes()
}
