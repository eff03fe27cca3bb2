// Package kube connects a jobcontrol.Controller to a Kubernetes API server
// through client-go.
//
// Run does all of it; the smallest program is
//
//	err := kube.Run(ctx, client, kube.Config{})
//
// A program with informers of its own, or that waits until it leads, takes Wire,
// which hangs a Controller on the informers of a factory; see the example of the
// package. Where that does not fit it takes the parts: NewPodControl,
// NewJobStore, NewPodStore and NewQueue are what jobcontrol.New asks for, and
// JobHandler and PodHandler go to AddEventHandler.
//
// Trim is the transform with which informers keep of Jobs and pods what decisions
// read, about 1.5 KB a pod. Run has it; informers of your own keep pods whole
// unless they are given it.
//
// What holds:
//
//   - No worker starts before both informers have told the Controller all
//     there is, and a lookup of a Job's pods never scans a namespace.
//   - One informer of pods serves all Jobs. Its objects are not changed, and
//     nothing but its watch changes the cache; so with that of the Jobs.
//   - A pod is deleted only if it still has the UID it was decided about, an
//     expired Job (see NewExpiry) only if it has not changed since. The status
//     goes through the status subresource, with the resource version it was
//     decided from.
//   - Handlers make no call. They skip what they cannot understand.
//   - What was done to pods is told by events on the owner that their
//     controller reference names, whatever its kind.
//
// A Job must have one controller. Run acts on those whose spec.managedBy is the
// Name of the Controller's Config. Without one it goes by the name of the Job
// controller of the cluster, takes the Jobs without managedBy as that does, and
// must not run beside it; give it a name of its own where both run.
//
// The calls of a Controller are bounded by jobcontrol.Config.MaxInFlight, but
// the client has limits too: those of rest.Config, 5 calls a second unless QPS
// says otherwise, make a Job of many pods slow. Set Timeout there as well: Run
// lets calls under way finish, and a call without one may take for ever.
//
// Everything here is safe for concurrent use.
package kube
