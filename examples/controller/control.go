package main

import (
	"context"
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"github.com/jobwright/jobwright/jobcontrol"
	"github.com/jobwright/jobwright/jobcontrol/kube"
)

// queueName is what the queue of a Job controller is called in metrics.
const queueName = "job"

// caches are the informers of Jobs and pods, one each for all Jobs.
type caches struct {
	factory    informers.SharedInformerFactory
	jobs, pods cache.SharedIndexInformer
}

func newCaches(client kubernetes.Interface, namespace string) *caches {
	factory := informers.NewSharedInformerFactoryWithOptions(client, 0,
		informers.WithNamespace(namespace), informers.WithTransform(kube.Trim(jobcontrol.Names{})))
	return &caches{
		factory: factory,
		jobs:    factory.Batch().V1().Jobs().Informer(),
		pods:    factory.Core().V1().Pods().Informer(),
	}
}

// missing names the caches that are not complete yet.
func (c *caches) missing() (names []string) {
	if !c.jobs.HasSynced() {
		names = append(names, "jobs")
	}
	if !c.pods.HasSynced() {
		names = append(names, "pods")
	}
	return names
}

// wait returns false if ctx ends before the caches are complete.
func (c *caches) wait(ctx context.Context) bool {
	return cache.WaitFor(ctx, "", c.jobs.HasSyncedChecker(), c.pods.HasSyncedChecker())
}

// control works until ctx ends, with a Controller that knows nothing yet, hung
// on the caches as they are. A replica that stands by has none: its queue would
// grow with each Job that comes and goes, for nobody works it off.
func (c *caches) control(ctx context.Context, client kubernetes.Interface, cfg jobcontrol.Config, workers int, ended func(old, cur *batchv1.Job)) error {
	queue := kube.NewQueue(queueName, cfg)
	defer queue.ShutDown()
	controller, told, err := kube.Wire(client, c.factory, queue, cfg)
	if err != nil {
		return err
	}
	_, err = c.jobs.AddEventHandler(cache.ResourceEventHandlerFuncs{UpdateFunc: func(old, cur any) {
		before, isJob := old.(*batchv1.Job)
		if after, ok := cur.(*batchv1.Job); ok && isJob {
			ended(before, after)
		}
	}})
	if err != nil {
		return fmt.Errorf("watch jobs: %w", err)
	}
	if !cache.WaitFor(ctx, "", told...) {
		return nil
	}
	cfg.Logger.Info("working", "managedBy", cfg.Name, "workers", workers)
	return controller.Run(ctx, workers)
}
