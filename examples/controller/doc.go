// Command controller reconciles the batch/v1 Jobs of a cluster whose
// spec.managedBy is -name, next to the Job controller of the cluster, which
// leaves those alone:
//
//	go -C examples/controller run . -kubeconfig ~/.kube/config
//
// It is package jobcontrol on client-go with what a deployed program needs
// around it: leader election, metrics, health, and a word about what is
// missing at start.
//
// What holds:
//
//   - Every replica keeps its caches warm; workers run on the leader only. A
//     replica writes neither pods nor Jobs beyond the end of its lease, were it
//     stopped in the middle of a sync.
//   - SIGTERM and SIGINT drain: no sync starts, those under way end, then the
//     lease is released, then the events are written, and the exit status is 0.
//     A second signal ends the program at once.
//   - Who loses the lease stops there and then, without releasing what may be
//     another's.
//   - Nothing waits in silence: without cluster, connection, context or right,
//     the program ends and says what to do.
//   - The exit status is 0 after a drain, 1 when it could not start or go on,
//     2 for flags that make no sense, 130 or 143 after a second signal.
package main
