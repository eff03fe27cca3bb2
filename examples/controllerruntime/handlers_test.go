package main

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coreinformers "k8s.io/client-go/informers/core/v1"
	clientfake "k8s.io/client-go/kubernetes/fake"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/jobwright/jobwright/examples/controllerruntime/api/v1alpha1"
)

// told notes what a Controller would have been told.
type told struct {
	events []string
	takes  time.Duration // that each event does
}

func (r *told) note(event string) {
	time.Sleep(r.takes)
	r.events = append(r.events, event)
}

func (r *told) JobAdded(job *batchv1.Job)        { r.note("added " + job.Name) }
func (r *told) JobUpdated(old, cur *batchv1.Job) { r.note("updated " + old.Name + " " + cur.Name) }
func (r *told) JobDeleted(job *batchv1.Job)      { r.note("deleted " + job.Name) }
func (r *told) PodAdded(pod *corev1.Pod)         { r.note("added " + pod.Name) }
func (r *told) PodUpdated(old, cur *corev1.Pod)  { r.note("updated " + old.Name + " " + cur.Name) }
func (r *told) PodDeleted(pod *corev1.Pod)       { r.note("deleted " + pod.Name) }

func runNamed(name string) *v1alpha1.TrainingRun {
	return &v1alpha1.TrainingRun{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name}}
}

func podNamed(name string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name}}
}

func TestHandlersTellTheController(t *testing.T) {
	ctx := context.Background()
	want := []string{"added a", "updated a b", "deleted b"}

	var runs told
	r := runHandler(&runs)
	r.Create(ctx, event.TypedCreateEvent[*v1alpha1.TrainingRun]{Object: runNamed("a")}, nil)
	r.Update(ctx, event.TypedUpdateEvent[*v1alpha1.TrainingRun]{ObjectOld: runNamed("a"), ObjectNew: runNamed("b")}, nil)
	r.Delete(ctx, event.TypedDeleteEvent[*v1alpha1.TrainingRun]{Object: runNamed("b")}, nil)
	if diff := cmp.Diff(want, runs.events); diff != "" {
		t.Errorf("events of runs (-want +got):\n%s", diff)
	}

	var pods told
	p := podHandler(&pods)
	p.Create(ctx, event.TypedCreateEvent[*corev1.Pod]{Object: podNamed("a")}, nil)
	p.Update(ctx, event.TypedUpdateEvent[*corev1.Pod]{ObjectOld: podNamed("a"), ObjectNew: podNamed("b")}, nil)
	p.Delete(ctx, event.TypedDeleteEvent[*corev1.Pod]{Object: podNamed("b")}, nil)
	if diff := cmp.Diff(want, pods.events); diff != "" {
		t.Errorf("events of pods (-want +got):\n%s", diff)
	}
}

// podCache is a cache of pods alone.
type podCache struct {
	cache.Cache
	informer toolscache.SharedIndexInformer
}

func (c podCache) GetInformer(context.Context, client.Object, ...cache.InformerGetOption) (cache.Informer, error) {
	return c.informer, nil
}

func (c podCache) WaitForCacheSync(ctx context.Context) bool {
	return toolscache.WaitForCacheSync(ctx.Done(), c.informer.HasSynced)
}

// TestTheManagerWaitsForTheHandlers: full caches would not be enough. It is
// controller-runtime that is tested here, for what setUp relies on.
func TestTheManagerWaitsForTheHandlers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pods := clientfake.NewSimpleClientset(podNamed("a"), podNamed("b"), podNamed("c"))
		informer := coreinformers.NewPodInformer(pods, "", 0, toolscache.Indexers{})
		ctx, cancel := context.WithCancel(context.Background())
		ended := make(chan struct{})
		go func() { defer close(ended); informer.RunWithContext(ctx) }()
		defer func() { cancel(); <-ended }()

		slow := &told{takes: time.Hour}
		src := source.Kind(podCache{informer: informer}, &corev1.Pod{}, podHandler(slow))
		if err := src.Start(ctx, nil); err != nil {
			t.Fatal(err)
		}
		if err := src.WaitForSync(ctx); err != nil {
			t.Fatal(err)
		}
		if len(slow.events) != 3 {
			t.Errorf("workers may start when the Controller was told %q, want all three pods", slow.events)
		}
	})
}
