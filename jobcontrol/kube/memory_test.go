package kube_test

import (
	"context"
	"math/rand/v2"
	"runtime"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	clientfake "k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/cache"

	"github.com/jobwright/jobwright/jobcontrol"
	"github.com/jobwright/jobwright/jobcontrol/kube"
)

const cachedPods = 100_000

var podShapes = []podShape{
	{"jobs=1000/running", 100, false, corev1.PodRunning, 50},
	{"jobs=1000/running-indexed", 100, true, corev1.PodRunning, 50},
	{"jobs=1000/succeeded", 100, false, corev1.PodSucceeded, 50},
	{"jobs=1000/failed", 100, false, corev1.PodFailed, 50},
	{"jobs=1/running", cachedPods, false, corev1.PodRunning, 50},
	{"jobs=1/running-indexed", cachedPods, true, corev1.PodRunning, 50},
	{"jobs=1/succeeded-indexed", cachedPods, true, corev1.PodSucceeded, 50},
	{"jobs=100000/running", 1, false, corev1.PodRunning, 50},
	{"jobs=1000/running-one-a-second", 100, false, corev1.PodRunning, 1},
	{"jobs=1000/succeeded-one-a-second", 100, false, corev1.PodSucceeded, 1},
}

// BenchmarkMemory measures the heap that a cached pod and an idle Job take in
// Run, with all that is kept for it. Run it with -benchtime 1x.
func BenchmarkMemory(b *testing.B) {
	untrimmed := func(obj any) (any, error) { return obj, nil }
	whole := []podShape{podShapes[0], podShapes[2]}
	for _, t := range []struct {
		kept      string
		transform cache.TransformFunc
		shapes    []podShape
	}{{"trimmed", nil, podShapes}, {"whole", untrimmed, whole}} {
		for _, shape := range t.shapes {
			b.Run("pods/"+shape.name+"/"+t.kept, func(b *testing.B) {
				for b.Loop() {
					b.ReportMetric(heapPerPod(b, shape, t.transform), "B/pod")
				}
			})
		}
		for _, state := range []batchv1.JobConditionType{batchv1.JobComplete, batchv1.JobSuspended} {
			b.Run("jobs/"+string(state)+"/"+t.kept, func(b *testing.B) {
				for b.Loop() {
					b.ReportMetric(heapPerJob(b, state, t.transform), "B/Job")
				}
			})
		}
	}
}

// heapPerPod has Run cache pods that are of no interest to it. A last one is:
// when that is synced, all are cached.
func heapPerPod(b *testing.B, shape podShape, transform cache.TransformFunc) float64 {
	train := batchv1.SchemeGroupVersion.WithKind("Train")
	r := startRun(b, "pods", kube.Config{Transform: transform, Controller: jobcontrol.Config{Owner: train}})
	when := rand.New(rand.NewPCG(1, 1)).Perm(shape.jobSize) // pods are listed by name, not by time
	before := heap()
	for i := range cachedPods {
		job := i / shape.jobSize
		at := float64(job*shape.jobSize+when[i%shape.jobSize]) / shape.perSecond
		r.send(decoded(b, shape.pod(job, i%shape.jobSize, time.Duration(at)*time.Second), &corev1.Pod{}))
	}
	r.send(newPod("last", "j", metav1.NewControllerRef(newJob("j", 1, 1), train)))
	<-r.synced
	return float64(heap()-before) / cachedPods
}

// heapPerJob has Run sync Jobs that are at rest.
func heapPerJob(b *testing.B, state batchv1.JobConditionType, transform cache.TransformFunc) float64 {
	const n = 10_000
	r := startRun(b, "jobs", kube.Config{Transform: transform})
	before := heap()
	for i := range n {
		r.send(decoded(b, idleJob(i, state), &batchv1.Job{}))
	}
	for range n {
		<-r.synced
	}
	for _, a := range r.client.Actions() {
		if a.GetVerb() != "list" && a.GetVerb() != "watch" {
			b.Errorf("%s of %s: the Jobs are not at rest", a.GetVerb(), a.GetResource().Resource)
		}
	}
	return float64(heap()-before) / n
}

// running is a Run whose informer of one resource sees what is sent.
type running struct {
	client *clientfake.Clientset
	events chan watch.Event
	synced chan struct{}
}

func startRun(b *testing.B, resource string, cfg kube.Config) running {
	r := running{clientfake.NewSimpleClientset(), make(chan watch.Event), make(chan struct{}, cachedPods)}
	r.client.PrependWatchReactor(resource, func(clienttesting.Action) (bool, watch.Interface, error) {
		return true, watch.NewProxyWatcher(r.events), nil
	})
	cfg.Controller.Metrics = &jobcontrol.Metrics{Synced: func(_ time.Duration, err error) {
		if err != nil {
			b.Error(err)
		}
		r.synced <- struct{}{}
	}}
	ctx, stop := context.WithCancel(b.Context())
	ended := make(chan error)
	go func() { ended <- kube.Run(ctx, r.client, cfg) }()
	b.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			b.Error(err)
		}
	})
	return r
}

func (r running) send(obj kruntime.Object) {
	r.events <- watch.Event{Type: watch.Added, Object: obj}
}

// heap is how much of the heap is in use.
func heap() int64 {
	var stats runtime.MemStats
	runtime.GC()
	runtime.GC() // what finalizers and pools let go
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc)
}
