// Package v1alpha1 has the Go types of training.example.com/v1alpha1, the API
// that ../customkind/crd.yaml defines.
package v1alpha1

import (
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/json"
)

// Group is the name of the API group.
const Group = "training.example.com"

// GroupVersion is the group and version of the types.
func GroupVersion() schema.GroupVersion {
	return schema.GroupVersion{Group: Group, Version: "v1alpha1"}
}

// AddToScheme makes the types known to a scheme.
func AddToScheme(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(GroupVersion(), &TrainingRun{}, &TrainingRunList{})
	metav1.AddToGroupVersion(scheme, GroupVersion())
	return nil
}

// TrainingRun is a pod for each of some workers, of which the first, the chief,
// decides: the run has succeeded when it has.
type TrainingRun struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec TrainingRunSpec `json:"spec"`
	// Status is that of the Job as which the run is shown to jobcontrol, which
	// remembers by it: none of it may be lost.
	Status batchv1.JobStatus `json:"status,omitempty"`
}

// TrainingRunSpec is what a run is to be.
type TrainingRunSpec struct {
	// Workers is the number of pods, each with an index of its own.
	Workers int32 `json:"workers"`
	// MaxRestarts is how many pods may fail and be replaced, all together.
	MaxRestarts *int32 `json:"maxRestarts,omitempty"`
	// Suspend says that the run is to have no pods for now.
	Suspend *bool `json:"suspend,omitempty"`
	// Template is the pod of each worker.
	Template PodTemplate `json:"template"`
}

// PodTemplate is a pod template that may turn out to be none: the schema leaves
// most of it open. Reading it never fails, for the error would be one of the whole
// list that it came with, and no run would be seen because of a bad one.
type PodTemplate struct {
	corev1.PodTemplateSpec `json:",inline"`
	// Unreadable is why the template could not be read; "": it was.
	Unreadable string `json:"-"`
}

// UnmarshalJSON reads the template, or why it cannot be read.
func (t *PodTemplate) UnmarshalJSON(text []byte) error {
	*t = PodTemplate{}
	if err := json.Unmarshal(text, &t.PodTemplateSpec); err != nil {
		t.Unreadable = err.Error()
	}
	return nil
}

// TrainingRunList is a list of runs.
type TrainingRunList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []TrainingRun `json:"items"`
}

// DeepCopyInto copies the run into out.
func (r *TrainingRun) DeepCopyInto(out *TrainingRun) {
	*out = *r
	r.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
	if r.Spec.MaxRestarts != nil {
		out.Spec.MaxRestarts = new(*r.Spec.MaxRestarts)
	}
	if r.Spec.Suspend != nil {
		out.Spec.Suspend = new(*r.Spec.Suspend)
	}
	r.Spec.Template.DeepCopyInto(&out.Spec.Template.PodTemplateSpec)
	r.Status.DeepCopyInto(&out.Status)
}

// DeepCopyObject is a runtime.Object's.
func (r *TrainingRun) DeepCopyObject() runtime.Object {
	out := &TrainingRun{}
	r.DeepCopyInto(out)
	return out
}

// DeepCopyObject is a runtime.Object's.
func (l *TrainingRunList) DeepCopyObject() runtime.Object {
	out := &TrainingRunList{TypeMeta: l.TypeMeta, Items: make([]TrainingRun, len(l.Items))}
	l.ListMeta.DeepCopyInto(&out.ListMeta)
	for i := range l.Items {
		l.Items[i].DeepCopyInto(&out.Items[i])
	}
	return out
}
