package jobcontrol

import batchv1 "k8s.io/api/batch/v1"

// isOurs says whether the Job is this Controller's: spec.managedBy names it.
// A Job without the field belongs to the controller built into Kubernetes
// (KEP-4368), and to whoever goes by its name.
func (c *Controller) isOurs(job *batchv1.Job) bool {
	return valueOr(job.Spec.ManagedBy, batchv1.JobControllerName) == c.cfg.Name
}
