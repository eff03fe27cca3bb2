package e2e

import (
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/jobwright/jobwright/jobcontrol"
	"github.com/jobwright/jobwright/jobcontrol/kube"
)

// A Job that fails again and again is retried ever later, and given up when it
// has failed more often than backoffLimit.
func TestBackoffLimit(t *testing.T) {
	w := newWorld(t)
	w.control(kube.Config{Controller: quick})
	stubborn := newJob("stubborn", 1, 1)
	stubborn.Spec.BackoffLimit = new(int32(2))
	w.submit(stubborn)
	var failed []time.Time
	var created []time.Time
	for range 3 {
		pod := w.finish("stubborn", fails)
		created = append(created, pod.CreationTimestamp.Time)
		failed = append(failed, time.Now())
	}
	job := w.awaitEnd("stubborn", batchv1.JobFailed, batchv1.JobReasonBackoffLimitExceeded)
	w.counts(job, 0, 3)
	w.wantPods("stubborn", 3)
	for i, least := range []time.Duration{time.Second, 2 * time.Second} {
		// The API keeps whole seconds.
		if waited := created[i+1].Sub(failed[i].Truncate(time.Second)); waited < least {
			t.Errorf("pod %d was created %v after the one before had failed, want at least %v", i+2, waited, least)
		}
	}
}

// Each index has a limit of its own: one that fails too often fails alone, the
// others go on, and the Job fails in the end.
func TestBackoffLimitPerIndex(t *testing.T) {
	w := newWorld(t)
	w.control(kube.Config{Controller: quick})
	tests := newIndexedJob("tests", 3, 3)
	tests.Spec.BackoffLimitPerIndex = new(int32(1))
	w.submit(tests)
	w.awaitPods("tests", 3)
	first := w.finishIndex("tests", 1, fails)
	second := w.finishWhere("tests", fails, func(pod *corev1.Pod) bool { return runs(pod) && indexOf(pod) == 1 && pod.Name != first.Name })
	if got := second.Annotations[batchv1.JobIndexFailureCountAnnotation]; got != "1" {
		t.Errorf("the second pod of the index is told of %q failures, want 1", got)
	}
	w.awaitJob("tests", "index 1 has failed", func(job *batchv1.Job) bool {
		return job.Status.FailedIndexes != nil && *job.Status.FailedIndexes == "1"
	})
	w.finishIndex("tests", 0, succeeds)
	w.finishIndex("tests", 2, succeeds)
	job := w.awaitEnd("tests", batchv1.JobFailed, batchv1.JobReasonFailedIndexes)
	w.counts(job, 2, 2)
	if got := job.Status.CompletedIndexes; got != "0,2" {
		t.Errorf("completedIndexes %q, want 0,2", got)
	}
	w.wantPods("tests", 4)
}

// With maxFailedIndexes the Job is given up before all indexes were tried.
func TestMaxFailedIndexes(t *testing.T) {
	w := newWorld(t)
	w.control(kube.Config{Controller: quick})
	tests := newIndexedJob("tests", 10, 2)
	tests.Spec.BackoffLimitPerIndex, tests.Spec.MaxFailedIndexes = new(int32(0)), new(int32(1))
	w.submit(tests)
	w.finishIndex("tests", 0, fails)
	w.finishIndex("tests", 1, fails)
	job := w.awaitEnd("tests", batchv1.JobFailed, batchv1.JobReasonMaxFailedIndexesExceeded)
	if got := job.Status.FailedIndexes; got == nil || *got != "0,1" {
		t.Errorf("failedIndexes %v, want 0,1", job.Status)
	}
}

// The pod failure policy, action by action.
func TestPodFailurePolicy(t *testing.T) {
	onExit := func(action batchv1.PodFailurePolicyAction, codes ...int32) batchv1.PodFailurePolicyRule {
		return batchv1.PodFailurePolicyRule{Action: action, OnExitCodes: &batchv1.PodFailurePolicyOnExitCodesRequirement{
			Operator: batchv1.PodFailurePolicyOnExitCodesOpIn, Values: codes,
		}}
	}
	disrupted := []batchv1.PodFailurePolicyOnPodConditionsPattern{{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue}}
	start := func(t *testing.T, job *batchv1.Job, rules ...batchv1.PodFailurePolicyRule) *world {
		w := newWorld(t)
		w.control(kube.Config{Controller: quick})
		job.Spec.PodFailurePolicy = &batchv1.PodFailurePolicy{Rules: rules}
		w.submit(job)
		return w
	}

	t.Run("FailJob ends the Job at once, and its other pods with it", func(t *testing.T) {
		w := start(t, newJob("j", 3, 3), onExit(batchv1.PodFailurePolicyActionFailJob, 42))
		w.awaitPods("j", 3)
		w.finish("j", fate{exit: 42})
		job := w.awaitEnd("j", batchv1.JobFailed, batchv1.JobReasonPodFailurePolicy)
		w.counts(job, 0, 3)
		w.wantPods("j", 3)
	})
	t.Run("FailIndex spares the index its retries", func(t *testing.T) {
		job := newIndexedJob("j", 2, 2)
		job.Spec.BackoffLimitPerIndex = new(int32(5))
		w := start(t, job, onExit(batchv1.PodFailurePolicyActionFailIndex, 42))
		w.awaitPods("j", 2)
		w.finishIndex("j", 0, fate{exit: 42})
		w.finishIndex("j", 1, succeeds)
		ended := w.awaitEnd("j", batchv1.JobFailed, batchv1.JobReasonFailedIndexes)
		w.counts(ended, 1, 1)
		w.wantPods("j", 2)
	})
	t.Run("Ignore counts a disruption nowhere", func(t *testing.T) {
		job := newJob("j", 1, 1)
		job.Spec.BackoffLimit = new(int32(0))
		w := start(t, job, batchv1.PodFailurePolicyRule{Action: batchv1.PodFailurePolicyActionIgnore, OnPodConditions: disrupted})
		first := w.finish("j", fate{exit: 137, condition: corev1.DisruptionTarget})
		w.finishWhere("j", succeeds, besides(first))
		w.counts(w.awaitEnd("j", batchv1.JobComplete, batchv1.JobReasonCompletionsReached), 1, 0)
		w.wantPods("j", 2)
	})
	t.Run("Count is what happens anyway", func(t *testing.T) {
		job := newJob("j", 1, 1)
		job.Spec.BackoffLimit = new(int32(0))
		w := start(t, job, onExit(batchv1.PodFailurePolicyActionCount, 42), onExit(batchv1.PodFailurePolicyActionFailJob, 42))
		w.finish("j", fate{exit: 42})
		w.counts(w.awaitEnd("j", batchv1.JobFailed, batchv1.JobReasonBackoffLimitExceeded), 0, 1)
	})
}

// The success policy ends a Job when the indexes that matter have succeeded.
func TestSuccessPolicy(t *testing.T) {
	start := func(t *testing.T, rule batchv1.SuccessPolicyRule) *world {
		w := newWorld(t)
		w.control(kube.Config{})
		job := newIndexedJob("j", 4, 4)
		job.Spec.SuccessPolicy = &batchv1.SuccessPolicy{Rules: []batchv1.SuccessPolicyRule{rule}}
		w.submit(job)
		w.awaitPods("j", 4)
		return w
	}
	t.Run("the leader", func(t *testing.T) {
		w := start(t, batchv1.SuccessPolicyRule{SucceededIndexes: new("0")})
		w.finishIndex("j", 0, succeeds)
		job := w.awaitEnd("j", batchv1.JobComplete, batchv1.JobReasonSuccessPolicy)
		if job.Status.Succeeded != 1 || job.Status.CompletedIndexes != "0" {
			t.Errorf("succeeded %d, completedIndexes %q, want 1 and 0", job.Status.Succeeded, job.Status.CompletedIndexes)
		}
	})
	t.Run("any two", func(t *testing.T) {
		w := start(t, batchv1.SuccessPolicyRule{SucceededCount: new(int32(2))})
		w.finishIndex("j", 3, succeeds)
		w.finishIndex("j", 1, succeeds)
		if job := w.awaitEnd("j", batchv1.JobComplete, batchv1.JobReasonSuccessPolicy); job.Status.CompletedIndexes != "1,3" {
			t.Errorf("completedIndexes %q, want 1,3", job.Status.CompletedIndexes)
		}
	})
	t.Run("two of the first three", func(t *testing.T) {
		w := start(t, batchv1.SuccessPolicyRule{SucceededIndexes: new("0-2"), SucceededCount: new(int32(2))})
		w.finishIndex("j", 3, succeeds)
		w.finishIndex("j", 2, succeeds)
		w.awaitJob("j", "two have succeeded", func(job *batchv1.Job) bool { return job.Status.Succeeded == 2 })
		if jobcontrol.End(w.job("j")) != nil {
			t.Error("ended with one of the first three")
		}
		w.finishIndex("j", 0, succeeds)
		w.awaitEnd("j", batchv1.JobComplete, batchv1.JobReasonSuccessPolicy)
	})
}

// What replaces a pod that takes its time to stop: with Failed nothing, until it
// has stopped; with TerminatingOrFailed a new one, at once.
func TestPodReplacementPolicy(t *testing.T) {
	for policy, atOnce := range map[batchv1.PodReplacementPolicy]bool{batchv1.Failed: false, batchv1.TerminatingOrFailed: true} {
		t.Run(string(policy), func(t *testing.T) {
			w := newWorld(t)
			w.control(kube.Config{Controller: quick})
			w.kubelet.termination = time.Hour // until the test says
			job := newJob("j", 1, 1)
			job.Spec.PodReplacementPolicy = &policy
			w.submit(job)
			first := w.awaitPods("j", 1)[0]
			w.deletePod(first)
			if atOnce {
				w.awaitPods("j", 1)
				w.awaitJob("j", "one pod is active, one terminating", func(job *batchv1.Job) bool {
					return job.Status.Active == 1 && job.Status.Terminating != nil && *job.Status.Terminating == 1
				})
			} else {
				w.awaitJob("j", "no pod is active, one terminating", func(job *batchv1.Job) bool {
					return job.Status.Active == 0 && job.Status.Terminating != nil && *job.Status.Terminating == 1
				})
				w.wantPods("j", 1)
			}
			w.kubelet.end(first, fate{exit: 143})
			w.finishWhere("j", succeeds, besides(first))
			w.counts(w.awaitEnd("j", batchv1.JobComplete, batchv1.JobReasonCompletionsReached), 1, 1)
			w.wantPods("j", 2)
		})
	}
}
