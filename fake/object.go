package fake

import (
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// object is a *batchv1.Job or a *corev1.Pod. One that is stored is never
// changed again: a commit puts another in its place.
type object interface {
	metav1.Object
	runtime.Object
	Marshal() ([]byte, error)
	Unmarshal([]byte) error
}

// The resources of a Cluster.
const (
	jobs = "jobs"
	pods = "pods"
)

// key is where an object is stored.
type key struct{ resource, namespace, name string }

func keyOf(o object) key {
	return key{resource: resourceOf(o).Resource, namespace: o.GetNamespace(), name: o.GetName()}
}

func resourceOf(o object) schema.GroupResource {
	if _, ok := o.(*batchv1.Job); ok {
		return batchv1.Resource(jobs)
	}
	return corev1.Resource(pods)
}

func kindOf(o object) schema.GroupKind {
	if _, ok := o.(*batchv1.Job); ok {
		return schema.GroupKind{Group: batchv1.GroupName, Kind: "Job"}
	}
	return schema.GroupKind{Kind: "Pod"}
}

// asStored is a copy of o as a client would read it back: times in whole
// seconds, nothing empty that could be absent, no kind of its own.
func asStored(o object) (object, error) {
	var stored object = &corev1.Pod{}
	if _, ok := o.(*batchv1.Job); ok {
		stored = &batchv1.Job{}
	}
	data, err := o.Marshal()
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	if err := stored.Unmarshal(data); err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	return stored, nil
}

// specOf is the specification of o, to be compared.
func specOf(o object) any {
	if job, ok := o.(*batchv1.Job); ok {
		return job.Spec
	}
	return o.(*corev1.Pod).Spec
}

// withStatus replaces the status of o with that of from.
func withStatus(o, from object) {
	switch o := o.(type) {
	case *batchv1.Job:
		from.(*batchv1.Job).Status.DeepCopyInto(&o.Status)
	case *corev1.Pod:
		from.(*corev1.Pod).Status.DeepCopyInto(&o.Status)
	}
}

// copyOf is a copy of o that the receiver owns.
func copyOf(o object) object {
	return o.DeepCopyObject().(object)
}

func copies[T object](objects []object) []T {
	list := make([]T, 0, len(objects))
	for _, o := range objects {
		list = append(list, copyOf(o).(T))
	}
	return list
}

// as is the answer of a request with the type of its object. It is the zero
// value next to an error.
func as[T object](o object, err error) (T, error) {
	typed, _ := o.(T)
	return typed, err
}

func alreadyExists(o object) error {
	return apierrors.NewAlreadyExists(resourceOf(o), o.GetName())
}

func notFound(o object) error {
	return apierrors.NewNotFound(resourceOf(o), o.GetName())
}

func conflict(o object, field, given, stored string) error {
	return apierrors.NewConflict(resourceOf(o), o.GetName(),
		fmt.Errorf("metadata.%s is %s in the request and %s in what is stored", field, given, stored))
}
