package kube_test

import (
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/informers"
	batchlisters "k8s.io/client-go/listers/batch/v1"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"

	"github.com/jobwright/jobwright/jobcontrol"
	"github.com/jobwright/jobwright/jobcontrol/kube"
)

func TestStatusConflictIsSyncedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, newJob("j", 1, 1))
		var conflicts atomic.Int32
		s.refuse("update", "jobs", func(clienttesting.Action) error {
			if conflicts.Add(1) <= 2 {
				return apierrors.NewConflict(jobResource.GroupResource(), "j", errors.New("the object has been modified"))
			}
			return nil
		})
		stop := start(t, s, kube.Config{})
		pass(2 * time.Minute)
		s.end(t, corev1.PodSucceeded)
		pass(2 * time.Minute)
		if err := stop(); err != nil {
			t.Errorf("Run: %v", err)
		}
		if got := s.job(t, "j").Status; got.Succeeded != 1 || len(s.pods(t)) != 1 {
			t.Errorf("status %+v after %d pods, want Complete after one", got, len(s.pods(t)))
		}
	})
}

func TestB68_NothingIsCreatedForAJobThatIsGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, newJob("j", 1, 1))
		stop := start(t, s, kube.Config{})
		pass(time.Minute)
		pod := s.pods(t)[0]
		if err := s.BatchV1().Jobs("ns").Delete(t.Context(), "j", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait() // the informer has shown it
		if err := s.CoreV1().Pods("ns").Delete(t.Context(), pod.Name, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		s.ClearActions()
		pass(time.Hour)
		if err := stop(); err != nil {
			t.Errorf("Run: %v", err)
		}
		if got := append(s.calls("jobs"), s.calls("pods")...); got != nil {
			t.Errorf("calls %q, want none", got)
		}
	})
}

func TestB77_PodsNotYetSeenAreNotCreatedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, newJob("j", 3, 3))
		s.PrependWatchReactor("pods", func(clienttesting.Action) (bool, watch.Interface, error) {
			return true, watch.NewFake(), nil // never says a word
		})
		stop := start(t, s, kube.Config{})
		for range 10 {
			pass(5 * time.Second)
			job := s.job(t, "j")
			job.Annotations = map[string]string{"seen": time.Now().String()}
			if _, err := s.BatchV1().Jobs("ns").Update(t.Context(), job, metav1.UpdateOptions{}); err != nil {
				t.Fatal(err)
			}
		}
		if err := stop(); err != nil {
			t.Errorf("Run: %v", err)
		}
		if n := len(s.pods(t)); n != 3 {
			t.Errorf("%d pods, want 3", n)
		}
	})
}

// byHand is a Controller on informers of its own that nobody works for.
func byHand(t *testing.T, s *server) (*jobcontrol.Controller, informers.SharedInformerFactory, workqueue.TypedRateLimitingInterface[string]) {
	t.Helper()
	factory := informers.NewSharedInformerFactory(s, 0)
	jobs, pods := factory.Batch().V1().Jobs(), factory.Core().V1().Pods()
	podStore, err := kube.NewPodStore(pods.Informer().GetIndexer())
	if err != nil {
		t.Fatal(err)
	}
	queue := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[string]())
	c, err := jobcontrol.New(kube.NewJobStore(jobs.Lister(), s), podStore, kube.NewPodControl(s, nil), queue,
		jobcontrol.Config{BatchPeriod: -1})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := jobs.Informer().AddEventHandler(kube.JobHandler(c, nil)); err != nil {
		t.Fatal(err)
	}
	if _, err := pods.Informer().AddEventHandler(kube.PodHandler(c, nil)); err != nil {
		t.Fatal(err)
	}
	factory.StartWithContext(t.Context())
	synctest.Wait()
	return c, factory, queue
}

func TestB93_HandlersOnlyEnqueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t)
		c, _, queue := byHand(t, s)
		defer queue.ShutDown()
		s.ClearActions()
		jobs, pods := kube.JobHandler(c, nil), kube.PodHandler(c, nil)
		job := newJob("j", 1, 1)
		jobs.OnAdd(job, false)
		for range 1000 {
			pod := newPod("p", "j", controlledBy(job))
			pods.OnAdd(pod, false)
			pods.OnUpdate(pod, newPod("p", "other", nil))
			pods.OnDelete(pod)
		}
		jobs.OnDelete(cache.DeletedFinalStateUnknown{Key: "ns/j", Obj: job})
		if got := s.Actions(); len(got) != 0 {
			t.Errorf("%d calls from handlers, want none", len(got))
		}
		if n := queue.Len(); n != 1 {
			t.Errorf("%d keys queued, want the Job's once", n)
		}
	})
}

func TestCachedObjectsAreNotChanged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		job := newJob("j", 1, 2)
		s := newServer(t, job, newPod("orphan", "j", nil), newPod("strayed", "other", controlledBy(job)),
			newPod("surplus-1", "j", controlledBy(job)), newPod("surplus-2", "j", controlledBy(job)))
		c, factory, queue := byHand(t, s)
		defer queue.ShutDown()
		var shared, copies []runtime.Object
		for _, indexer := range []cache.Indexer{factory.Batch().V1().Jobs().Informer().GetIndexer(), factory.Core().V1().Pods().Informer().GetIndexer()} {
			for _, obj := range indexer.List() {
				shared = append(shared, obj.(runtime.Object))
				copies = append(copies, obj.(runtime.Object).DeepCopyObject())
			}
		}
		for range 3 {
			if _, err := c.Sync(t.Context(), "ns/j"); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
		}
		if len(s.calls("pods")) == 0 || len(s.calls("jobs")) == 0 {
			t.Fatal("nothing was done: the test shows nothing")
		}
		if diff := cmp.Diff(copies, shared); diff != "" {
			t.Errorf("objects of the informers (-want +got):\n%s", diff)
		}
	})
}

func TestTombstoneOfAJobWithoutObjectClearsItsMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, newJob("j", 1, 1))
		indexer := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{})
		pods, err := kube.NewPodStore(cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{}))
		if err != nil {
			t.Fatal(err)
		}
		queue := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[string]())
		defer queue.ShutDown()
		c, err := jobcontrol.New(kube.NewJobStore(batchlisters.NewJobLister(indexer), s), pods, kube.NewPodControl(s, nil), queue,
			jobcontrol.Config{BatchPeriod: -1})
		if err != nil {
			t.Fatal(err)
		}
		kube.JobHandler(c, nil).OnDelete(cache.DeletedFinalStateUnknown{Key: "ns/j"})
		synctest.Wait()
		if n := queue.Len(); n != 1 {
			t.Fatalf("%d keys queued, want that of the tombstone", n)
		}
		key, _ := queue.Get()
		if _, err := c.Sync(t.Context(), key); key != "ns/j" || err != nil {
			t.Errorf("sync of %q: %v", key, err)
		}
	})
}

func TestRunLeavesEventsToTheSinkThatIsSet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, newJob("j", 1, 1))
		var own sink
		stop := start(t, s, kube.Config{Controller: jobcontrol.Config{Events: &own}})
		pass(time.Minute)
		if err := stop(); err != nil {
			t.Errorf("Run: %v", err)
		}
		if len(own) != 1 {
			t.Errorf("%d events, want SuccessfulCreate", len(own))
		}
		if got := s.events(t, "j"); got != nil {
			t.Errorf("events %q written to the API as well", got)
		}
	})
}
