package jobcontrol

import (
	"maps"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// NewPod returns the pod to create for a slot of the Job: the template's
// labels, annotations, finalizers and spec, and one controller reference to the
// Job as an object of kind owner. The API gives it its name. The pod is the
// caller's; it shares nothing with the Job.
func NewPod(job *batchv1.Job, owner schema.GroupVersionKind, _ Slot) *corev1.Pod {
	template := job.Spec.Template.DeepCopy()
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace:    job.Namespace,
			GenerateName: job.Name + "-",
			Labels:       template.Labels,
			Annotations:  template.Annotations,
			Finalizers:   template.Finalizers,
			OwnerReferences: append(template.OwnerReferences,
				*metav1.NewControllerRef(job, owner)),
		},
		Spec: template.Spec,
	}
	if job.Spec.Selector == nil {
		pod.Labels = podLabels(job)
	}
	return pod
}

// podLabels returns the template's labels and those that the API generates.
// The names without prefix are what selectors written before 1.27 ask for.
func podLabels(job *batchv1.Job) map[string]string {
	labels := maps.Clone(job.Spec.Template.Labels)
	if labels == nil {
		labels = make(map[string]string, 4)
	}
	labels[batchv1.ControllerUidLabel] = string(job.UID)
	labels[batchv1.JobNameLabel] = job.Name
	labels["controller-uid"] = string(job.UID)
	labels["job-name"] = job.Name
	return labels
}
