// Package fake has doubles for the unit tests of those who embed jobcontrol. They
// are small real implementations rather than mocks: what they answer is what a
// cluster would.
//
//   - Clock moves only when told to.
//   - Queue is the rate-limiting queue, by that clock, open to inspection.
//   - PodControl records calls and lets chosen ones fail, before anything changes.
//   - Cluster is an API for Jobs and Pods: names, UIDs, resource versions with
//     conflicts, finalizers, graceful deletion, owner garbage collection, and
//     the rules about a Job's status, which CheckStatus has for any test.
//   - View is what one process knows of a Cluster. Watch events are queued, for a
//     test to deliver, delay, reorder or drop them.
//   - TestPodControl holds any PodControl to what jobcontrol relies on.
//
// What goes in and what comes out is copied, except what a View hands out of its
// cache, which is shared and read-only as with an informer. A context that has
// ended gives its error before anything changes. Names, UIDs and resource
// versions come from counters, so the same calls give the same objects. All
// types are safe for concurrent use.
//
// The Cluster has a store of its own. The ObjectTracker of client-go keeps what
// it is given: it knows no resource versions, preconditions, finalizers or
// generated UIDs, and its watches cannot be held back, so all that is of interest
// here would have to be built around it.
//
//	control := &fake.PodControl{}
//	control.FailCall(2, errors.New("quota exceeded"))
package fake
