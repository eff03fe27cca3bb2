package main

import (
	"bytes"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// podAt is a pod in a phase, its one container in a state.
func podAt(name string, phase corev1.PodPhase, restarts int32, state, last corev1.ContainerState) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID("uid-of-" + name)},
		Status: corev1.PodStatus{Phase: phase, ContainerStatuses: []corev1.ContainerStatus{
			{Name: "main", State: state, LastTerminationState: last, RestartCount: restarts}}},
	}
}

var (
	waiting = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{}}
	running = corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}
	never   = corev1.ContainerState{}
)

func exited(code, signal int32) corev1.ContainerState {
	return corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: code, Signal: signal}}
}

func TestProgressTellsARun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "job"}}
		p := newProgress(job, systemClock{}, newScreen(&out))
		var last *corev1.Pod
		see := func(after time.Duration, pod *corev1.Pod) {
			time.Sleep(after) // of the bubble: no time passes
			if last == nil {
				p.PodAdded(pod)
			} else {
				p.PodUpdated(last, pod)
			}
			last = pod
		}
		see(0, podAt("a", corev1.PodPending, 0, waiting, never))
		see(time.Second, podAt("a", corev1.PodRunning, 0, running, never))
		see(time.Second, podAt("a", corev1.PodRunning, 0, waiting, exited(3, 0)))
		see(time.Second, podAt("a", corev1.PodRunning, 1, running, exited(3, 0)))
		see(time.Second, podAt("a", corev1.PodRunning, 1, exited(137, 9), exited(3, 0)))
		see(0, podAt("a", corev1.PodFailed, 1, exited(137, 9), exited(3, 0)))
		p.PodDeleted(last)
		removed := podAt("b", corev1.PodPending, 0, waiting, never)
		p.PodAdded(removed)
		p.PodDeleted(removed)
		if p.jobState() != jobActive {
			t.Error("not active before the Job is")
		}
		time.Sleep(70 * time.Second)
		failed := job.DeepCopy()
		failed.Status.Conditions = []batchv1.JobCondition{
			{Type: batchv1.JobSuspended, Status: corev1.ConditionFalse},
			{Type: batchv1.JobFailureTarget, Status: corev1.ConditionTrue, Reason: "Because", Message: "it did"},
			{Type: batchv1.JobFailed, Status: corev1.ConditionTrue, Reason: "Because", Message: "it did"},
		}
		p.JobUpdated(job, failed)
		p.JobUpdated(failed, failed)
		if p.jobState() != jobEnded {
			t.Error("not ended when the Job is")
		}
		want := `pods: 1 active, 0 succeeded, 0 failed; 0s
pod a: main exit code 3, restart 1
pod a failed after 4s: exit code 137 (signal 9)
pods: 0 active, 0 succeeded, 1 failed; 4s
pods: 1 active, 0 succeeded, 1 failed; 4s
pod b stopped after 0s: removed
pods: 0 active, 0 succeeded, 1 failed, 1 stopped; 4s
job ns/job FailureTarget after 1m14s: Because: it did
job ns/job Failed after 1m14s: Because
`
		if diff := cmp.Diff(want, out.String()); diff != "" {
			t.Errorf("told (-want +got):\n%s", diff)
		}

		h := p.end()
		at := func(s int) time.Time { return h.start.Add(time.Duration(s) * time.Second) }
		wantPods := []*podHistory{
			{name: "a", created: at(0), running: at(1), ended: at(4), phase: corev1.PodFailed,
				end: "exit code 137 (signal 9)", restarts: []time.Time{at(3)}},
			{name: "b", created: at(4), ended: at(4), phase: corev1.PodFailed, stopped: true, end: "removed"},
		}
		if diff := cmp.Diff(wantPods, h.pods, cmp.AllowUnexported(podHistory{})); diff != "" {
			t.Errorf("history (-want +got):\n%s", diff)
		}
		wantMarks := []mark{
			{at: at(74), kind: batchv1.JobFailureTarget, reason: "Because", message: "it did"},
			{at: at(74), kind: batchv1.JobFailed, reason: "Because", message: "it did"},
		}
		if diff := cmp.Diff(wantMarks, h.marks, cmp.AllowUnexported(mark{})); diff != "" {
			t.Errorf("marks (-want +got):\n%s", diff)
		}
		if !h.end.Equal(at(74)) {
			t.Errorf("ends at %v, want %v", h.end, at(74))
		}
	})
}

func TestHistoryOfIndexes(t *testing.T) {
	h := &history{job: named("ns", "job")}
	at := func(s int64) time.Time { return time.Unix(s, 0) }
	pod := func(name, index string, phase corev1.PodPhase) *corev1.Pod {
		p := podAt(name, phase, 0, exited(3, 0), never)
		p.Annotations = map[string]string{batchv1.JobCompletionIndexAnnotation: index}
		return p
	}
	h.observePod(at(1), pod("a", "7", corev1.PodFailed), false)
	h.observePod(at(2), pod("b", "0", corev1.PodFailed), false)
	cut := pod("c", "7", corev1.PodRunning)
	h.observePod(at(3), cut, false)
	cut.DeletionTimestamp, cut.Status.Phase = new(metav1.NewTime(at(3))), corev1.PodFailed
	h.observePod(at(4), cut, false)
	h.observePod(at(5), pod("d", "7", corev1.PodFailed), false)

	job := named("ns", "job")
	see := func(now time.Time, failedIndexes string, condition batchv1.JobCondition) (kinds []batchv1.JobConditionType, failed string) {
		job.Status.FailedIndexes, job.Status.Conditions = &failedIndexes, []batchv1.JobCondition{condition}
		marks, indexes := h.observeJob(now, job)
		for _, m := range marks {
			kinds = append(kinds, m.kind)
		}
		return kinds, indexes.String()
	}
	for i, step := range []struct {
		status  corev1.ConditionStatus
		indexes string
		want    batchv1.JobConditionType
		failed  string
	}{
		{corev1.ConditionFalse, "", "", ""},
		{corev1.ConditionTrue, "0", batchv1.JobSuspended, "0"},
		{corev1.ConditionTrue, "0", "", ""},
		{corev1.ConditionFalse, "0,7", resumed, "7"},
		{corev1.ConditionTrue, "0,7", batchv1.JobSuspended, ""},
	} {
		kinds, failed := see(at(10+int64(i)), step.indexes, batchv1.JobCondition{Type: batchv1.JobSuspended, Status: step.status})
		var want []batchv1.JobConditionType
		if step.want != "" {
			want = append(want, step.want)
		}
		if diff := cmp.Diff(want, kinds); diff != "" || failed != step.failed {
			t.Errorf("step %d: failed for good %q, want %q; marks (-want +got):\n%s", i, failed, step.failed, diff)
		}
	}

	var got []string
	for _, p := range h.byIndex() {
		got = append(got, p.name+": "+p.label()+" "+p.verb()+": "+h.outcome(p))
	}
	want := []string{
		"b: index 0, attempt 1 failed: exit code 3: index failed",
		"a: index 7, attempt 1 failed: exit code 3",
		"c: index 7, attempt 2 stopped: exit code 3",
		"d: index 7, attempt 3 failed: exit code 3: index failed",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("pods (-want +got):\n%s", diff)
	}
}

func TestDescribeEnd(t *testing.T) {
	status := func(name string, state corev1.ContainerState) corev1.ContainerStatus {
		return corev1.ContainerStatus{Name: name, State: state}
	}
	for want, pod := range map[string]corev1.PodStatus{
		"exit code 0": {Phase: corev1.PodSucceeded, ContainerStatuses: []corev1.ContainerStatus{status("a", exited(0, 0))}},
		"a exit code 0, b exit code 0": {Phase: corev1.PodSucceeded,
			InitContainerStatuses: []corev1.ContainerStatus{status("a", exited(0, 0))},
			ContainerStatuses:     []corev1.ContainerStatus{status("b", exited(0, 0))}},
		"b exit code 2": {Phase: corev1.PodFailed,
			ContainerStatuses: []corev1.ContainerStatus{status("a", exited(0, 0)), status("b", exited(2, 0))}},
		"DeadlineExceeded, a exit code 143 (signal 15), b not started": {Phase: corev1.PodFailed, Reason: "DeadlineExceeded",
			InitContainerStatuses: []corev1.ContainerStatus{status("a", exited(143, 15))},
			ContainerStatuses:     []corev1.ContainerStatus{status("b", waiting)}},
		"exit code 128 (no such program)": {Phase: corev1.PodFailed, ContainerStatuses: []corev1.ContainerStatus{
			status("a", corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 128, Message: "no such program"}})}},
	} {
		t.Run(want, func(t *testing.T) {
			if got := describeEnd(&corev1.Pod{Status: pod}); got != want {
				t.Errorf("describeEnd = %q", got)
			}
		})
	}
}
