package fake

import (
	"cmp"
	"context"
	"slices"
	"sync"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/jobwright/jobwright/jobcontrol"
)

var (
	_ jobcontrol.JobStore = (*View)(nil)
	_ jobcontrol.PodStore = (*View)(nil)
	_ jobcontrol.Expiry   = (*View)(nil)
)

// View is what one process knows of a Cluster: an informer for Jobs and one for
// Pods. Each commit of the Cluster is queued as an Event; the cache, and after
// it the Handler, learn of it when the event is delivered. So a test decides
// how far each process lags, and in which order it hears.
//
// Reads through Job, Jobs, PodsOf and OrphanPods come from the cache, all else goes to
// the Cluster. A View is safe for concurrent use; events are delivered one at a
// time, and the Handler must not deliver any itself.
type View struct {
	cluster *Cluster

	delivery sync.Mutex // held from taking an event to the return of the Handler

	mu      sync.Mutex
	handler Handler
	pending []Event
	grown   chan struct{} // closed and replaced when pending has grown
	cache   map[key]object
	owned   map[ownership]map[string]*corev1.Pod // the pods of cache, by name
}

// ownership is a controller and its namespace; pods without one have no UID.
type ownership struct {
	namespace string
	uid       types.UID
}

// View returns a new view that knows nothing yet: what is stored now is queued
// as added, Jobs first.
func (c *Cluster) View() *View {
	v := &View{
		cluster: c,
		grown:   make(chan struct{}),
		cache:   map[key]object{},
		owned:   map[ownership]map[string]*corev1.Pod{},
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, o := range append(c.list(jobs, ""), c.list(pods, "")...) {
		v.pending = append(v.pending, eventOf(watch.Added, o))
	}
	c.views = append(c.views, v)
	return v
}

// Notify makes h the handler of the events delivered from now on. Those
// delivered before are not repeated; nil means none.
func (v *View) Notify(h Handler) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.handler = h
}

// Job is the Job that the cache has. It is shared and read-only.
func (v *View) Job(namespace, name string) (*batchv1.Job, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	named := namedJob(namespace, name)
	job, ok := v.cache[keyOf(named)].(*batchv1.Job)
	if !ok {
		return nil, notFound(named)
	}
	return job, nil
}

// Jobs are the Jobs of a namespace that the cache has, by name. They are shared
// and read-only.
func (v *View) Jobs(namespace string) ([]*batchv1.Job, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	var found []*batchv1.Job
	for _, o := range listOf(v.cache, jobs) {
		if o.GetNamespace() == namespace {
			found = append(found, o.(*batchv1.Job))
		}
	}
	return found, nil
}

// FetchJob reads from the Cluster, past the cache.
func (v *View) FetchJob(ctx context.Context, namespace, name string) (*batchv1.Job, error) {
	return v.cluster.FetchJob(ctx, namespace, name)
}

// UpdateJobStatus writes to the Cluster. The cache sees it by its event.
func (v *View) UpdateJobStatus(ctx context.Context, job *batchv1.Job) (*batchv1.Job, error) {
	return v.cluster.UpdateJobStatus(ctx, job)
}

// DeleteJob deletes the Job from the Cluster, in the foreground: its pods go
// first. That it is gone, or that its name now belongs to another UID, is
// success. It fails with a conflict when the Job has changed since the resource
// version given. The cache sees it by its event.
func (v *View) DeleteJob(ctx context.Context, job *batchv1.Job) error {
	err := v.cluster.deleteJob(ctx, job, metav1.DeletePropagationForeground)
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// PodsOf are the pods that the cache has whose controller reference has this
// UID, by name. They are shared and read-only.
func (v *View) PodsOf(namespace string, owner types.UID) ([]*corev1.Pod, error) {
	if owner == "" {
		return nil, nil
	}
	return v.podsOf(ownership{namespace: namespace, uid: owner}), nil
}

// OrphanPods are the pods that the cache has without controller reference, by
// name. They are shared and read-only.
func (v *View) OrphanPods(namespace string) ([]*corev1.Pod, error) {
	return v.podsOf(ownership{namespace: namespace}), nil
}

func (v *View) podsOf(o ownership) []*corev1.Pod {
	v.mu.Lock()
	defer v.mu.Unlock()
	found := make([]*corev1.Pod, 0, len(v.owned[o]))
	for _, pod := range v.owned[o] {
		found = append(found, pod)
	}
	slices.SortFunc(found, func(a, b *corev1.Pod) int { return cmp.Compare(a.Name, b.Name) })
	return found
}

// remember puts o into the cache and returns what was there.
func (v *View) remember(o object) (old object) {
	old = v.forget(o)
	v.cache[keyOf(o)] = o
	if pod, ok := o.(*corev1.Pod); ok {
		at := ownershipOf(pod)
		if v.owned[at] == nil {
			v.owned[at] = map[string]*corev1.Pod{}
		}
		v.owned[at][pod.Name] = pod
	}
	return old
}

// forget takes what has the key of o out of the cache and returns it.
func (v *View) forget(o object) (old object) {
	old = v.cache[keyOf(o)]
	delete(v.cache, keyOf(o))
	if pod, ok := old.(*corev1.Pod); ok {
		at := ownershipOf(pod)
		delete(v.owned[at], pod.Name)
		if len(v.owned[at]) == 0 {
			delete(v.owned, at)
		}
	}
	return old
}

func ownershipOf(pod *corev1.Pod) ownership {
	at := ownership{namespace: pod.Namespace}
	if ref := metav1.GetControllerOfNoCopy(pod); ref != nil {
		at.uid = ref.UID
	}
	return at
}
