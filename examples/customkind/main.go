// Command customkind runs objects of a kind of its own, TrainingRun, as Jobs: a
// pod for each worker, and the first of them, the chief, decides.
//
//	kubectl apply -f crd.yaml
//	go run . -kubeconfig ~/.kube/config
//
// from this folder, until Ctrl-C, and in another terminal
//
//	kubectl apply -f sample.yaml
//	kubectl get trainingruns --watch
//
// In a cluster it needs the rights of rbac.yaml. What it knows of the kind is in
// trainingrun.go, the wiring here. ../controllerruntime does the same with a manager.
package main

import (
	"context"
	"errors"
	"flag"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	batchlisters "k8s.io/client-go/listers/batch/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/jobwright/jobwright/jobcontrol"
	"github.com/jobwright/jobwright/jobcontrol/kube"
)

func main() {
	kubeconfig := flag.String("kubeconfig", "", "path of a kubeconfig; empty: that of the pod this runs in")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the program at once
	config, err := clientcmd.BuildConfigFromFlags("", *kubeconfig)
	if err == nil {
		config.QPS, config.Burst = 50, 100
		err = control(ctx, kubernetes.NewForConfigOrDie(config), dynamic.NewForConfigOrDie(config))
	}
	if err != nil {
		slog.Error("TrainingRuns are not controlled", "error", err)
		os.Exit(1)
	}
}

// control works on TrainingRuns until ctx ends, then finishes what is under way.
func control(ctx context.Context, client kubernetes.Interface, dynamicClient dynamic.Interface) error {
	events := kube.StartEvents(client, "trainingrun-controller")
	defer events.Stop()
	gvr := schema.GroupVersionResource{Group: group, Version: version, Resource: resource}
	cfg := jobcontrol.Config{
		Owner:     gvr.GroupVersion().WithKind(kind),
		Names:     jobcontrol.Names{Finalizer: group + "/pod-tracking", LabelPrefix: group + "/"},
		Judgement: jobcontrol.Judgement{Success: chiefDecides},
		Logger:    slog.Default(),
		Events:    events,
	}
	runFactory := dynamicinformer.NewDynamicSharedInformerFactory(dynamicClient, 0)
	runs := runFactory.ForResource(gvr).Informer()
	podFactory := informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithTransform(kube.Trim(cfg.Names)))
	pods := podFactory.Core().V1().Pods().Informer()
	podStore, err := kube.NewPodStore(pods.GetIndexer())
	if err != nil {
		return err
	}
	cached := kube.NewJobStore(batchlisters.NewJobLister(runs.GetIndexer()), client)
	queue := kube.NewQueue(resource, cfg)
	podControl := kube.NewPodControl(client, cfg.Events)
	cfg.PodFetcher = podControl
	controller, err := jobcontrol.New(store{cached, dynamicClient.Resource(gvr)}, podStore, podControl, queue, cfg)
	if err != nil {
		return err
	}
	runsTold, runsErr := runs.AddEventHandler(kube.JobHandler(controller, cfg.Logger))
	podsTold, podsErr := pods.AddEventHandler(kube.PodHandler(controller, cfg.Logger))
	if err := errors.Join(runs.SetTransform(toJob), runsErr, podsErr); err != nil {
		return err
	}
	// The informers outlast ctx: a sync under way is not to decide from caches that stand still.
	informing, stopInforming := context.WithCancel(context.WithoutCancel(ctx))
	defer runFactory.Shutdown()
	defer podFactory.Shutdown()
	defer stopInforming()
	runFactory.Start(informing.Done())
	podFactory.Start(informing.Done())
	// Full caches are not enough: a pod from before that is told late would pass for one asked for.
	if !cache.WaitFor(ctx, "", runsTold.HasSyncedChecker(), podsTold.HasSyncedChecker()) {
		return context.Cause(ctx)
	}
	cfg.Logger.Info("TrainingRuns are controlled")
	return controller.Run(ctx, 5)
}
