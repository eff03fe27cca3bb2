package kube_test

import (
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// newJob returns a Job with UID "uid-NAME" that selects app=NAME.
func newJob(name string, parallelism, completions int32) *batchv1.Job {
	labels := map[string]string{"app": name}
	return &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: types.UID("uid-" + name)},
		Spec: batchv1.JobSpec{
			Parallelism: &parallelism,
			Completions: &completions,
			Selector:    &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec: corev1.PodSpec{
					RestartPolicy: corev1.RestartPolicyNever,
					Containers:    []corev1.Container{{Name: "main", Image: "work"}},
				},
			},
		},
	}
}

// newPod returns a running pod with UID "uid-NAME" and the label app=APP. With
// owner not nil it is controlled by it, and tracked if that is a Job.
func newPod(name, app string, owner *metav1.OwnerReference) *corev1.Pod {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "ns",
			Name:      name,
			UID:       types.UID("uid-" + name),
			Labels:    map[string]string{"app": app},
		},
		Status: corev1.PodStatus{Phase: corev1.PodRunning},
	}
	if owner != nil {
		pod.OwnerReferences = []metav1.OwnerReference{*owner}
		if owner.Kind == "Job" {
			pod.Finalizers = []string{batchv1.JobTrackingFinalizer}
		}
	}
	return pod
}

// controlledBy is the reference that a pod of job carries.
func controlledBy(job *batchv1.Job) *metav1.OwnerReference {
	return metav1.NewControllerRef(job, batchv1.SchemeGroupVersion.WithKind("Job"))
}
