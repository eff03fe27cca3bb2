package jobcontrol

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobwright/jobwright/expectations"
)

// Config holds what a Controller does not need to be told. Its zero value is
// useful.
type Config struct {
	// Name is the controller's name: it acts on the Jobs whose spec.managedBy is
	// it. "": kubernetes.io/job-controller, to which a Job without managedBy
	// belongs.
	Name string
	// Accounting is how ended pods are counted; zero: the default mode.
	Accounting Accounting
	// Owner is the kind under which the Jobs own their pods and appear in
	// events; zero: batch/v1 Job.
	Owner schema.GroupVersionKind
	// Names are the finalizer, labels and annotations on pods; zero: those of
	// batch/v1.
	Names Names
	// Judgement replaces what the API says of pods and Jobs; zero: nothing.
	Judgement Judgement
	// Clock tells the time; nil: the system's.
	Clock Clock
	// Logger takes what a person who runs the controller should see; nil: silent.
	Logger *slog.Logger
	// Events takes events about the Jobs; nil: there are none.
	Events EventSink
	// Metrics takes measurements; nil: there are none.
	Metrics *Metrics
	// MaxInFlight bounds the calls that one sync has under way at once, so that
	// as many workers as run have as many times that; 0: 64.
	MaxInFlight int
	// BatchPeriod is the least time between two syncs of a Job that pods or
	// status writes ask for: the first after quiet comes at once, a burst waits
	// for its end. That the last living pod of a Job has ended does not wait. 0:
	// 1 s; negative: there is no waiting.
	BatchPeriod time.Duration
	// Backoff is how long the replacement of a failed pod waits; zero fields are
	// its defaults. In Recount it is the queue's retries of the Job that count.
	Backoff Backoff
	// Patience is after how long a creation, a deletion or a status write that
	// no event has shown is no longer waited for; 0: 5 min.
	Patience time.Duration
	// PodFetcher finds out, half a minute later, whether a creation whose answer
	// was lost has happened; nil: it is waited for as long as Patience.
	PodFetcher PodFetcher
	// Expiry deletes Jobs whose ttlSecondsAfterFinished has passed; nil: nobody
	// does here, as where the cluster does.
	Expiry Expiry
	// BeforeExpiry is told of a Job before Expiry deletes it; an error puts the
	// deletion off. nil: nobody is told.
	BeforeExpiry func(ctx context.Context, job *batchv1.Job) error
}

// Controller keeps Jobs and their pods in step: it observes, asks Plan, acts,
// and writes what Settle says. All its methods may be called from any
// goroutine; Sync at most once at a time for the same key, as a Queue sees to.
type Controller struct {
	jobs    JobStore
	pods    PodStore
	control PodControl
	queue   Queue

	cfg Config // with the defaults in place

	expectations *expectations.Tracker[types.UID]
	untracked    untracked
	living       living
	orphans      orphans
	memory       memory
}

// New returns a Controller. It starts nothing: hang its event methods on the
// informers that feed jobs and pods, then call Run, or Sync from a loop of your
// own.
func New(jobs JobStore, pods PodStore, control PodControl, queue Queue, cfg Config) (*Controller, error) {
	if jobs == nil || pods == nil || control == nil || queue == nil {
		return nil, errors.New("jobcontrol: New needs a JobStore, a PodStore, a PodControl and a Queue")
	}
	if err := cfg.check(); err != nil {
		return nil, fmt.Errorf("jobcontrol: Config: %w", err)
	}
	cfg = cfg.withDefaults()
	return &Controller{
		jobs:         jobs,
		pods:         pods,
		control:      control,
		queue:        queue,
		cfg:          cfg,
		expectations: expectations.New[types.UID](expectations.Config{TTL: cfg.Patience, Clock: cfg.Clock}),
	}, nil
}

// check refuses what could only fail later, at every pod or every Job.
func (cfg Config) check() error {
	errs := []error{cfg.Accounting.check(), cfg.Names.check()}
	if cfg.MaxInFlight < 0 {
		errs = append(errs, fmt.Errorf("MaxInFlight is negative, %d", cfg.MaxInFlight))
	}
	for _, d := range []struct {
		name  string
		value time.Duration
	}{{"Backoff.Base", cfg.Backoff.Base}, {"Backoff.Limit", cfg.Backoff.Limit}, {"Patience", cfg.Patience}} {
		if d.value < 0 {
			errs = append(errs, fmt.Errorf("%s is negative, %v", d.name, d.value))
		}
	}
	return errors.Join(errs...)
}

func (cfg Config) withDefaults() Config {
	cfg.Name = cmp.Or(cfg.Name, batchv1.JobControllerName)
	cfg.Owner = cmp.Or(cfg.Owner, batchv1.SchemeGroupVersion.WithKind("Job"))
	cfg.MaxInFlight = cmp.Or(cfg.MaxInFlight, 64)
	cfg.BatchPeriod = cmp.Or(cfg.BatchPeriod, time.Second)
	cfg.Patience = cmp.Or(cfg.Patience, 5*time.Minute)
	if cfg.Clock == nil {
		cfg.Clock = systemClock{}
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	return cfg
}

// systemClock is the one place of this package where the time is read.
type systemClock struct{}

func (systemClock) Now() time.Time { return time.Now() }

// Run works on the queue with this many workers until ctx ends. Then no sync
// starts, those under way go to their end, and Run returns nil. Call it when
// the caches behind the stores have synced, and once: it shuts the queue down.
func (c *Controller) Run(ctx context.Context, workers int) error {
	if workers < 1 {
		return fmt.Errorf("jobcontrol: Run needs at least one worker, got %d", workers)
	}
	var running sync.WaitGroup
	for range workers {
		running.Go(func() {
			for c.next(ctx) {
			}
		})
	}
	<-ctx.Done()
	c.queue.ShutDown()
	running.Wait()
	return nil
}

// next works on one key and says whether there may be more.
func (c *Controller) next(ctx context.Context) bool {
	key, shutdown := c.queue.Get()
	if shutdown {
		return false
	}
	defer c.queue.Done(key)
	if ctx.Err() != nil {
		return true // drained unworked: the next life lists every Job anew
	}
	after, err := c.Sync(context.WithoutCancel(ctx), key)
	c.schedule(key, after, err)
	return true
}

// schedule tells the queue how a sync has ended.
func (c *Controller) schedule(key string, next Next, err error) {
	switch {
	case errors.Is(err, ErrInvalid):
		c.cfg.Logger.Error("Job cannot be worked on until it changes", "job", key, "error", err)
		c.queue.Forget(key)
	case errors.Is(err, ErrPodsFailed):
		c.cfg.Logger.Info("Job goes on after failures", "job", key, "error", err)
		c.queue.AddRateLimited(key)
	case err != nil:
		c.cfg.Logger.Error("sync failed, will be retried", "job", key, "error", err)
		c.queue.AddRateLimited(key)
	case next.Forget:
		c.queue.Forget(key)
	}
	if next.After > 0 {
		c.queue.AddAfter(key, next.After)
	}
}
