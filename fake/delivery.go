package fake

import (
	"context"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/watch"
)

// Pending are the events that were not delivered yet, in the order in which
// they will be.
func (v *View) Pending() []Event {
	v.mu.Lock()
	defer v.mu.Unlock()
	return slices.Clone(v.pending)
}

// Deliver delivers everything that is pending, in order, and what is committed
// meanwhile, and returns how many events that were.
func (v *View) Deliver() int {
	n := 0
	for v.DeliverNext() {
		n++
	}
	return n
}

// DeliverNext delivers the first pending event and says whether there was one.
func (v *View) DeliverNext() bool {
	return v.deliverFirst(func(Event) bool { return true })
}

// DeliverIf delivers the pending events for which match is true, in order, and
// leaves the others pending: they are late, or out of order. It returns how
// many it delivered.
func (v *View) DeliverIf(match func(Event) bool) int {
	n := 0
	for v.deliverFirst(match) {
		n++
	}
	return n
}

// Drop takes away the pending events for which match is true, so that the view
// never hears of them, and returns how many those were.
func (v *View) Drop(match func(Event) bool) int {
	v.mu.Lock()
	defer v.mu.Unlock()
	before := len(v.pending)
	v.pending = slices.DeleteFunc(v.pending, match)
	return before - len(v.pending)
}

// Reorder sorts the pending events; those that compare as 0 keep their order.
func (v *View) Reorder(compare func(a, b Event) int) {
	v.mu.Lock()
	defer v.mu.Unlock()
	slices.SortStableFunc(v.pending, compare)
}

// Relist brings the cache to what is stored now, as an informer does after its
// watch was cut: what is pending is lost, and each object that differs is
// announced once. One deleted and recreated under its name meanwhile is one
// update, from the old UID to the new; one that is gone is a delete of its last
// known state. It returns how many announcements it made.
func (v *View) Relist() int {
	v.delivery.Lock()
	defer v.delivery.Unlock()
	events := v.missed()
	for _, e := range events {
		v.apply(e)
	}
	return len(events)
}

// Resync repeats every object of the cache as an update of itself, Jobs first.
func (v *View) Resync() {
	v.delivery.Lock()
	defer v.delivery.Unlock()
	v.mu.Lock()
	cached := append(listOf(v.cache, jobs), listOf(v.cache, pods)...)
	h := v.handler
	v.mu.Unlock()
	for _, o := range cached {
		announce(h, o, o)
	}
}

// Follow delivers events as they are committed, in order, and returns when ctx
// ends. It is for programs; tests deliver by hand.
func (v *View) Follow(ctx context.Context) {
	for {
		v.mu.Lock()
		grown := v.grown
		v.mu.Unlock()
		for ctx.Err() == nil && v.DeliverNext() {
		}
		select {
		case <-ctx.Done():
			return
		case <-grown:
		}
	}
}

// enqueue is called by the Cluster, under its lock.
func (v *View) enqueue(e Event) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.pending = append(v.pending, e)
	close(v.grown)
	v.grown = make(chan struct{})
}

// deliverFirst delivers the first pending event for which match is true.
func (v *View) deliverFirst(match func(Event) bool) bool {
	v.delivery.Lock()
	defer v.delivery.Unlock()
	v.mu.Lock()
	i := slices.IndexFunc(v.pending, match)
	if i < 0 {
		v.mu.Unlock()
		return false
	}
	e := v.pending[i]
	if i == 0 {
		v.pending = v.pending[1:] // Cheap however many there are.
	} else {
		v.pending = slices.Delete(v.pending, i, i+1)
	}
	v.mu.Unlock()
	v.apply(e)
	return true
}

// missed empties pending and returns the events that lead from the cache to
// what is stored: of each resource what is there by name, then what is gone.
func (v *View) missed() []Event {
	v.cluster.mu.Lock()
	defer v.cluster.mu.Unlock()
	v.mu.Lock()
	defer v.mu.Unlock()
	v.pending = nil
	var events []Event
	for _, resource := range []string{jobs, pods} {
		for _, o := range v.cluster.list(resource, "") {
			if old := v.cache[keyOf(o)]; old == nil || old.GetResourceVersion() != o.GetResourceVersion() {
				events = append(events, eventOf(watch.Modified, o))
			}
		}
		for _, old := range listOf(v.cache, resource) {
			if _, there := v.cluster.objects[keyOf(old)]; !there {
				events = append(events, eventOf(watch.Deleted, old))
			}
		}
	}
	return events
}

// apply brings an event to the cache and then to the handler. The cache decides
// what an event means: a change of what it does not have is an add, and the
// deletion of what it does not have is nothing.
func (v *View) apply(e Event) {
	v.mu.Lock()
	o, h := e.object(), v.handler
	var old object
	if e.Type == watch.Deleted {
		old = v.forget(o)
	} else {
		old = v.remember(o)
	}
	v.mu.Unlock()
	switch {
	case e.Type != watch.Deleted:
		announce(h, old, o)
	case old != nil:
		announce(h, o, nil)
	}
}

// announce tells h of a change: old is nil for an add, cur for a delete.
func announce(h Handler, old, cur object) {
	if h == nil {
		return
	}
	oldJob, _ := old.(*batchv1.Job)
	curJob, _ := cur.(*batchv1.Job)
	oldPod, _ := old.(*corev1.Pod)
	curPod, _ := cur.(*corev1.Pod)
	switch {
	case oldJob != nil && curJob != nil:
		h.JobUpdated(oldJob, curJob)
	case curJob != nil:
		h.JobAdded(curJob)
	case oldJob != nil:
		h.JobDeleted(oldJob)
	case oldPod != nil && curPod != nil:
		h.PodUpdated(oldPod, curPod)
	case curPod != nil:
		h.PodAdded(curPod)
	case oldPod != nil:
		h.PodDeleted(oldPod)
	}
}
