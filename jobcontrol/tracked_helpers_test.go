package jobcontrol_test

import (
	"errors"
	"slices"
	"strconv"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobwright/jobwright/fake"
	"github.com/jobwright/jobwright/jobcontrol"
)

// held makes pods as pods does, each of which holds the finalizer.
func held(phases string) []*corev1.Pod {
	made := pods(phases)
	for _, pod := range made {
		pod.Finalizers = []string{batchv1.JobTrackingFinalizer}
	}
	return made
}

// indexed makes such pods of an Indexed Job: "0R 1F" is pod 0 of index 0,
// Running, and pod 1 of index 1, Failed.
func indexed(indexes []int, phases string) []*corev1.Pod {
	made := held(phases)
	for i, pod := range made {
		setIndex(pod, strconv.Itoa(indexes[i]))
	}
	return made
}

func setIndex(pod *corev1.Pod, index string) {
	const name = batchv1.JobCompletionIndexAnnotation
	pod.Annotations = map[string]string{name: index}
	pod.Labels = map[string]string{name: index}
	pod.Spec.Hostname = "j-" + index
}

// known is what is known of a Job a minute after its start.
func known(job *batchv1.Job, pods []*corev1.Pod) jobcontrol.Snapshot {
	return jobcontrol.Snapshot{Job: job, Pods: pods, Now: epoch.Add(time.Minute), Satisfied: true}
}

// of is a stored Job with a spec.
func of(change func(*batchv1.JobSpec)) *batchv1.Job {
	job := stored(nil)
	if change != nil {
		change(&job.Spec)
	}
	return job
}

// sized is the part of a spec that says how many pods.
func sized(parallelism, completions, backoffLimit int32) func(*batchv1.JobSpec) {
	return func(s *batchv1.JobSpec) {
		s.Parallelism, s.BackoffLimit = &parallelism, &backoffLimit
		if completions >= 0 {
			s.Completions = &completions
		}
	}
}

// and applies several changes to a spec.
func and(changes ...func(*batchv1.JobSpec)) func(*batchv1.JobSpec) {
	return func(s *batchv1.JobSpec) {
		for _, change := range changes {
			change(s)
		}
	}
}

func asIndexed(s *batchv1.JobSpec) { s.CompletionMode = new(batchv1.IndexedCompletion) }

func onFailure(s *batchv1.JobSpec) {
	s.Template.Spec.RestartPolicy = corev1.RestartPolicyOnFailure
}

func replaceFailed(s *batchv1.JobSpec) { s.PodReplacementPolicy = new(batchv1.Failed) }

func suspended(s *batchv1.JobSpec) { s.Suspend = new(true) }

func perIndex(limit int32) func(*batchv1.JobSpec) {
	return func(s *batchv1.JobSpec) {
		asIndexed(s)
		s.BackoffLimitPerIndex = &limit
	}
}

// turn is a whole sync of the core in which each call went as said.
type turn struct {
	jobcontrol.Decision
	interim jobcontrol.Interim
	out     jobcontrol.Outcome
	status  batchv1.JobStatus // as it is stored afterwards
}

// turnOf decides, with all calls done, and holds the statuses to the API's rules.
func turnOf(t *testing.T, s jobcontrol.Snapshot) turn {
	t.Helper()
	d := mustPlan(t, s)
	return settled(t, s.Job, d, jobcontrol.AllDone(d))
}

// settled is turnOf for calls that went otherwise.
func settled(t *testing.T, job *batchv1.Job, d jobcontrol.Decision, r jobcontrol.Result) turn {
	t.Helper()
	done := turn{Decision: d, interim: d.Interim(r), out: d.Settle(r)}
	job = job.DeepCopy()
	for _, status := range []*batchv1.JobStatus{done.interim.Status, done.out.Status} {
		if status == nil {
			continue
		}
		if err := fake.CheckStatus(job, status); err != nil {
			t.Errorf("the API refuses: %v", err)
		}
		job.Status = *status
	}
	done.status = job.Status
	return done
}

// end is the terminal condition with its reason, "" while there is none.
func (s turn) end() string { return endOf(jobcontrol.Outcome{Status: &s.status}) }

// decided is the interim condition with its reason, "" while there is none.
func (s turn) decided() string {
	for _, c := range s.status.Conditions {
		if c.Type == batchv1.JobFailureTarget || c.Type == batchv1.JobSuccessCriteriaMet {
			return string(c.Type) + c.Reason
		}
	}
	return ""
}

// untracked are the numbers of the pods that are untracked without deletion.
func (s turn) untracked() (numbers []string) {
	for _, r := range s.interim.Untrack {
		numbers = append(numbers, r.Pod.Name)
	}
	slices.Sort(numbers)
	return numbers
}

// indexes are those of the pods to be created.
func (s turn) indexes() (indexes []int) {
	for _, slot := range s.Create {
		indexes = append(indexes, slot.Index)
	}
	return indexes
}

// failed gives pods the exit code of their container and the time of their end.
func failedWith(code int32, at time.Time, pods ...*corev1.Pod) {
	for _, pod := range pods {
		pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "main", State: corev1.ContainerState{
			Terminated: &corev1.ContainerStateTerminated{ExitCode: code, FinishedAt: metav1.Time{Time: at}},
		}}}
	}
}

// endAt moves pods to a phase, as a kubelet does whose clock is right.
func (h *harness) endAt(phase corev1.PodPhase, code int32, pods ...*corev1.Pod) {
	h.t.Helper()
	failedWith(code, h.clock.Now(), pods...)
	h.end(phase, pods...)
}

// run gives pods a node, and makes them ready.
func (h *harness) run(pods ...*corev1.Pod) {
	h.t.Helper()
	for _, pod := range pods {
		pod.Spec.NodeName = "node"
		stored, err := h.cluster.UpdatePod(h.t.Context(), pod)
		if err != nil {
			h.t.Fatal(err)
		}
		stored.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
		h.end(corev1.PodRunning, stored)
	}
}

// delete deletes a pod as a user does.
func (h *harness) delete(pod *corev1.Pod) {
	h.t.Helper()
	if err := h.cluster.Delete(h.t.Context(), pod); err != nil {
		h.t.Fatal(err)
	}
}

// remove takes a pod away as a kubelet does once its containers have stopped.
func (h *harness) remove(pod *corev1.Pod) {
	h.t.Helper()
	if err := h.cluster.RemovePod(h.t.Context(), pod); err != nil {
		h.t.Fatal(err)
	}
}

// live are the stored pods that have not ended and are not on their way out.
func (h *harness) live() []*corev1.Pod {
	return slices.DeleteFunc(h.pods(), func(pod *corev1.Pod) bool {
		return pod.DeletionTimestamp != nil || pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
	})
}

// finalized are the stored pods that hold the finalizer.
func (h *harness) finalized() []*corev1.Pod {
	return slices.DeleteFunc(h.pods(), func(pod *corev1.Pod) bool {
		return !slices.Contains(pod.Finalizers, batchv1.JobTrackingFinalizer)
	})
}

// made is the number of pods whose creation was answered with success, or was
// at least asked for when a fault was put in its way.
func (h *harness) made() int { return len(h.control.Calls(fake.Create)) }

// reborn puts a process without memory in the place of the one at work.
func (h *harness) reborn(cfg jobcontrol.Config) {
	h.t.Helper()
	h.queue = fake.NewQueue(h.clock)
	h.view = h.cluster.View()
	h.restart(cfg)
}

var errInternal = errors.New("internal error")

// refuse lets the calls for which match is true fail, until it is called with nil.
func (h *harness) refuse(match func(fake.Call) bool) {
	h.control.OnCall = func(call fake.Call) error {
		if match != nil && match(call) {
			return errInternal
		}
		return nil
	}
}
