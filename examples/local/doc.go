// Command local runs a batch/v1 Job manifest to its end on this machine, with
// each container as a process and no cluster:
//
//	local [-o yaml|json] [-logs DIR] [-svg FILE] [-backoff DELAY] [-accounting tracked|recount] JOB.yaml
//
// It is the smallest whole embedding of jobcontrol: package fake holds the Job
// and its pods, jobcontrol decides, and a kubelet of a few hundred lines runs
// the pods.
//
// What holds:
//
//   - Standard output carries the final Job and nothing else.
//   - Nothing starts before all of the manifest is known to be honoured; what
//     is not honoured is named by its field path.
//   - SIGTSTP suspends the Job, and stops the program once no pod is left;
//     SIGCONT resumes it.
//   - When the program has ended, by itself or by SIGINT, SIGTERM or SIGHUP, no
//     process that it started is left, children of children included. On
//     systems other than Linux that holds for those that stay in the process
//     group of their container.
//   - The exit status is 0 when the Job is Complete, 1 when it Failed, 2 for
//     input that cannot be run, 130 when interrupted.
package main
