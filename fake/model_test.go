package fake_test

import (
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobwright/jobwright/fake"
)

// fold is a Handler that keeps what it is told, and fails when it is told
// something that cannot follow on what it was told before.
type fold struct {
	t    *testing.T
	seen map[string]metav1.Object
}

func (f *fold) JobAdded(job *batchv1.Job)        { f.is("job", nil, job) }
func (f *fold) JobUpdated(old, cur *batchv1.Job) { f.is("job", old, cur) }
func (f *fold) JobDeleted(job *batchv1.Job)      { f.gone("job", job) }
func (f *fold) PodAdded(pod *corev1.Pod)         { f.is("pod", nil, pod) }
func (f *fold) PodUpdated(old, cur *corev1.Pod)  { f.is("pod", old, cur) }
func (f *fold) PodDeleted(pod *corev1.Pod)       { f.gone("pod", pod) }

func (f *fold) is(kind string, old, cur metav1.Object) {
	key := kind + " " + cur.GetName()
	if f.seen[key] != old {
		f.t.Errorf("%s was told of with old %v, want %v", key, old, f.seen[key])
	}
	f.seen[key] = cur
}

func (f *fold) gone(kind string, o metav1.Object) {
	key := kind + " " + o.GetName()
	if f.seen[key] == nil {
		f.t.Errorf("%s was told to be gone, and was not there", key)
	}
	delete(f.seen, key)
}

// state is objects as text, sorted.
func state(objects ...metav1.Object) []string {
	var all []string
	for _, o := range objects {
		all = append(all, fmt.Sprintf("%T %s %s at %s", o, o.GetName(), o.GetUID(), o.GetResourceVersion()))
	}
	slices.Sort(all)
	return all
}

// FuzzView makes random changes, delivers, drops and relists at random, and
// asks that every handler call follows on the ones before, and that in the end
// handler, cache and index hold what is stored.
func FuzzView(f *testing.F) {
	f.Add([]byte{0x00, 0x10, 0x07, 0x02, 0x07, 0x03, 0x00, 0x08})
	f.Add([]byte{0x00, 0x11, 0x21, 0x12, 0x06, 0x04, 0x09, 0x05, 0x08})
	f.Add([]byte{0x05, 0x01, 0x11, 0x06, 0x25, 0x0a, 0x13, 0x07, 0x35, 0x01})
	f.Fuzz(func(t *testing.T, script []byte) {
		cluster, _ := newCluster()
		view := cluster.View()
		told := &fold{t: t, seen: map[string]metav1.Object{}}
		view.Notify(told)
		for _, step := range script[:min(len(script), 200)] {
			change(t, cluster, view, step&15, string('a'+rune(step>>4)%3))
		}
		view.Relist()

		var stored, cached []metav1.Object
		for _, job := range cluster.Jobs("") {
			stored = append(stored, job)
		}
		for _, pod := range cluster.Pods("") {
			stored = append(stored, pod)
		}
		equal(t, "told", state(slices.Collect(maps.Values(told.seen))...), state(stored...))
		jobs, _ := view.Jobs("default")
		for _, job := range jobs {
			cached = append(cached, job)
		}
		orphans, _ := view.OrphanPods("default")
		for _, pod := range orphans {
			cached = append(cached, pod)
		}
		for uid := range owners(cluster) {
			owned, _ := view.PodsOf("default", uid)
			for _, pod := range owned {
				cached = append(cached, pod)
			}
		}
		equal(t, "cached", state(cached...), state(stored...))
	})
}

// owners is the UIDs that control pods.
func owners(cluster *fake.Cluster) map[types.UID]bool {
	uids := map[types.UID]bool{}
	for _, pod := range cluster.Pods("") {
		if ref := metav1.GetControllerOf(pod); ref != nil {
			uids[ref.UID] = true
		}
	}
	return uids
}

// change makes one step. Requests that are refused are as good as others.
func change(t *testing.T, c *fake.Cluster, v *fake.View, op byte, name string) {
	ctx := t.Context()
	switch op {
	case 0:
		_, _ = c.CreateJob(ctx, newJob(name))
	case 1:
		pod := newPod(name)
		if job, err := c.FetchJob(ctx, "default", name); err == nil {
			pod = podOf(job, name)
		}
		_, _ = c.Create(ctx, pod)
	case 2:
		_ = c.Delete(ctx, newPod(name))
	case 3:
		_ = c.RemovePod(ctx, newPod(name))
	case 4:
		_ = c.DeleteJob(ctx, "default", name, metav1.DeletePropagationForeground)
	case 5:
		_ = c.DeleteJob(ctx, "default", name, metav1.DeletePropagationOrphan)
	case 6:
		_ = c.DeleteJob(ctx, "default", name, metav1.DeletePropagationBackground)
	case 7:
		if pod, err := c.FetchPod(ctx, "default", name); err == nil {
			pod.Status.Message += "."
			_, _ = c.UpdatePodStatus(ctx, pod)
		}
	case 8:
		v.DeliverNext()
	case 9:
		v.DeliverIf(fake.ForPod)
	case 10:
		v.Drop(func(e fake.Event) bool { return e.Pod != nil && e.Pod.Name == name })
	case 11:
		v.Relist()
	case 12:
		v.Deliver()
	case 13:
		c.CollectGarbage()
	}
}

func TestClusterAndViewAreSafeForConcurrentUse(t *testing.T) {
	cluster, view, _ := watched()
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for op := range byte(14) {
				change(t, cluster, view, op, string('a'+rune(i)%3))
				_, _ = view.PodsOf("default", "uid-00001")
				view.Pending()
			}
		})
	}
	wg.Wait()
	view.Relist()
	orphans, err := view.OrphanPods("default")
	for _, pod := range must(t, orphans, err) {
		stored, err := cluster.FetchPod(t.Context(), "default", pod.Name)
		equal(t, "pod in the cache", pod, must(t, stored, err))
	}
}

func TestQueueIsSafeForConcurrentUse(t *testing.T) {
	q := fake.NewQueue(realClock{})
	var wg sync.WaitGroup
	worked := make([]int, 4)
	for i := range worked {
		wg.Go(func() {
			for {
				key, shutdown := q.Get()
				if shutdown {
					return
				}
				worked[i]++
				q.Done(key)
			}
		})
	}
	const keys = 100
	for i := range keys {
		q.Add(fmt.Sprint(i))
	}
	q.ShutDown()
	wg.Wait()
	equal(t, "keys worked", worked[0]+worked[1]+worked[2]+worked[3], keys)
}
