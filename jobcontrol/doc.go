// Package jobcontrol is the behaviour of the Kubernetes Job controller as a
// library. [Plan] decides, as a pure function, and [Decision.Settle] counts what was
// done; a [Controller] observes, asks them, acts and writes what they say, through
// small interfaces that an API server, an in-memory API or a laptop can stand behind.
//
// The lingua franca is batchv1.Job. A kind of your own is shown to the library
// as one, and owns its pods under its own name ([Config.Owner]).
//
// What it guarantees:
//
//   - Inputs are never changed. The same knowledge gives the same decision,
//     whatever the order of the pods.
//   - Nothing is created while something asked for is unseen. All memory is kept
//     by UID: a Job recreated under its name starts clean.
//   - Counters come from what was done, in one place: a refused creation is not
//     active, a refused deletion still is, one whose answer was lost may be.
//   - A pod is counted once: it is listed before its finalizer goes, and counted
//     after. A crash between any two calls loses nothing and counts nothing twice.
//   - A terminal condition is written last, and what tells of it, event and
//     metric, comes after the write that makes it true.
//   - A spec that cannot be honoured is an error that names the field, and
//     nothing is touched ([ErrInvalid]).
//
// Everything here is safe for concurrent use. The smallest use of the core:
//
//	decision, err := jobcontrol.Plan(jobcontrol.Snapshot{Job: job, Pods: pods, Now: now, Satisfied: true})
//	outcome := decision.Settle(jobcontrol.AllDone(decision))
//
// A sync makes the calls of the decision, writes what [Decision.Interim] says,
// removes the finalizers that it names, and writes what Settle says; what was
// done goes from step to step in a [Result]. [Tracked] accounting is in
// tracked.go and the files of its rules, one a field of the spec; the original
// algorithm, [Recount], is in recount.go. Package kube wires a Controller to a
// cluster.
package jobcontrol
