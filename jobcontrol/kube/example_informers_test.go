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

// runJobs works on Jobs until ctx ends, on the informers of a factory. That may
// be one that the program has and others use, and may be running; then its pods
// are trimmed only if nobody else needs what Trim leaves out.
func runJobs(ctx context.Context, client kubernetes.Interface, events record.EventRecorder) error {
	cfg := jobcontrol.Config{Name: "example.com/jobs", Logger: slog.Default(), Events: events}
	factory := informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithTransform(kube.Trim(cfg.Names)))
	queue := kube.NewQueue("jobs", cfg)
	defer queue.ShutDown()
	controller, told, err := kube.Wire(client, factory, queue, cfg)
	if err != nil {
		return err
	}
	// They outlast ctx: a sync under way must not decide from caches that stand still.
	informing, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	factory.StartWithContext(informing)
	if !cache.WaitFor(ctx, "", told...) {
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
	if err := runJobs(ctx, client, recorder); err != nil {
		slog.Error("Jobs are no longer controlled", "error", err)
	}
}
