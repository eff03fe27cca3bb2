package main

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/jobwright/jobwright/examples/controllerruntime/api/v1alpha1"
	"github.com/jobwright/jobwright/jobcontrol/kube"
)

// The handlers tell the Controller what the watches see. It notes which of its own
// calls it sees the outcome of, and then adds to the queue itself, so the queue that
// is given to a handler stays unused. For, Owns and EnqueueRequestForOwner would only
// do the second.

func runHandler(told kube.JobEvents) handler.TypedFuncs[*v1alpha1.TrainingRun, reconcile.Request] {
	type run = *v1alpha1.TrainingRun
	return handler.TypedFuncs[run, reconcile.Request]{
		CreateFunc: func(_ context.Context, e event.TypedCreateEvent[run], _ requestQueue) {
			told.JobAdded(jobOf(e.Object))
		},
		UpdateFunc: func(_ context.Context, e event.TypedUpdateEvent[run], _ requestQueue) {
			told.JobUpdated(jobOf(e.ObjectOld), jobOf(e.ObjectNew))
		},
		DeleteFunc: func(_ context.Context, e event.TypedDeleteEvent[run], _ requestQueue) {
			told.JobDeleted(jobOf(e.Object))
		},
	}
}

func podHandler(told kube.PodEvents) handler.TypedFuncs[*corev1.Pod, reconcile.Request] {
	type pod = *corev1.Pod
	return handler.TypedFuncs[pod, reconcile.Request]{
		CreateFunc: func(_ context.Context, e event.TypedCreateEvent[pod], _ requestQueue) {
			told.PodAdded(e.Object)
		},
		UpdateFunc: func(_ context.Context, e event.TypedUpdateEvent[pod], _ requestQueue) {
			told.PodUpdated(e.ObjectOld, e.ObjectNew)
		},
		DeleteFunc: func(_ context.Context, e event.TypedDeleteEvent[pod], _ requestQueue) {
			told.PodDeleted(e.Object)
		},
	}
}
