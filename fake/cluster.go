package fake

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/jobwright/jobwright/jobcontrol"
)

var _ jobcontrol.PodControl = (*Cluster)(nil)

// Cluster is an in-memory API for Jobs and Pods. Errors are those of an API
// server, so that the functions of apimachinery's api/errors tell them apart.
// What goes in and what comes out is copied. It is safe for concurrent use;
// changes happen one after the other, and each is seen by every View in that
// order.
type Cluster struct {
	// OnRequest, if not nil, runs before a request changes or reads anything,
	// with a copy of the *batchv1.Job or *corev1.Pod of the request (of a read or
	// a delete by name only namespace and name); an error that it returns is the
	// answer. It may use the Cluster itself, for instance to change an object
	// under the hands of the caller. It must be in place before the first request.
	OnRequest func(verb Verb, object runtime.Object) error

	// AnyStatus makes the Cluster store whatever status a Job is given, as the
	// API server of a kind of one's own does; false: it refuses what CheckStatus
	// does. Recount accounting needs it, for the rules assume Tracked. It must be
	// in place before the first request.
	AnyStatus bool

	clock jobcontrol.Clock

	mu      sync.Mutex
	objects map[key]object
	version int64 // of the last commit
	uids    int   // made so far
	names   int   // made so far
	ending  map[string]bool
	touched []object // what was replaced or removed and collect has not seen
	views   []*View
}

// NewCluster returns an empty cluster that takes creation and deletion
// timestamps from clock.
func NewCluster(clock jobcontrol.Clock) *Cluster {
	return &Cluster{clock: clock, objects: map[key]object{}, ending: map[string]bool{}}
}

// Jobs are the Jobs stored now in a namespace, or in all when it is empty, by
// namespace and name.
func (c *Cluster) Jobs(namespace string) []*batchv1.Job {
	c.mu.Lock()
	defer c.mu.Unlock()
	return copies[*batchv1.Job](c.list(jobs, namespace))
}

// Pods are the Pods stored now in a namespace, or in all when it is empty, by
// namespace and name.
func (c *Cluster) Pods(namespace string) []*corev1.Pod {
	c.mu.Lock()
	defer c.mu.Unlock()
	return copies[*corev1.Pod](c.list(pods, namespace))
}

// Load stores Jobs and Pods as they are: with their UID, status, timestamps and
// generation, which a create would not take over. Only what is missing of name,
// UID, creation timestamp, generation and phase is filled in. It is how a test
// starts in the middle of a story; no hook runs.
func (c *Cluster) Load(objects ...runtime.Object) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, o := range objects {
		given, ok := o.(object)
		if !ok {
			return fmt.Errorf("load %T: neither a Job nor a Pod", o)
		}
		stored, err := asStored(given)
		if err != nil {
			return err
		}
		c.fill(stored)
		if _, taken := c.objects[keyOf(stored)]; taken {
			return alreadyExists(stored)
		}
		c.commit(watch.Added, nil, stored)
	}
	return nil
}

// TerminateNamespace marks a namespace as being deleted: creates in it are
// refused from now on, with the cause that an API server gives. What is in it
// stays.
func (c *Cluster) TerminateNamespace(namespace string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ending[namespace] = true
}

// request lets a request in, or says why not. It is called without the lock, so
// that the hook may use the Cluster.
func (c *Cluster) request(ctx context.Context, verb Verb, o object) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if c.OnRequest == nil {
		return nil
	}
	return c.OnRequest(verb, o.DeepCopyObject())
}

// list is the stored objects of a resource, by namespace and name.
func (c *Cluster) list(resource, namespace string) []object {
	all := listOf(c.objects, resource)
	if namespace == "" {
		return all
	}
	return slices.DeleteFunc(all, func(o object) bool { return o.GetNamespace() != namespace })
}

// listOf is the objects of a resource, by namespace and name.
func listOf(objects map[key]object, resource string) []object {
	var found []object
	for k, o := range objects {
		if k.resource == resource {
			found = append(found, o)
		}
	}
	slices.SortFunc(found, func(a, b object) int {
		return cmp.Or(cmp.Compare(a.GetNamespace(), b.GetNamespace()), cmp.Compare(a.GetName(), b.GetName()))
	})
	return found
}
