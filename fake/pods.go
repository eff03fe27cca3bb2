package fake

import (
	"context"
	"encoding/json"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
)

// Create stores a copy of the pod and returns another one, with name, UID,
// generation, creation timestamp, resource version and phase Pending. As with
// an API server the status and the UID of the argument are not taken over.
// Whether its owner exists is not looked at: see CollectGarbage.
func (c *Cluster) Create(ctx context.Context, pod *corev1.Pod) (*corev1.Pod, error) {
	return as[*corev1.Pod](c.create(ctx, pod))
}

// UpdatePod replaces spec and metadata of a pod, never its status.
func (c *Cluster) UpdatePod(ctx context.Context, pod *corev1.Pod) (*corev1.Pod, error) {
	return as[*corev1.Pod](c.update(ctx, Update, pod))
}

// UpdatePodStatus replaces the status of a pod and nothing else.
func (c *Cluster) UpdatePodStatus(ctx context.Context, pod *corev1.Pod) (*corev1.Pod, error) {
	return as[*corev1.Pod](c.update(ctx, UpdateStatus, pod))
}

// FetchPod returns a copy of the pod as it is stored now.
func (c *Cluster) FetchPod(ctx context.Context, namespace, name string) (*corev1.Pod, error) {
	return as[*corev1.Pod](c.fetch(ctx, namedPod(namespace, name)))
}

// FetchPods returns copies of the pods of a namespace as they are stored now, of
// those that the selector matches, by name.
func (c *Cluster) FetchPods(ctx context.Context, namespace string, selector labels.Selector) ([]*corev1.Pod, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return slices.DeleteFunc(c.Pods(namespace), func(pod *corev1.Pod) bool {
		return !selector.Matches(labels.Set(pod.Labels))
	}), nil
}

// Delete deletes the pod gracefully. A pod that has a node and has not finished
// gets a deletion timestamp and stays for its grace period, here until
// RemovePod; any other goes at once. A finalizer holds it in any case. A pod
// that is gone, or whose name now belongs to another UID, is success.
func (c *Cluster) Delete(ctx context.Context, pod *corev1.Pod) error {
	return c.deletePod(ctx, pod, gracePeriod)
}

// RemovePod deletes the pod without grace, as the kubelet does once the
// containers have stopped. A finalizer still holds it. A pod that is gone, or
// whose name now belongs to another UID, is success.
func (c *Cluster) RemovePod(ctx context.Context, pod *corev1.Pod) error {
	return c.deletePod(ctx, pod, func(*corev1.Pod) int64 { return 0 })
}

func (c *Cluster) deletePod(ctx context.Context, pod *corev1.Pod, period func(*corev1.Pod) int64) error {
	if err := c.request(ctx, Delete, pod); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	cur, ok := c.objects[keyOf(pod)].(*corev1.Pod)
	if !ok || precondition(cur, pod.UID, "") != nil {
		return nil
	}
	c.remove(cur, period(cur))
	c.collect()
	return nil
}

// gracePeriod is how long a pod stays after a delete that names no period, in
// seconds.
func gracePeriod(pod *corev1.Pod) int64 {
	switch {
	case pod.Spec.NodeName == "",
		pod.Status.Phase == corev1.PodSucceeded,
		pod.Status.Phase == corev1.PodFailed:
		return 0
	case pod.Spec.TerminationGracePeriodSeconds == nil:
		return corev1.DefaultTerminationGracePeriodSeconds
	}
	// A negative period means the shortest there is, not none.
	if p := *pod.Spec.TerminationGracePeriodSeconds; p >= 0 {
		return p
	}
	return 1
}

// Patch applies a strategic merge patch to spec and metadata of the pod. A UID
// or resource version in the patch is a precondition: it fails with a conflict
// when it is not the one stored.
func (c *Cluster) Patch(ctx context.Context, pod *corev1.Pod, patch []byte) error {
	if err := c.request(ctx, Patch, pod); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	cur, ok := c.objects[keyOf(pod)].(*corev1.Pod)
	if !ok {
		return notFound(pod)
	}
	next, err := patched(cur, patch)
	if err != nil {
		return apierrors.NewBadRequest(err.Error())
	}
	if err := precondition(cur, next.UID, next.ResourceVersion); err != nil {
		return err
	}
	withStatus(next, cur)
	_, err = c.replace(cur, next)
	return err
}

func patched(cur *corev1.Pod, patch []byte) (*corev1.Pod, error) {
	before, err := json.Marshal(cur)
	if err != nil {
		return nil, err
	}
	after, err := strategicpatch.StrategicMergePatch(before, patch, corev1.Pod{})
	if err != nil {
		return nil, err
	}
	next := &corev1.Pod{}
	if err := json.Unmarshal(after, next); err != nil {
		return nil, err
	}
	// A list whose last item was removed is absent from what is stored, not empty.
	stored, err := asStored(next)
	return stored.(*corev1.Pod), err
}

func namedPod(namespace, name string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
}
