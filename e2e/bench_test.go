package e2e

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	upstream "k8s.io/kubernetes/pkg/controller/job"

	"github.com/jobwright/jobwright/jobcontrol"
	"github.com/jobwright/jobwright/jobcontrol/kube"
)

// BenchmarkJobs runs the same Jobs under our controller and under that of
// Kubernetes, on the same API server and with the same kubelet, and reports what
// each took and what it wrote.
func BenchmarkJobs(b *testing.B) {
	shapes := []struct {
		name string
		jobs []*batchv1.Job
	}{
		{"jobs=1/pods=1", []*batchv1.Job{newJob("j", 1, 1)}},
		{"jobs=300/pods=1", many(300, 1, 1)},
		{"jobs=30/pods=20", many(30, 20, 5)},
		{"indexed=100", []*batchv1.Job{newIndexedJob("j", 100, 100)}},
		{"indexed=1000", []*batchv1.Job{newIndexedJob("j", 1000, 1000)}},
		{"indexed=10000", []*batchv1.Job{newIndexedJob("j", 10_000, 10_000)}},
	}
	for _, qps := range []float32{-1, 20} {
		for _, shape := range shapes {
			for _, who := range []struct {
				name string
				run  func(*world, *rest.Config) (stop func())
			}{{"jobwright", runOurs}, {"upstream", runUpstream}} {
				limit := fmt.Sprint(qps)
				if qps < 0 {
					limit = "unlimited"
				}
				b.Run(fmt.Sprintf("qps=%s/%s/%s", limit, shape.name, who.name), func(b *testing.B) {
					benchmark(b, shape.jobs, qps, who.run)
				})
			}
		}
	}
}

func many(n int, completions, parallelism int32) (jobs []*batchv1.Job) {
	for i := range n {
		jobs = append(jobs, newJob(fmt.Sprintf("j%d", i), completions, parallelism))
	}
	return jobs
}

func benchmark(b *testing.B, jobs []*batchv1.Job, qps float32, run func(*world, *rest.Config) func()) {
	var wall time.Duration
	var after []time.Duration // from the last success of a Job to Complete
	writes := map[string]int{}
	b.StopTimer()
	for range b.N {
		w := newSerialWorld(b)
		w.requests.anyForm = true
		w.kubelet.unbound = true
		w.kubelet.fate = func(*corev1.Pod) (fate, bool) { return fate{after: 200 * time.Millisecond}, true }
		successes := &moments{at: map[types.UID]time.Time{}}
		w.kubelet.ended = successes.note
		ends, oneEnded := &moments{at: map[types.UID]time.Time{}}, make(chan struct{}, len(jobs))
		w.ended = func(job types.UID) { ends.note(job); oneEnded <- struct{}{} }
		config := rest.CopyConfig(admin)
		config.QPS, config.Burst = qps, int(2*qps)
		config.Wrap(w.requests.wrap)
		stop := run(w, config)
		b.StartTimer()
		began := time.Now()
		for _, job := range jobs {
			job := job.DeepCopy()
			job.Spec.BackoffLimit = new(int32(6))
			w.submit(job)
		}
		timeout := time.After(time.Hour)
		for n := 0; n < len(jobs); {
			select {
			case <-oneEnded:
				n++
			case <-timeout:
				b.Fatal(w.dump())
			}
		}
		wall += time.Since(began)
		b.StopTimer()
		stop()
		for uid, end := range ends.at {
			after = append(after, end.Sub(successes.at[uid]))
		}
		for what, n := range w.requests.made() {
			writes[what] += n
		}
	}
	slices.Sort(after)
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(wall.Seconds()/float64(b.N), "s")
	b.ReportMetric(after[len(after)/2].Seconds(), "s-median-to-Complete")
	b.ReportMetric(after[len(after)-1].Seconds(), "s-worst-to-Complete")
	for what, unit := range map[string]string{
		"update jobs/status": "status-writes", "create pods": "pod-creates", "patch pods": "pod-patches", "delete pods": "pod-deletes", "create events": "event-creates", "patch events": "event-patches",
	} {
		b.ReportMetric(float64(writes[what])/float64(b.N), unit)
	}
}

// moments are the last times of something, by Job.
type moments struct {
	mu sync.Mutex
	at map[types.UID]time.Time
}

func (m *moments) note(job types.UID) {
	now := time.Now()
	m.mu.Lock()
	defer m.mu.Unlock()
	m.at[job] = now
}

const benchWorkers = 5

func runOurs(w *world, config *rest.Config) func() {
	ctx, cancel := context.WithCancel(context.Background())
	client := kubernetes.NewForConfigOrDie(config)
	var run sync.WaitGroup
	run.Go(func() {
		_ = kube.Run(ctx, client, kube.Config{
			Controller: jobcontrol.Config{Name: w.manager}, Namespace: w.namespace, Workers: benchWorkers,
		})
	})
	return func() { cancel(); run.Wait() }
}

// runUpstream takes the Jobs without a manager.
func runUpstream(w *world, config *rest.Config) func() {
	w.manager = batchv1.JobControllerName
	ctx, cancel := context.WithCancel(context.Background())
	client := kubernetes.NewForConfigOrDie(config)
	factory := informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithNamespace(w.namespace))
	c, err := upstream.NewController(ctx, client, factory.Core().V1().Pods(), factory.Batch().V1().Jobs(), nil, nil)
	if err != nil {
		w.t.Fatal(err)
	}
	factory.StartWithContext(ctx)
	factory.WaitForCacheSync(ctx.Done())
	var run sync.WaitGroup
	run.Go(func() { c.Run(ctx, benchWorkers) })
	return func() { cancel(); run.Wait(); factory.Shutdown() }
}
