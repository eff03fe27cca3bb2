// Package kube connects a jobcontrol.Controller to a Kubernetes API server
// through client-go.
//
// Run does all of it; the smallest program is
//
//	err := kube.Run(ctx, client, kube.Config{})
//
// A program with informers of its own takes the parts instead: NewPodControl,
// NewJobStore, NewPodStore and NewQueue are what jobcontrol.New asks for, and
// JobHandler and PodHandler go to AddEventHandler. See the example of the
// package.
//
// What holds:
//
//   - No worker starts before both informers have told the Controller all
//     there is, and a lookup of pods never scans a namespace.
//   - Objects of the informers are not changed, and nothing but their watches
//     changes the caches.
//   - A pod is deleted only if it still has the UID it was decided about. The
//     status goes through the status subresource, with the resource version
//     it was decided from.
//   - Handlers make no call. They skip what they cannot understand.
//   - What was done to pods is told by events on the owner that their
//     controller reference names, whatever its kind.
//
// A Job must have one controller. Run takes every Job of its namespaces; the
// Job controller of the cluster takes those with an empty spec.managedBy. Where
// both run, give Run a namespace all of whose Jobs name another manager.
//
// The calls of a Controller are bounded by jobcontrol.Config.MaxInFlight, but
// the client has limits too: those of rest.Config, 5 calls a second unless QPS
// says otherwise, make a Job of many pods slow. Set Timeout there as well: Run
// lets calls under way finish, and a call without one may take for ever.
//
// Everything here is safe for concurrent use.
package kube
