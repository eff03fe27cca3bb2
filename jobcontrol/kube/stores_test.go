package kube_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	batchlisters "k8s.io/client-go/listers/batch/v1"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/cache"

	"github.com/jobwright/jobwright/jobcontrol/kube"
)

func TestJobStore(t *testing.T) {
	cached := newJob("j", 1, 1)
	cached.ResourceVersion = "7"
	indexer := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})
	if err := indexer.Add(cached); err != nil {
		t.Fatal(err)
	}
	s := newServer(t, newJob("j", 2, 2), newJob("unseen", 1, 1))
	store := kube.NewJobStore(batchlisters.NewJobLister(indexer), s)

	t.Run("Job reads the cache", func(t *testing.T) {
		job, err := store.Job("ns", "j")
		if err != nil || job != cached {
			t.Errorf("Job = %p, %v, want the cached object %p", job, err, cached)
		}
		if _, err := store.Job("ns", "unseen"); !apierrors.IsNotFound(err) {
			t.Errorf("err = %v, want not found", err)
		}
		jobs, err := store.Jobs("ns")
		if err != nil || len(jobs) != 1 || jobs[0] != cached {
			t.Errorf("Jobs = %v, %v, want the cached one", jobs, err)
		}
		if jobs, err := store.Jobs("other"); err != nil || len(jobs) != 0 {
			t.Errorf("Jobs of another namespace = %v, %v, want none", jobs, err)
		}
		if len(s.Actions()) != 0 {
			t.Errorf("calls %v, want none", s.Actions())
		}
	})
	t.Run("FetchJob reads past the cache", func(t *testing.T) {
		if _, err := store.FetchJob(t.Context(), "ns", "unseen"); err != nil {
			t.Error(err)
		}
		if _, err := store.FetchJob(t.Context(), "ns", "absent"); !apierrors.IsNotFound(err) {
			t.Errorf("err = %v, want not found", err)
		}
	})
	t.Run("an ended context makes no call", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		s.ClearActions()
		_, fetch := store.FetchJob(ctx, "ns", "j")
		_, update := store.UpdateJobStatus(ctx, cached)
		if !errors.Is(fetch, context.Canceled) || !errors.Is(update, context.Canceled) {
			t.Errorf("errors %v and %v, want %v", fetch, update, context.Canceled)
		}
		if len(s.Actions()) != 0 {
			t.Errorf("calls %v, want none", s.Actions())
		}
	})
}

func TestB75_StatusGoesThroughTheSubresource(t *testing.T) {
	s := newServer(t, newJob("j", 1, 1))
	job := s.job(t, "j")
	job.Status.Active = 1
	given := job.DeepCopy()
	store := kube.NewJobStore(batchlisters.NewJobLister(cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{})), s)

	got, err := store.UpdateJobStatus(t.Context(), job)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"update status"}, s.calls("jobs")); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
	if got.ResourceVersion == given.ResourceVersion {
		t.Errorf("resource version %s of before, want the Job as stored", got.ResourceVersion)
	}
	for _, a := range s.Actions() {
		update, ok := a.(clienttesting.UpdateAction)
		if !ok {
			continue
		}
		if diff := cmp.Diff(given, update.GetObject().(*batchv1.Job)); diff != "" {
			t.Errorf("sent, with UID and resource version (-want +got):\n%s", diff)
		}
	}
}

// A store of its own that this one writes to could put an older copy over a
// newer one, or keep a Job that is gone.
func TestB69_StatusWriteLeavesTheCacheAlone(t *testing.T) {
	s := newServer(t, newJob("j", 1, 1))
	cached := s.job(t, "j")
	before := cached.DeepCopy()
	indexer := cache.NewIndexer(cache.MetaNamespaceKeyFunc, nil)
	if err := indexer.Add(cached); err != nil {
		t.Fatal(err)
	}
	store := kube.NewJobStore(batchlisters.NewJobLister(indexer), s)
	job := cached.DeepCopy()
	job.Status.Active = 1
	if _, err := store.UpdateJobStatus(t.Context(), job); err != nil {
		t.Fatal(err)
	}
	after, err := store.Job("ns", "j")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, after); diff != "" {
		t.Errorf("cached (-want +got):\n%s", diff)
	}
}

func names(pods []*corev1.Pod) []string {
	var names []string
	for _, pod := range pods {
		names = append(names, pod.Namespace+"/"+pod.Name)
	}
	slices.Sort(names)
	return names
}

func TestPodStore(t *testing.T) {
	a, b := newJob("a", 1, 1), newJob("b", 1, 1)
	elsewhere := newPod("claims", "a", controlledBy(a))
	elsewhere.Namespace = "other"
	stranger := newPod("stranger", "a", nil)
	stranger.Namespace = "other"
	bystander := newPod("owned-not-controlled", "a", controlledBy(a))
	bystander.OwnerReferences[0].Controller = nil
	noUID := newPod("no-uid", "a", &metav1.OwnerReference{Kind: "Job", Name: "a", Controller: new(true)})

	for _, order := range []string{"index before pods", "pods before index"} {
		t.Run(order, func(t *testing.T) {
			indexer := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{})
			fill := func() {
				for _, obj := range []any{
					newPod("a-1", "a", controlledBy(a)), newPod("a-2", "a", controlledBy(a)), newPod("b-1", "a", controlledBy(b)),
					newPod("orphan", "a", nil), elsewhere, stranger, bystander, noUID, a,
				} {
					if err := indexer.Add(obj); err != nil {
						t.Fatal(err)
					}
				}
			}
			if order == "pods before index" {
				fill()
			}
			store, err := kube.NewPodStore(indexer)
			if err != nil {
				t.Fatal(err)
			}
			if order == "index before pods" {
				fill()
			}
			got := map[string][]string{}
			for _, uid := range []types.UID{"uid-a", "uid-b", "uid-c"} {
				pods, err := store.PodsOf("ns", uid)
				if err != nil {
					t.Fatal(err)
				}
				got[string(uid)] = names(pods)
			}
			orphans, err := store.OrphanPods("ns")
			if err != nil {
				t.Fatal(err)
			}
			got["nobody"] = names(orphans)
			want := map[string][]string{
				"uid-a": {"ns/a-1", "ns/a-2"}, "uid-b": {"ns/b-1"}, "uid-c": nil,
				"nobody": {"ns/orphan", "ns/owned-not-controlled"},
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("pods by owner (-want +got):\n%s", diff)
			}
		})
	}
}

func TestPodStoreFollowsOwnership(t *testing.T) {
	indexer := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{})
	store, err := kube.NewPodStore(indexer)
	if err != nil {
		t.Fatal(err)
	}
	a := newJob("a", 1, 1)
	for _, owner := range []*metav1.OwnerReference{nil, controlledBy(a), nil} {
		if err := indexer.Update(newPod("p", "a", owner)); err != nil {
			t.Fatal(err)
		}
		owned, err := store.PodsOf("ns", a.UID)
		if err != nil {
			t.Fatal(err)
		}
		orphans, err := store.OrphanPods("ns")
		if err != nil {
			t.Fatal(err)
		}
		if (len(owned) == 1) != (owner != nil) || (len(orphans) == 1) != (owner == nil) {
			t.Errorf("with owner %v: owned %q, orphans %q", owner, names(owned), names(orphans))
		}
	}
}

func TestPodStoreOfOneIndexer(t *testing.T) {
	indexer := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{})
	for range 2 {
		store, err := kube.NewPodStore(indexer)
		if err != nil {
			t.Fatalf("two Controllers on one informer: %v", err)
		}
		if _, err := store.PodsOf("ns", "uid-a"); err != nil {
			t.Fatal(err)
		}
	}
	if got := slices.Collect(maps.Keys(indexer.GetIndexers())); len(got) != 1 {
		t.Errorf("indexes %q, want one", got)
	}
}

// The cost of a lookup must not depend on what else is in the namespace.
func BenchmarkPodsOf(b *testing.B) {
	for _, others := range []int{10, 100_000} {
		b.Run(fmt.Sprintf("others=%d", others), func(b *testing.B) {
			a, other := newJob("a", 1, 1), newJob("b", 1, 1)
			indexer := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{})
			store, err := kube.NewPodStore(indexer)
			if err != nil {
				b.Fatal(err)
			}
			for i := range others + 10 {
				owner := controlledBy(other)
				if i < 10 {
					owner = controlledBy(a)
				}
				if err := indexer.Add(newPod(fmt.Sprintf("p-%d", i), "a", owner)); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportAllocs()
			for b.Loop() {
				if pods, err := store.PodsOf("ns", a.UID); err != nil || len(pods) != 10 {
					b.Fatal(len(pods), err)
				}
			}
		})
	}
}
