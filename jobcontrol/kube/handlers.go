package kube

import (
	"fmt"
	"log/slog"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"
)

// JobEvents takes what an informer of Jobs has seen. *jobcontrol.Controller
// is one. The Jobs are shared: they must not be changed.
type JobEvents interface {
	JobAdded(job *batchv1.Job)
	JobUpdated(old, cur *batchv1.Job)
	JobDeleted(job *batchv1.Job)
}

// PodEvents takes what an informer of pods has seen. *jobcontrol.Controller
// is one. The pods are shared: they must not be changed.
type PodEvents interface {
	PodAdded(pod *corev1.Pod)
	PodUpdated(old, cur *corev1.Pod)
	PodDeleted(pod *corev1.Pod)
}

// JobHandler returns an event handler that any informer of Jobs takes.
//
// A tombstone, which an informer leaves when it missed a deletion, is passed
// on as a deletion of the Job as last seen; if that is lost too, of a Job that
// has the namespace and name of the tombstone's key and nothing else. What is
// not a Job is skipped with a warning to logger. A nil logger is silent.
func JobHandler(events JobEvents, logger *slog.Logger) cache.ResourceEventHandler {
	return handler[*batchv1.Job]{
		added:   events.JobAdded,
		updated: events.JobUpdated,
		deleted: events.JobDeleted,
		lost: func(key string) (*batchv1.Job, error) {
			namespace, name, err := cache.SplitMetaNamespaceKey(key)
			job := &batchv1.Job{}
			job.Namespace, job.Name = namespace, name
			return job, err
		},
		logger: logger,
	}
}

// PodHandler returns an event handler that any informer of pods takes.
//
// A tombstone, which an informer leaves when it missed a deletion, is passed
// on as a deletion of the pod as last seen; if that is lost too, nobody knows
// whose the pod was, and it is skipped. So is what is not a pod. Both with a
// warning to logger. A nil logger is silent.
func PodHandler(events PodEvents, logger *slog.Logger) cache.ResourceEventHandler {
	return handler[*corev1.Pod]{
		added:   events.PodAdded,
		updated: events.PodUpdated,
		deleted: events.PodDeleted,
		lost: func(key string) (*corev1.Pod, error) {
			return nil, fmt.Errorf("pod %s was deleted unseen and its last state is lost", key)
		},
		logger: logger,
	}
}

// handler turns the untyped calls of an informer into typed ones.
type handler[T any] struct {
	added   func(T)
	updated func(old, cur T)
	deleted func(T)
	// lost is the object to tell the deletion of when only its key is known.
	lost   func(key string) (T, error)
	logger *slog.Logger
}

func (h handler[T]) OnAdd(obj any, _ bool) {
	h.pass(obj, h.added)
}

func (h handler[T]) OnUpdate(old, cur any) {
	h.pass(old, func(old T) {
		h.pass(cur, func(cur T) { h.updated(old, cur) })
	})
}

func (h handler[T]) OnDelete(obj any) {
	tombstone, ok := obj.(cache.DeletedFinalStateUnknown)
	switch {
	case !ok:
		h.pass(obj, h.deleted)
	case tombstone.Obj != nil:
		h.pass(tombstone.Obj, h.deleted)
	default:
		last, err := h.lost(tombstone.Key)
		if err != nil {
			h.skip(err)
			return
		}
		h.deleted(last)
	}
}

// pass calls to with obj if it is a T. Anything else is a handler hung on the
// wrong informer or a transform that changes types: no reason to take the
// whole process down.
func (h handler[T]) pass(obj any, to func(T)) {
	typed, ok := obj.(T)
	if !ok {
		h.skip(fmt.Errorf("got %T, want %T", obj, typed))
		return
	}
	to(typed)
}

func (h handler[T]) skip(err error) {
	if h.logger != nil {
		h.logger.Warn("informer event skipped", "error", err)
	}
}
