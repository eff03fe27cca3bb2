package kube

import (
	"context"
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/jobwright/jobwright/jobcontrol"
)

// Expiry is a jobcontrol.Expiry over a clientset. It holds no state and is safe
// for concurrent use. Clusters delete expired Jobs by themselves; it is for those
// whose controller for that is switched off, and for tests.
type Expiry struct {
	client kubernetes.Interface
}

var _ jobcontrol.Expiry = (*Expiry)(nil)

// NewExpiry returns an Expiry that deletes through client.
func NewExpiry(client kubernetes.Interface) *Expiry {
	return &Expiry{client: client}
}

// DeleteJob asks for the deletion of the Job in the foreground: its pods go
// first. That it is gone, or that its name is another Job's by now, is success.
// One that has changed since it was read is left alone, and that is a conflict:
// the change may be a longer time to live.
func (e *Expiry) DeleteJob(ctx context.Context, job *batchv1.Job) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	// A precondition that is empty is none.
	if job.UID == "" || job.ResourceVersion == "" {
		return fmt.Errorf("delete Job %s/%s: metadata.uid or metadata.resourceVersion is empty", job.Namespace, job.Name)
	}
	jobs, foreground := e.client.BatchV1().Jobs(job.Namespace), metav1.DeletePropagationForeground
	err := jobs.Delete(ctx, job.Name, metav1.DeleteOptions{
		PropagationPolicy: &foreground,
		Preconditions:     &metav1.Preconditions{UID: &job.UID, ResourceVersion: &job.ResourceVersion},
	})
	if apierrors.IsConflict(err) {
		if current, readErr := jobs.Get(ctx, job.Name, metav1.GetOptions{}); readErr == nil && current.UID != job.UID || apierrors.IsNotFound(readErr) {
			return nil
		}
	}
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}
