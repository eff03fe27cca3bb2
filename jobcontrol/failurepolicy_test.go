package jobcontrol_test

import (
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/jobwright/jobwright/jobcontrol"
)

const (
	failJob   = batchv1.PodFailurePolicyActionFailJob
	failIndex = batchv1.PodFailurePolicyActionFailIndex
	ignore    = batchv1.PodFailurePolicyActionIgnore
	countIt   = batchv1.PodFailurePolicyActionCount
)

// failJobOn is a failure policy that ends the Job by an exit code.
func failJobOn(code int32) func(*batchv1.JobSpec) { return ruled(failJob, code) }

// ruled adds a rule on exit codes to the failure policy.
func ruled(action batchv1.PodFailurePolicyAction, codes ...int32) func(*batchv1.JobSpec) {
	return withRule(batchv1.PodFailurePolicyRule{Action: action, OnExitCodes: &batchv1.PodFailurePolicyOnExitCodesRequirement{
		Operator: batchv1.PodFailurePolicyOnExitCodesOpIn, Values: codes,
	}})
}

func withRule(rule batchv1.PodFailurePolicyRule) func(*batchv1.JobSpec) {
	return func(s *batchv1.JobSpec) {
		if s.PodFailurePolicy == nil {
			s.PodFailurePolicy = &batchv1.PodFailurePolicy{}
		}
		s.PodFailurePolicy.Rules = append(s.PodFailurePolicy.Rules, rule)
	}
}

func onCondition(action batchv1.PodFailurePolicyAction, kind corev1.PodConditionType, status corev1.ConditionStatus) func(*batchv1.JobSpec) {
	return withRule(batchv1.PodFailurePolicyRule{Action: action, OnPodConditions: []batchv1.PodFailurePolicyOnPodConditionsPattern{{Type: kind, Status: status}}})
}

// exited is a container that has ended, or runs when the code is negative.
func exited(name string, code int32) corev1.ContainerStatus {
	c := corev1.ContainerStatus{Name: name}
	if code >= 0 {
		c.State.Terminated = &corev1.ContainerStateTerminated{ExitCode: code}
	}
	return c
}

func TestFailurePolicyMatches(t *testing.T) {
	in, notIn := batchv1.PodFailurePolicyOnExitCodesOpIn, batchv1.PodFailurePolicyOnExitCodesOpNotIn
	codes := func(container string, op batchv1.PodFailurePolicyOnExitCodesOperator, values ...int32) func(*batchv1.JobSpec) {
		rule := &batchv1.PodFailurePolicyOnExitCodesRequirement{Operator: op, Values: values}
		if container != "" {
			rule.ContainerName = &container
		}
		return withRule(batchv1.PodFailurePolicyRule{Action: failJob, OnExitCodes: rule})
	}
	tests := []struct {
		name       string
		rule       func(*batchv1.JobSpec)
		containers []corev1.ContainerStatus
		init       []corev1.ContainerStatus
		matches    string // the container in the message, "" no match
	}{
		{"In, listed", codes("", in, 1, 42), []corev1.ContainerStatus{exited("a", 42)}, nil, "a"},
		{"In, not listed", codes("", in, 1), []corev1.ContainerStatus{exited("a", 42)}, nil, ""},
		{"NotIn, not listed", codes("", notIn, 1), []corev1.ContainerStatus{exited("a", 42)}, nil, "a"},
		{"NotIn, listed", codes("", notIn, 42), []corev1.ContainerStatus{exited("a", 42)}, nil, ""},
		{"NotIn does not match a success", codes("", notIn, 42), []corev1.ContainerStatus{exited("a", 0)}, nil, ""},
		{"the second container", codes("", in, 42), []corev1.ContainerStatus{exited("a", 0), exited("b", 42)}, nil, "b"},
		{"one that still runs is no match", codes("", notIn, 1), []corev1.ContainerStatus{exited("a", -1)}, nil, ""},
		{"by name", codes("b", in, 42), []corev1.ContainerStatus{exited("a", 42), exited("b", 42)}, nil, "b"},
		{"by name, another failed", codes("b", in, 42), []corev1.ContainerStatus{exited("a", 42), exited("b", 1)}, nil, ""},
		{"an init container", codes("", in, 42), nil, []corev1.ContainerStatus{exited("i", 42)}, "i"},
		{"an init container by name", codes("i", in, 42), []corev1.ContainerStatus{exited("a", 42)}, []corev1.ContainerStatus{exited("i", 42)}, "i"},
		{"no container at all", codes("", notIn, 42), nil, nil, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			made := held("F")
			made[0].Status.ContainerStatuses, made[0].Status.InitContainerStatuses = tt.containers, tt.init
			turn := turnOf(t, known(of(and(sized(1, 1, 6), tt.rule)), made))
			var got string
			if c := jobcontrol.Condition(&turn.status, batchv1.JobFailureTarget); c != nil {
				got = c.Message
			}
			if (tt.matches == "") != (got == "") || !strings.Contains(got, "Container "+tt.matches) && tt.matches != "" {
				t.Errorf("message %q, want a match of %q", got, tt.matches)
			}
		})
	}
}

func TestFailurePolicyMatchesConditions(t *testing.T) {
	for name, tt := range map[string]struct {
		rule, pod corev1.ConditionStatus
		matches   bool
	}{
		"True":            {corev1.ConditionTrue, corev1.ConditionTrue, true},
		"False":           {corev1.ConditionTrue, corev1.ConditionFalse, false},
		"absent is True":  {"", corev1.ConditionTrue, true},
		"absent, False":   {"", corev1.ConditionFalse, false},
		"False is wanted": {corev1.ConditionFalse, corev1.ConditionFalse, true},
	} {
		t.Run(name, func(t *testing.T) {
			made := held("F")
			made[0].Status.Conditions = []corev1.PodCondition{{Type: "Other", Status: tt.rule}, {Type: corev1.DisruptionTarget, Status: tt.pod}}
			turn := turnOf(t, known(of(and(sized(1, 1, 6), onCondition(failJob, corev1.DisruptionTarget, tt.rule))), made))
			if got := turn.end() == "FailedPodFailurePolicy"; got != tt.matches {
				t.Errorf("matches %v, want %v", got, tt.matches)
			}
		})
	}
}

func TestFailurePolicyActs(t *testing.T) {
	tests := []struct {
		name            string
		policy          func(*batchv1.JobSpec)
		backoffLimit    int32
		failed, creates int
		end             string
	}{
		{"Ignore: it counts nowhere", ruled(ignore, 42), 0, 0, 1, ""},
		{"Count: it counts", ruled(countIt, 42), 0, 1, 0, "FailedBackoffLimitExceeded"},
		{"no rule matches: it counts", ruled(ignore, 1), 0, 1, 0, "FailedBackoffLimitExceeded"},
		{"FailJob", failJobOn(42), 6, 1, 0, "FailedPodFailurePolicy"},
		{"the first rule that matches decides: Ignore", and(ruled(ignore, 42), failJobOn(42)), 0, 0, 1, ""},
		{"the first rule that matches decides: Count", and(ruled(ignore, 1), ruled(countIt, 42), failJobOn(42)), 6, 1, 1, ""},
		{"FailJob comes before backoffLimit", failJobOn(42), 0, 1, 0, "FailedPodFailurePolicy"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			made := held("F")
			failedWith(42, epoch, made...)
			turn := turnOf(t, known(of(and(sized(1, 1, tt.backoffLimit), tt.policy)), made))
			if int(turn.status.Failed) != tt.failed || len(turn.Create) != tt.creates || turn.end() != tt.end {
				t.Errorf("failed %d, creates %d, ends %q; want %d, %d, %q", turn.status.Failed, len(turn.Create), turn.end(), tt.failed, tt.creates, tt.end)
			}
			if len(turn.interim.Untrack) != 1 {
				t.Errorf("untracked %v, want the pod whatever the rule", turn.untracked())
			}
		})
	}
}

// TestB21OnlyEndedPodsAreJudged: before that, exit code and conditions are not final.
func TestB21OnlyEndedPodsAreJudged(t *testing.T) {
	for _, phase := range []string{"r", "p", "u"} {
		made := held(phase)
		failedWith(42, epoch, made...)
		job := of(and(sized(1, 1, 0), failJobOn(42)))
		turn := turnOf(t, known(job, made))
		if turn.decided() != "" || turn.status.Failed != 0 || len(turn.Create) != 0 || len(turn.interim.Untrack) != 0 {
			t.Errorf("%q: decided %q, failed %d, creates %d, untracks %v", phase, turn.decided(), turn.status.Failed, len(turn.Create), turn.untracked())
		}
		if *turn.status.Terminating != 1 {
			t.Errorf("B101 %q: terminating %d, want 1", phase, *turn.status.Terminating)
		}
		made[0].Status.Phase = corev1.PodFailed
		if turn := turnOf(t, known(job, made)); turn.end() != "FailedPodFailurePolicy" {
			t.Errorf("%q, then Failed: ends %q", phase, turn.end())
		}
	}
}

// TestS20FailureIsJudgedBeforeSuccess although both have come about.
func TestS20FailureIsJudgedBeforeSuccess(t *testing.T) {
	made := indexed([]int{0, 1}, "SF")
	failedWith(42, epoch, made[1])
	job := of(and(sized(2, 2, 6), asIndexed, failJobOn(42), succeedsBy("0", 0)))
	if turn := turnOf(t, known(job, made)); turn.end() != "FailedPodFailurePolicy" {
		t.Errorf("ends %q", turn.end())
	}
}

// TestB60ARetryIsComputedFromThePods and not from conditions written before.
func TestB60ARetryIsComputedFromThePods(t *testing.T) {
	h := newHarness(t, epoch, unbatched)
	h.submit(newJob(and(sized(1, 1, 0), ruled(ignore, 137))))
	for range 3 {
		h.endAt(corev1.PodFailed, 137, h.live()...)
		h.untilMade(1 << 40)
	}
	h.wantStatus(1, 0, 0, "")
	h.endAt(corev1.PodFailed, 1, h.live()...)
	h.settle()
	h.wantStatus(0, 0, 1, batchv1.JobFailed)
}

// TestB87JudgementIsReplaceable by functions of the embedder's.
func TestB87JudgementIsReplaceable(t *testing.T) {
	code := func(pod *corev1.Pod) int32 { return pod.Status.ContainerStatuses[0].State.Terminated.ExitCode }
	t.Run("Counts", func(t *testing.T) {
		made := held("FF")
		failedWith(1, epoch, made[0])
		failedWith(143, epoch, made[1])
		s := known(of(sized(2, 2, 1)), made)
		s.Judgement.Counts = func(job *batchv1.Job, pod *corev1.Pod) bool { return job == s.Job && code(pod) < 128 }
		turn := turnOf(t, s)
		if turn.status.Failed != 1 || len(turn.interim.Untrack) != 2 || len(turn.Create) != 2 {
			t.Errorf("failed %d, untracks %d, creates %d; want 1, 2, 2", turn.status.Failed, len(turn.interim.Untrack), len(turn.Create))
		}
	})
	t.Run("Failed", func(t *testing.T) {
		asked := map[corev1.PodPhase]bool{}
		s := known(of(sized(4, 4, 9)), held("RSFrs"))
		s.Judgement.Failed = func(_ *batchv1.Job, pod *corev1.Pod) bool {
			asked[pod.Status.Phase] = true
			return pod.Status.Phase == corev1.PodFailed // one on its way out has not failed
		}
		turn := turnOf(t, s)
		if turn.status.Failed != 1 || turn.status.Succeeded != 2 || asked[corev1.PodSucceeded] {
			t.Errorf("failed %d, succeeded %d, asked %v", turn.status.Failed, turn.status.Succeeded, asked)
		}
	})
	t.Run("DeletionOrder", func(t *testing.T) {
		s := known(of(sized(1, 3, 9)), held("RRR"))
		s.Judgement.DeletionOrder = func(a, b *corev1.Pod) int { return strings.Compare(b.Name, a.Name) }
		turn := turnOf(t, s)
		if len(turn.Delete) != 2 || turn.Delete[0].Pod.Name != "j-2" || turn.Delete[1].Pod.Name != "j-1" {
			t.Errorf("deletes %v", turn.Delete)
		}
	})
}
