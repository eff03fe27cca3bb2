package jobcontrol

import (
	"maps"
	"slices"
	"strconv"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// NewPod returns the pod to create for a slot of the Job: the template's
// labels, annotations, finalizers and spec, and one controller reference to the
// Job as an object of kind owner. The API completes its name. The pod is the
// caller's; it shares nothing with the Job.
//
// A pod of an Indexed Job has its index as annotation, as label, in its
// hostname, in its name, and in the environment of its containers (KEP-2214).
func NewPod(job *batchv1.Job, owner schema.GroupVersionKind, names Names, slot Slot) *corev1.Pod {
	template := job.Spec.Template.DeepCopy()
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace:       job.Namespace,
			GenerateName:    job.Name + "-",
			Labels:          template.Labels,
			Annotations:     template.Annotations,
			Finalizers:      template.Finalizers,
			OwnerReferences: append(template.OwnerReferences, *metav1.NewControllerRef(job, owner)),
		},
		Spec: template.Spec,
	}
	if job.Spec.Selector == nil {
		pod.Labels = podLabels(job, names)
	}
	if slot.Tracked && !slices.Contains(pod.Finalizers, names.finalizer()) {
		pod.Finalizers = append(pod.Finalizers, names.finalizer())
	}
	if valueOr(job.Spec.CompletionMode, batchv1.NonIndexedCompletion) == batchv1.IndexedCompletion {
		setIndex(pod, job.Name, names, slot)
	}
	return pod
}

// podLabels returns the template's labels and those that the API generates. The
// names without prefix are what selectors written before 1.27 ask for, of Jobs.
func podLabels(job *batchv1.Job, names Names) map[string]string {
	labels := maps.Clone(job.Spec.Template.Labels)
	put(&labels, names.controllerUID(), string(job.UID))
	put(&labels, names.jobName(), job.Name)
	if names.ofJobs() {
		put(&labels, "controller-uid", string(job.UID))
		put(&labels, "job-name", job.Name)
	}
	return labels
}

func put(m *map[string]string, key, value string) {
	if *m == nil {
		*m = make(map[string]string)
	}
	(*m)[key] = value
}

// maxPodNamePrefix is as much of a generated name as the API leaves to the
// caller: the rest of a DNS label is random.
const maxPodNamePrefix = 58

func setIndex(pod *corev1.Pod, jobName string, names Names, slot Slot) {
	index := strconv.Itoa(slot.Index)
	put(&pod.Annotations, names.completionIndex(), index)
	put(&pod.Labels, names.completionIndex(), index)
	if slot.PerIndex {
		put(&pod.Annotations, names.failureCount(), strconv.Itoa(int(slot.Failures)))
		if slot.IgnoredFailures > 0 {
			put(&pod.Annotations, names.ignoredFailureCount(), strconv.Itoa(int(slot.IgnoredFailures)))
		}
	}
	suffix := "-" + index
	pod.Spec.Hostname = jobName + suffix
	pod.GenerateName = jobName[:min(len(jobName), maxPodNamePrefix-len(suffix)-1)] + suffix + "-"
	for _, containers := range [][]corev1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		for i := range containers {
			setIndexVariable(&containers[i], names)
		}
	}
}

// setIndexVariable has the container find its index in its environment, by way
// of the label, unless the template has a variable of that name.
func setIndexVariable(c *corev1.Container, names Names) {
	const name = "JOB_COMPLETION_INDEX"
	if slices.ContainsFunc(c.Env, func(v corev1.EnvVar) bool { return v.Name == name }) {
		return
	}
	c.Env = append(c.Env, corev1.EnvVar{Name: name, ValueFrom: &corev1.EnvVarSource{
		FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.labels['" + names.completionIndex() + "']"},
	}})
}
