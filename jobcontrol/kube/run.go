package kube

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/informers"
	coreinformers "k8s.io/client-go/informers/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"github.com/jobwright/jobwright/jobcontrol"
)

// Defaults of a Config.
const (
	DefaultWorkers   = 5
	DefaultComponent = "jobwright"
)

// Config is how Run wires a Controller. The zero value works.
type Config struct {
	// Controller configures the Controller. With Events nil, events are
	// written to the API; what is set there takes them instead, those about
	// pods included.
	Controller jobcontrol.Config

	// Namespace restricts Run to the Jobs and pods of one namespace. Empty is
	// all.
	Namespace string

	// Resync is how often the informers tell every object anew, as a safety
	// net. Zero is never: nothing here depends on it.
	Resync time.Duration

	// Transform is what the informers do to Jobs and pods before they keep them.
	// nil: Trim with the Controller's Names. If the Controller's Judgement has a
	// function that is given pods, which may read anything, nil keeps all but
	// managedFields; set Trim if what that keeps is enough for the function.
	Transform cache.TransformFunc

	// Workers is how many Jobs are synced at the same time. Zero is
	// DefaultWorkers.
	Workers int

	// Component is the source that events name, and under which the queue
	// reports to the metrics provider of workqueue. Empty is DefaultComponent.
	Component string
}

func (c Config) withDefaults() Config {
	if c.Workers == 0 {
		c.Workers = DefaultWorkers
	}
	if c.Component == "" {
		c.Component = DefaultComponent
	}
	if c.Transform == nil {
		c.Transform = transformFor(c.Controller)
	}
	return c
}

func transformFor(cfg jobcontrol.Config) cache.TransformFunc {
	j := cfg.Judgement
	if j.Failed != nil || j.Counts != nil || j.Delays != nil || j.DeletionOrder != nil {
		return keepPods
	}
	return Trim(cfg.Names)
}

// Run controls the Jobs that client shows until ctx ends: it starts informers
// of Jobs and pods, waits until both have told a Controller everything there
// is, and only then starts its workers.
//
// When ctx ends, the syncs under way are finished, then the informers stop,
// then the events recorded so far are written, for at most five seconds; Run
// returns when all that is done. It returns what the Controller's Run does,
// the cause of ctx if that ended before the informers had synced, or an error
// about cfg.
func Run(ctx context.Context, client kubernetes.Interface, cfg Config) error {
	cfg = cfg.withDefaults()
	if cfg.Controller.Events == nil {
		events := StartEvents(client, cfg.Component)
		defer events.Stop()
		cfg.Controller.Events = events
	}
	queue := NewQueue(cfg.Component, cfg.Controller)
	defer queue.ShutDown()

	factory := informers.NewSharedInformerFactoryWithOptions(client, cfg.Resync,
		informers.WithNamespace(cfg.Namespace), informers.WithTransform(cfg.Transform))
	factory.InformerFor(&corev1.Pod{}, newPodInformer(cfg.Namespace))
	controller, told, err := Wire(client, factory, queue, cfg.Controller)
	if err != nil {
		return err
	}

	// The informers outlast ctx: a sync under way must not decide from a cache
	// that stands still.
	informing, stopInforming := context.WithCancel(context.WithoutCancel(ctx))
	defer factory.Shutdown()
	defer stopInforming()
	factory.StartWithContext(informing)
	if !cache.WaitFor(ctx, "", told...) {
		return context.Cause(ctx)
	}
	return controller.Run(ctx, cfg.Workers)
}

// newPodInformer makes the informer of pods that a factory would, without its
// index by namespace, which nothing here asks.
func newPodInformer(namespace string) func(kubernetes.Interface, time.Duration) cache.SharedIndexInformer {
	return func(client kubernetes.Interface, resync time.Duration) cache.SharedIndexInformer {
		return coreinformers.NewPodInformer(client, namespace, resync, cache.Indexers{})
	}
}

// Wire returns a new Controller that is fed by the informers of factory for Jobs
// and pods, reads from their caches, writes through client and tells cfg.Events.
// With cfg.PodFetcher nil, client is that too.
// It starts nothing. Other users of the informers, Controllers included, are not
// disturbed, and the informers may be running.
//
// Its Run may begin when all that told lists are done:
//
//	factory.StartWithContext(informing) // which outlasts ctx
//	cache.WaitFor(ctx, "", told...)
//
// It is not enough that the caches have synced: a pod from before that is told
// late would pass for one that a worker has asked for.
func Wire(client kubernetes.Interface, factory informers.SharedInformerFactory, queue jobcontrol.Queue, cfg jobcontrol.Config) (controller *jobcontrol.Controller, told []cache.DoneChecker, err error) {
	jobs, pods := factory.Batch().V1().Jobs(), factory.Core().V1().Pods()
	podStore, err := NewPodStore(pods.Informer().GetIndexer())
	if err != nil {
		return nil, nil, err
	}
	podControl := NewPodControl(client, cfg.Events)
	if cfg.PodFetcher == nil {
		cfg.PodFetcher = podControl
	}
	controller, err = jobcontrol.New(NewJobStore(jobs.Lister(), client), podStore, podControl, queue, cfg)
	if err != nil {
		return nil, nil, err
	}
	jobsTold, err := jobs.Informer().AddEventHandler(JobHandler(controller, cfg.Logger))
	if err != nil {
		return nil, nil, fmt.Errorf("watch jobs: %w", err)
	}
	podsTold, err := pods.Informer().AddEventHandler(PodHandler(controller, cfg.Logger))
	if err != nil {
		return nil, nil, fmt.Errorf("watch pods: %w", err)
	}
	return controller, []cache.DoneChecker{jobsTold.HasSyncedChecker(), podsTold.HasSyncedChecker()}, nil
}
