package main

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"strings"
	"sync"
	"syscall"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/client-go/util/workqueue"

	"github.com/jobwright/jobwright/fake"
	"github.com/jobwright/jobwright/jobcontrol"
)

// jobRun is one run of a Job: a cluster in memory, and around it what a real
// one has: a controller, a kubelet, somebody who watches.
type jobRun struct {
	options
	job      *batchv1.Job
	screen   *screen
	svgFile  *os.File // nil: no picture is wanted
	dir      string   // of temporary files
	cluster  *fake.Cluster
	kubelet  *kubelet
	progress *progress
}

// prepareRun reads the manifest and opens what the run needs. Nothing has been
// started when it fails.
func prepareRun(o options, std stdio) (*jobRun, error) {
	job, err := readManifest(o, std.in)
	if err != nil {
		return nil, err
	}
	r := &jobRun{options: o, job: job, screen: newScreen(std.err)}
	if o.logs != "" {
		if err := os.MkdirAll(o.logs, 0o755); err != nil {
			return nil, err
		}
	}
	if o.svg != "" {
		if r.svgFile, err = os.Create(o.svg); err != nil {
			return nil, err
		}
	}
	if r.dir, err = os.MkdirTemp("", "jobwright-"); err != nil {
		return nil, errors.Join(err, r.cleanUp())
	}
	clock := systemClock{}
	r.cluster = fake.NewCluster(clock)
	r.cluster.AnyStatus = o.accounting == jobcontrol.Recount // the rules of the API server assume Tracked
	machine := &machine{logs: o.logs, screen: r.screen, marker: r.dir}
	r.kubelet = &kubelet{
		cluster: r.cluster, clock: clock, start: machine.start, volumes: r.dir, backoff: o.backoff,
		report: func(err error) { r.screen.printf("local: %v", err) },
	}
	r.progress = newProgress(job, clock, r.screen)
	return r, nil
}

// runJob runs the Job until it has ended or is interrupted, then stops what
// still runs. It returns the Job as it is then, and whether an interrupt came
// before its end.
func (r *jobRun) runJob(sh shell) (job *batchv1.Job, interrupted bool, err error) {
	stopControl, err := r.startControl()
	if err != nil {
		return nil, false, err
	}
	stopViews := r.follow(r.kubelet, r.progress)
	defer stopViews()
	if err := r.cluster.Load(r.job); err != nil {
		return nil, false, errors.Join(err, stopControl())
	}
	stopTicks := r.startTicks()

	interrupted = r.steer(sh)
	// The controller first: it would replace the pods that are stopped.
	err = stopControl()
	r.stopPods(sh.signals)
	stopViews()
	stopTicks()
	if err != nil {
		return nil, interrupted, err
	}
	job, err = r.cluster.FetchJob(context.Background(), r.job.Namespace, r.job.Name)
	if err != nil {
		return nil, interrupted, err
	}
	if !jobcontrol.IsFinished(job) {
		// No controller is there to see it, but that much is known.
		job.Status.Active, job.Status.Ready, job.Status.Terminating = 0, nil, nil
	}
	return job, interrupted && !jobcontrol.IsFinished(job), nil
}

// startControl starts the controller; the function that it returns stops it and
// waits for its end.
func (r *jobRun) startControl() (stop func() error, err error) {
	view := r.cluster.View()
	queue := workqueue.NewTypedRateLimitingQueue(
		workqueue.NewTypedItemExponentialFailureRateLimiter[string](r.backoff, maxQueueDelay))
	controller, err := jobcontrol.New(view, view, r.cluster, queue, jobcontrol.Config{
		Accounting:  r.accounting,
		Logger:      slog.New(slog.NewTextHandler(screenWriter{r.screen}, &slog.HandlerOptions{Level: slog.LevelWarn})),
		BatchPeriod: -1, // nothing here is far away
		Backoff:     jobcontrol.Backoff{Base: r.backoff},
	})
	if err != nil {
		return nil, err
	}
	view.Notify(controller)
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { view.Follow(ctx) })
	running.Go(func() { err = controller.Run(ctx, 1) })
	return func() error {
		cancel()
		running.Wait()
		return err
	}, nil
}

// maxQueueDelay bounds the delay of the queue's retries, as Job controllers do.
const maxQueueDelay = 10 * time.Minute

// follow gives each handler a view of its own. The function that it returns
// lets every view come to the end of what has happened, and stops them; it may
// be called again.
func (r *jobRun) follow(handlers ...fake.Handler) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	for _, h := range handlers {
		view := r.cluster.View()
		view.Notify(h)
		running.Go(func() {
			view.Follow(ctx)
			view.Deliver()
		})
	}
	return func() {
		cancel()
		running.Wait()
	}
}

// stopPods stops the pods that still run and waits for them; an interrupt takes
// the rest of their grace.
func (r *jobRun) stopPods(signals <-chan os.Signal) {
	r.kubelet.stop()
	stopped := make(chan struct{})
	go func() {
		r.kubelet.wait()
		close(stopped)
	}()
	for {
		select {
		case <-stopped:
			return
		case s := <-signals:
			if s != syscall.SIGTSTP && s != syscall.SIGCONT {
				r.kubelet.kill()
			}
		}
	}
}

// startTicks keeps the time shown on a terminal up to date.
func (r *jobRun) startTicks() (stop func()) {
	if !r.screen.terminal {
		return func() {}
	}
	ticker, done := time.NewTicker(time.Second), newLatch()
	var running sync.WaitGroup
	running.Go(func() {
		for {
			select {
			case <-ticker.C:
				r.progress.tick()
			case <-done.c:
				return
			}
		}
	})
	return func() {
		ticker.Stop()
		done.set()
		running.Wait()
	}
}

// writeResults writes the picture and the final Job.
func (r *jobRun) writeResults(job *batchv1.Job, stdout io.Writer) error {
	history := r.progress.end()
	if err := writeJob(stdout, job, r.output); err != nil {
		return err
	}
	if r.svgFile == nil {
		return nil
	}
	return errors.Join(drawSVG(r.svgFile, history), r.svgFile.Close())
}

func (r *jobRun) cleanUp() error {
	return os.RemoveAll(r.dir)
}

// systemClock tells the time of this machine.
type systemClock struct{}

func (systemClock) Now() time.Time { return time.Now() }

// screenWriter prints each Write as a line.
type screenWriter struct{ screen *screen }

func (w screenWriter) Write(p []byte) (int, error) {
	w.screen.printf("%s", strings.TrimSuffix(string(p), "\n"))
	return len(p), nil
}
