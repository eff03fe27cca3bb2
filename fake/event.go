package fake

import (
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/watch"
)

// Handler is told of the changes that a View has seen. A
// *jobcontrol.Controller is one.
type Handler interface {
	JobAdded(job *batchv1.Job)
	JobUpdated(old, cur *batchv1.Job)
	JobDeleted(job *batchv1.Job)
	PodAdded(pod *corev1.Pod)
	PodUpdated(old, cur *corev1.Pod)
	PodDeleted(pod *corev1.Pod)
}

// Event is a watch event on its way to a View: of a Job or of a Pod, the other
// is nil. What it points to is read-only.
type Event struct {
	Type watch.EventType // watch.Added, watch.Modified or watch.Deleted
	Job  *batchv1.Job
	Pod  *corev1.Pod
}

// String is the event in the words of a failure message.
func (e Event) String() string {
	o := e.object()
	return fmt.Sprintf("%s %s %s/%s at %s", e.Type, kindOf(o).Kind, o.GetNamespace(), o.GetName(), o.GetResourceVersion())
}

// ForJob says whether the event is about a Job. It serves as the argument of
// DeliverIf and Drop, as ForPod does.
func ForJob(e Event) bool { return e.Job != nil }

// ForPod says whether the event is about a Pod.
func ForPod(e Event) bool { return e.Pod != nil }

func (e Event) object() object {
	if e.Job != nil {
		return e.Job
	}
	return e.Pod
}

// eventOf is an event with a copy of o.
func eventOf(t watch.EventType, o object) Event {
	e := Event{Type: t}
	switch o := copyOf(o).(type) {
	case *batchv1.Job:
		e.Job = o
	case *corev1.Pod:
		e.Pod = o
	}
	return e
}
