package kube_test

import (
	"context"
	"log/slog"

	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"

	"github.com/jobwright/jobwright/jobcontrol"
	"github.com/jobwright/jobwright/jobcontrol/kube"
)

// runJobs hangs a Controller on the informers of a program that has some, and
// works until ctx ends. The other informers of the factory may run already.
func runJobs(ctx context.Context, client kubernetes.Interface, factory informers.SharedInformerFactory, events record.EventRecorder) error {
	jobs, pods := factory.Batch().V1().Jobs(), factory.Core().V1().Pods()
	podStore, err := kube.NewPodStore(pods.Informer().GetIndexer())
	if err != nil {
		return err
	}
	cfg := jobcontrol.Config{Logger: slog.Default(), Events: events}
	queue := kube.NewQueue("jobs", cfg)
	controller, err := jobcontrol.New(kube.NewJobStore(jobs.Lister(), client), podStore, kube.NewPodControl(client, events), queue, cfg)
	if err != nil {
		return err
	}
	jobsTold, err := jobs.Informer().AddEventHandler(kube.JobHandler(controller, cfg.Logger))
	if err != nil {
		return err
	}
	podsTold, err := pods.Informer().AddEventHandler(kube.PodHandler(controller, cfg.Logger))
	if err != nil {
		return err
	}
	factory.StartWithContext(ctx)
	if !cache.WaitFor(ctx, "", jobsTold.HasSyncedChecker(), podsTold.HasSyncedChecker()) {
		return context.Cause(ctx)
	}
	return controller.Run(ctx, 5)
}

func Example_informers() {
	var (
		ctx      context.Context // ends when the program is to stop
		client   kubernetes.Interface
		recorder record.EventRecorder
	)
	factory := informers.NewSharedInformerFactory(client, 0)
	if err := runJobs(ctx, client, factory, recorder); err != nil {
		slog.Error("Jobs are no longer controlled", "error", err)
	}
}
