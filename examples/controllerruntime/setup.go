package main

import (
	"context"
	"log/slog"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/jobwright/jobwright/examples/controllerruntime/api/v1alpha1"
	"github.com/jobwright/jobwright/jobcontrol"
	"github.com/jobwright/jobwright/jobcontrol/kube"
)

// names are those on the pods of TrainingRuns.
func names() jobcontrol.Names {
	return jobcontrol.Names{Finalizer: v1alpha1.Group + "/pod-tracking", LabelPrefix: v1alpha1.Group + "/"}
}

// setUp adds a controller of TrainingRuns to the manager.
//
// The manager starts its workers when each watch has filled its cache and has told
// its handler all of it. jobcontrol relies on both: a pod from before that is told
// late would pass for one asked for.
func setUp(ctx context.Context, mgr manager.Manager) error {
	if err := mgr.GetFieldIndexer().IndexField(ctx, &corev1.Pod{}, ownerField, ownerValues); err != nil {
		return err
	}
	// For kube.PodControl, which knows about preconditions, patches and events of the owner.
	client, err := kubernetes.NewForConfigAndClient(mgr.GetConfig(), mgr.GetHTTPClient())
	if err != nil {
		return err
	}
	//lint:ignore SA1019 events of the newer API are merged when they differ in their message alone: which pod would be lost
	events := mgr.GetEventRecorderFor("trainingrun-controller")
	requests := newQueue("trainingrun")
	jobs := jobStore{cached: mgr.GetCache(), stored: mgr.GetAPIReader(), status: mgr.GetClient().Status()}
	podControl := kube.NewPodControl(client, events)
	jobController, err := jobcontrol.New(jobs, podStore{mgr.GetCache()}, podControl, queue{requests}, jobcontrol.Config{
		Owner:      v1alpha1.GroupVersion().WithKind("TrainingRun"),
		Names:      names(),
		Judgement:  jobcontrol.Judgement{Success: chiefDecides},
		Logger:     slog.Default(),
		Events:     events,
		PodFetcher: podControl,
	})
	if err != nil {
		return err
	}
	return builder.ControllerManagedBy(mgr).
		Named("trainingrun").
		WithOptions(controller.Options{
			MaxConcurrentReconciles: 5,
			NewQueue:                func(string, workqueue.TypedRateLimiter[reconcile.Request]) requestQueue { return requests },
		}).
		WatchesRawSource(source.Kind(mgr.GetCache(), &v1alpha1.TrainingRun{}, runHandler(jobController))).
		WatchesRawSource(source.Kind(mgr.GetCache(), &corev1.Pod{}, podHandler(jobController))).
		Complete(reconciler{jobController.Sync, queue{requests}})
}

// newQueue makes the queue of controller-runtime at once, not when the manager
// starts, so that there is one to build a jobcontrol.Controller on. Retries, which
// are for calls that failed, wait as long as those of kube.NewQueue.
func newQueue(name string) requestQueue {
	return priorityqueue.New(name, func(o *priorityqueue.Opts[reconcile.Request]) {
		o.RateLimiter = workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](time.Second, time.Minute)
	})
}
