package fake

import (
	"context"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// CreateJob stores a copy of the Job and returns another one, with name, UID,
// generation, creation timestamp and resource version. As with an API server
// the status and the UID of the argument are not taken over; unlike there,
// nothing in the spec is defaulted or checked (jobcontrol.Default defaults).
func (c *Cluster) CreateJob(ctx context.Context, job *batchv1.Job) (*batchv1.Job, error) {
	return as[*batchv1.Job](c.create(ctx, job))
}

// UpdateJob replaces spec and metadata of a Job, never its status. It fails
// with a conflict when UID or resource version are given and not those stored.
// A change of the spec raises the generation. Removing the last finalizer of a
// deleting Job makes it go.
func (c *Cluster) UpdateJob(ctx context.Context, job *batchv1.Job) (*batchv1.Job, error) {
	return as[*batchv1.Job](c.update(ctx, Update, job))
}

// UpdateJobStatus replaces the status of a Job and nothing else. It fails with
// a conflict when UID or resource version are given and not those stored, and
// as invalid when CheckStatus refuses the status, unless AnyStatus is set.
func (c *Cluster) UpdateJobStatus(ctx context.Context, job *batchv1.Job) (*batchv1.Job, error) {
	return as[*batchv1.Job](c.update(ctx, UpdateStatus, job))
}

// checkStatus refuses a status of a Job that the rules refuse. Pods have none.
func (c *Cluster) checkStatus(cur, next object) error {
	job, ok := cur.(*batchv1.Job)
	if !ok || c.AnyStatus {
		return nil
	}
	return CheckStatus(job, &next.(*batchv1.Job).Status)
}

// FetchJob returns a copy of the Job as it is stored now.
func (c *Cluster) FetchJob(ctx context.Context, namespace, name string) (*batchv1.Job, error) {
	return as[*batchv1.Job](c.fetch(ctx, namedJob(namespace, name)))
}

// DeleteJob deletes a Job, and its pods by the given propagation:
//
//   - Background: the Job goes at once, its pods are then deleted;
//   - Foreground: the Job stays, deleting, until the pods that block its
//     deletion are gone;
//   - Orphan: the pods stay and lose their reference to the Job.
//
// The empty propagation is Background. A finalizer holds the Job in any case.
func (c *Cluster) DeleteJob(ctx context.Context, namespace, name string, propagation metav1.DeletionPropagation) error {
	return c.deleteJob(ctx, namedJob(namespace, name), propagation)
}

// deleteJob deletes this Job: the one of its UID, as it is at its resource
// version, where given. One of another UID is another Job: this one is not there.
func (c *Cluster) deleteJob(ctx context.Context, job *batchv1.Job, propagation metav1.DeletionPropagation) error {
	if err := c.request(ctx, Delete, job); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	cur, ok := c.objects[keyOf(job)]
	if !ok || precondition(cur, job.UID, "") != nil {
		return notFound(job)
	}
	if err := precondition(cur, "", job.ResourceVersion); err != nil {
		return err
	}
	switch propagation {
	case metav1.DeletePropagationForeground:
		c.remove(cur, 0, metav1.FinalizerDeleteDependents)
	case metav1.DeletePropagationOrphan:
		c.remove(cur, 0, metav1.FinalizerOrphanDependents)
	default:
		c.remove(cur, 0)
	}
	c.collect()
	return nil
}

func namedJob(namespace, name string) *batchv1.Job {
	return &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
}
