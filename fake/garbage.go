package fake

import (
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// CollectGarbage deletes every pod whose owners are all gone. The deletion of
// a Job needs no such pass, its pods are collected before the request returns;
// but a pod created for an owner that does not exist stays until this is
// called. Only what the Cluster stores exists: a pod owned by anything else is
// garbage.
func (c *Cluster) CollectGarbage() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, pod := range c.list(pods, "") {
		c.reap(pod)
	}
	c.collect()
}

// collect follows up on what was touched since it was last called, until that
// leads to no further change.
func (c *Cluster) collect() {
	for len(c.touched) > 0 {
		o := c.touched[0]
		c.touched = c.touched[1:]
		switch o := o.(type) {
		case *batchv1.Job:
			c.collectJob(o)
		case *corev1.Pod:
			// It may have been the last pod that its owner waited for.
			for _, ref := range o.OwnerReferences {
				if owner := c.owner(o, ref); owner != nil && foreground(owner) {
					c.finishForeground(owner)
				}
			}
		}
	}
}

// collectJob brings the pods of a changed Job to where its deletion wants them.
func (c *Cluster) collectJob(changed *batchv1.Job) {
	cur, ok := c.objects[keyOf(changed)]
	switch {
	case !ok:
		c.reapOwned(changed)
	case foreground(cur):
		c.reapOwned(changed)
		c.finishForeground(cur)
	case cur.GetDeletionTimestamp() != nil && slices.Contains(cur.GetFinalizers(), metav1.FinalizerOrphanDependents):
		for _, pod := range c.ownedBy(cur) {
			c.disown(pod, func(ref metav1.OwnerReference) bool { return ref.UID == cur.GetUID() })
		}
		c.unhold(cur, metav1.FinalizerOrphanDependents)
	}
}

func (c *Cluster) reapOwned(owner object) {
	for _, pod := range c.ownedBy(owner) {
		c.reap(pod)
	}
}

// reap deletes a pod that has owners, none of which stays. One that has another
// owner loses only the references to those that do not stay.
func (c *Cluster) reap(pod object) {
	leaves := func(ref metav1.OwnerReference) bool {
		owner := c.owner(pod, ref)
		return owner == nil || foreground(owner)
	}
	refs := pod.GetOwnerReferences()
	if pod.GetDeletionTimestamp() != nil || !slices.ContainsFunc(refs, leaves) {
		return
	}
	if slices.ContainsFunc(refs, func(ref metav1.OwnerReference) bool { return !leaves(ref) }) {
		c.disown(pod, leaves)
		return
	}
	c.remove(pod, gracePeriod(pod.(*corev1.Pod)))
}

// disown removes the owner references for which leaves is true.
func (c *Cluster) disown(pod object, leaves func(metav1.OwnerReference) bool) {
	next := copyOf(pod)
	next.SetOwnerReferences(slices.DeleteFunc(next.GetOwnerReferences(), leaves))
	c.commitInPlace(pod, next)
}

// finishForeground lets a Job in foreground deletion go when no pod blocks it.
func (c *Cluster) finishForeground(owner object) {
	for _, pod := range c.ownedBy(owner) {
		for _, ref := range pod.GetOwnerReferences() {
			if ref.UID == owner.GetUID() && ref.BlockOwnerDeletion != nil && *ref.BlockOwnerDeletion {
				return
			}
		}
	}
	c.unhold(owner, metav1.FinalizerDeleteDependents)
}

// unhold removes a finalizer.
func (c *Cluster) unhold(o object, finalizer string) {
	next := copyOf(o)
	next.SetFinalizers(slices.DeleteFunc(next.GetFinalizers(), func(f string) bool { return f == finalizer }))
	c.commitInPlace(o, next)
}

// owner is the stored object that a reference of the pod means, nil if there is
// none. Whatever kind the reference names, only a pod or a Job can be meant: a
// kind of the embedder's own is stored as a Job.
func (c *Cluster) owner(pod object, ref metav1.OwnerReference) object {
	resource := jobs
	if ref.Kind == "Pod" {
		resource = pods
	}
	owner := c.objects[key{resource: resource, namespace: pod.GetNamespace(), name: ref.Name}]
	if owner == nil || owner.GetUID() != ref.UID {
		return nil
	}
	return owner
}

// ownedBy is the pods with a reference to owner, by name.
func (c *Cluster) ownedBy(owner object) []object {
	return slices.DeleteFunc(c.list(pods, owner.GetNamespace()), func(pod object) bool {
		return !refersTo(pod, owner.GetUID())
	})
}

func refersTo(pod object, uid types.UID) bool {
	return slices.ContainsFunc(pod.GetOwnerReferences(), func(ref metav1.OwnerReference) bool { return ref.UID == uid })
}

// foreground says whether o waits for its dependents to be deleted.
func foreground(o object) bool {
	return o.GetDeletionTimestamp() != nil && slices.Contains(o.GetFinalizers(), metav1.FinalizerDeleteDependents)
}
