package fake

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apimachinery/pkg/watch"
)

// create stores a new object and returns a copy.
func (c *Cluster) create(ctx context.Context, given object) (object, error) {
	if err := c.request(ctx, Create, given); err != nil {
		return nil, err
	}
	o, err := asStored(given)
	if err != nil {
		return nil, err
	}
	if o.GetResourceVersion() != "" {
		return nil, apierrors.NewBadRequest("metadata.resourceVersion of an object to create must be empty")
	}

	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ending[o.GetNamespace()] {
		return nil, terminating(o)
	}
	bare(o)
	c.fill(o)
	if errs := validation.ValidateObjectMetaAccessor(o, true, validation.NameIsDNSSubdomain, field.NewPath("metadata")); len(errs) > 0 {
		return nil, apierrors.NewInvalid(kindOf(o), o.GetName(), errs)
	}
	if _, taken := c.objects[keyOf(o)]; taken {
		return nil, alreadyExists(o)
	}
	c.commit(watch.Added, nil, o)
	return copyOf(o), nil
}

// update replaces what verb is about: the status, or all but the status.
func (c *Cluster) update(ctx context.Context, verb Verb, given object) (object, error) {
	if err := c.request(ctx, verb, given); err != nil {
		return nil, err
	}
	next, err := asStored(given)
	if err != nil {
		return nil, err
	}

	c.mu.Lock()
	defer c.mu.Unlock()
	cur, ok := c.objects[keyOf(next)]
	if !ok {
		return nil, notFound(next)
	}
	if err := precondition(cur, next.GetUID(), next.GetResourceVersion()); err != nil {
		return nil, err
	}
	if verb == UpdateStatus {
		status := next
		if err := c.checkStatus(cur, status); err != nil {
			return nil, err
		}
		next = copyOf(cur)
		withStatus(next, status)
	} else {
		withStatus(next, cur)
	}
	return c.replace(cur, next)
}

// fetch returns a copy of what is stored under the key of o.
func (c *Cluster) fetch(ctx context.Context, o object) (object, error) {
	if err := c.request(ctx, Fetch, o); err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	cur, ok := c.objects[keyOf(o)]
	if !ok {
		return nil, notFound(o)
	}
	return copyOf(cur), nil
}

// replace puts next in the place of cur and returns a copy. The metadata that
// belongs to the system is kept. Nothing happens when nothing changes; a
// deleting object that nothing holds any more goes.
func (c *Cluster) replace(cur, next object) (object, error) {
	keepSystemMetadata(next, cur)
	if errs := validation.ValidateObjectMetaAccessorUpdate(next, cur, field.NewPath("metadata")); len(errs) > 0 {
		return nil, apierrors.NewInvalid(kindOf(next), next.GetName(), errs)
	}
	if equality.Semantic.DeepEqual(cur, next) {
		return copyOf(cur), nil
	}
	if !equality.Semantic.DeepEqual(specOf(cur), specOf(next)) {
		next.SetGeneration(cur.GetGeneration() + 1)
	}
	c.commitInPlace(cur, next)
	c.collect()
	return copyOf(next), nil
}

// commitInPlace commits next in the place of cur: as its end when it is
// deleting and nothing holds it any more.
func (c *Cluster) commitInPlace(cur, next object) {
	event := watch.Modified
	if next.GetDeletionTimestamp() != nil && len(next.GetFinalizers()) == 0 && grace(next) == 0 {
		event = watch.Deleted
	}
	c.commit(event, cur, next)
}

// remove deletes cur with a grace period in seconds; finalizers are added to
// hold it. One that is deleting already can only be given a shorter period.
func (c *Cluster) remove(cur object, period int64, finalizers ...string) {
	next := copyOf(cur)
	for _, f := range finalizers {
		if !slices.Contains(next.GetFinalizers(), f) {
			next.SetFinalizers(append(next.GetFinalizers(), f))
		}
	}
	if period == 0 && len(next.GetFinalizers()) == 0 {
		c.commit(watch.Deleted, cur, next)
		return
	}
	deleting := cur.GetDeletionTimestamp() != nil
	if !deleting {
		next.SetGeneration(cur.GetGeneration() + 1)
	}
	if !deleting || period < grace(cur) {
		at := metav1.NewTime(c.now().Add(time.Duration(period) * time.Second))
		next.SetDeletionTimestamp(&at)
		next.SetDeletionGracePeriodSeconds(&period)
	}
	if !equality.Semantic.DeepEqual(cur, next) {
		c.commit(watch.Modified, cur, next)
	}
}

// commit makes o, which took the place of old if that is not nil, what is
// stored, and tells the views.
func (c *Cluster) commit(event watch.EventType, old, o object) {
	c.version++
	o.SetResourceVersion(strconv.FormatInt(c.version, 10))
	if event == watch.Deleted {
		delete(c.objects, keyOf(o))
	} else {
		c.objects[keyOf(o)] = o
	}
	if old != nil {
		c.touched = append(c.touched, old)
	}
	for _, v := range c.views {
		v.enqueue(eventOf(event, o))
	}
}

// fill gives a new object what the system provides, where it is missing.
func (c *Cluster) fill(o object) {
	for o.GetName() == "" && o.GetGenerateName() != "" {
		c.names++
		prefix := o.GetGenerateName()
		o.SetName(fmt.Sprintf("%s%05d", prefix[:min(len(prefix), maxPrefix)], c.names))
		if _, taken := c.objects[keyOf(o)]; taken {
			o.SetName("")
		}
	}
	if o.GetUID() == "" {
		c.uids++
		o.SetUID(types.UID(fmt.Sprintf("uid-%05d", c.uids)))
	}
	if created := o.GetCreationTimestamp(); created.IsZero() {
		o.SetCreationTimestamp(metav1.NewTime(c.now()))
	}
	if o.GetGeneration() == 0 {
		o.SetGeneration(1)
	}
	if pod, ok := o.(*corev1.Pod); ok && pod.Status.Phase == "" {
		pod.Status.Phase = corev1.PodPending
	}
}

// maxPrefix is the part of a generateName that is kept, so that the name of a
// pod still fits a label value.
const maxPrefix = 58

// now is the time of a timestamp in metadata, which has whole seconds.
func (c *Cluster) now() time.Time {
	return c.clock.Now().Truncate(time.Second)
}

// bare takes from an object to create what a create does not take over.
func bare(o object) {
	o.SetUID("")
	o.SetCreationTimestamp(metav1.Time{})
	o.SetDeletionTimestamp(nil)
	o.SetDeletionGracePeriodSeconds(nil)
	o.SetGeneration(0)
	switch o := o.(type) {
	case *batchv1.Job:
		o.Status = batchv1.JobStatus{}
	case *corev1.Pod:
		o.Status = corev1.PodStatus{}
	}
}

func keepSystemMetadata(o, from object) {
	o.SetUID(from.GetUID())
	o.SetResourceVersion(from.GetResourceVersion())
	o.SetGeneration(from.GetGeneration())
	o.SetCreationTimestamp(from.GetCreationTimestamp())
	o.SetDeletionTimestamp(from.GetDeletionTimestamp())
	o.SetDeletionGracePeriodSeconds(from.GetDeletionGracePeriodSeconds())
}

// precondition holds a UID and a resource version, where given, against what is
// stored.
func precondition(cur object, uid types.UID, version string) error {
	if uid != "" && uid != cur.GetUID() {
		return conflict(cur, "uid", string(uid), string(cur.GetUID()))
	}
	if version != "" && version != cur.GetResourceVersion() {
		return conflict(cur, "resourceVersion", version, cur.GetResourceVersion())
	}
	return nil
}

// grace is the grace period that a deleting object has left, in seconds.
func grace(o object) int64 {
	if period := o.GetDeletionGracePeriodSeconds(); period != nil {
		return *period
	}
	return 0
}

func terminating(o object) error {
	err := apierrors.NewForbidden(resourceOf(o), o.GetName(),
		errors.New("unable to create new content in namespace "+o.GetNamespace()+" because it is being terminated"))
	err.ErrStatus.Details.Causes = append(slices.Clone(err.ErrStatus.Details.Causes), metav1.StatusCause{
		Type:    corev1.NamespaceTerminatingCause,
		Message: "namespace " + o.GetNamespace() + " is being terminated",
		Field:   "metadata.namespace",
	})
	return err
}
