package jobcontrol_test

import (
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/jobwright/jobwright/jobcontrol"
)

// succeedsBy adds a rule to the success policy: indexes "" are any, count 0 all.
func succeedsBy(indexes string, count int32) func(*batchv1.JobSpec) {
	return func(s *batchv1.JobSpec) {
		asIndexed(s)
		if s.SuccessPolicy == nil {
			s.SuccessPolicy = &batchv1.SuccessPolicy{}
		}
		var rule batchv1.SuccessPolicyRule
		if indexes != "" {
			rule.SucceededIndexes = &indexes
		}
		if count > 0 {
			rule.SucceededCount = &count
		}
		s.SuccessPolicy.Rules = append(s.SuccessPolicy.Rules, rule)
	}
}

// noIndexes adds a rule about no index at all, which the API lets pass.
func noIndexes(s *batchv1.JobSpec) {
	asIndexed(s)
	s.SuccessPolicy = &batchv1.SuccessPolicy{Rules: []batchv1.SuccessPolicyRule{{SucceededIndexes: new("")}}}
}

func TestSuccessPolicyDecides(t *testing.T) {
	tests := []struct {
		name    string
		policy  func(*batchv1.JobSpec)
		phases  string // of the pods of index 0, 1, 2, ...
		decided bool
	}{
		{"all indexes of a rule", succeedsBy("0,2", 0), "SRS", true},
		{"one is missing", succeedsBy("0,2", 0), "SSR", false},
		{"others do not matter", succeedsBy("1", 0), "SRS", false},
		{"a count of any", succeedsBy("", 2), "SRS", true},
		{"too few", succeedsBy("", 3), "SRS", false},
		{"both: a count of these", succeedsBy("0-2", 2), "SRS", true},
		{"both: others do not count", succeedsBy("0-1", 2), "SRS", false},
		{"the second rule", and(succeedsBy("1", 0), succeedsBy("", 1)), "SRR", true},
		{"indexes that the Job does not have, as after it shrank", succeedsBy("3-9", 0), "SRR", false},
		{"no indexes", noIndexes, "SRR", false},
		{"no indexes, and a rule after it", and(noIndexes, succeedsBy("0", 0)), "SRR", true},
		{"none succeeded", succeedsBy("", 1), "RRR", false},
		{"a failure is no success", succeedsBy("", 1), "FRR", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			turn := turnOf(t, known(of(and(sized(3, 3, 6), tt.policy)), indexed([]int{0, 1, 2}, tt.phases)))
			want := ""
			if tt.decided {
				want = "SuccessCriteriaMetSuccessPolicy"
			}
			if turn.decided() != want {
				t.Errorf("decided %q, want %q", turn.decided(), want)
			}
			if tt.decided && len(turn.Create) != 0 {
				t.Errorf("creates %d", len(turn.Create))
			}
		})
	}
}

func TestB11ASuccessfulJobWaitsForItsPodsToGo(t *testing.T) {
	h := running(t, newJob(and(sized(3, 3, 6), succeedsBy("0-1", 1))))
	h.endAt(corev1.PodSucceeded, 0, h.pods()[0])
	h.settle()
	c := jobcontrol.Condition(&h.job().Status, batchv1.JobSuccessCriteriaMet)
	if c == nil || c.Reason != batchv1.JobReasonSuccessPolicy {
		t.Fatalf("SuccessCriteriaMet is %+v", c)
	}
	h.wantStatus(0, 1, 0, "")
	if got := *h.job().Status.Terminating; got != 2 || len(h.live()) != 0 {
		t.Errorf("terminating %d, %d live; want 2, 0", got, len(h.live()))
	}
	for _, pod := range h.pods() {
		if pod.DeletionTimestamp != nil {
			h.remove(pod)
		}
	}
	h.settle()
	h.wantStatus(0, 1, 0, batchv1.JobComplete)
	if end := jobcontrol.End(h.job()); end.Reason != batchv1.JobReasonSuccessPolicy || h.job().Status.CompletionTime == nil {
		t.Errorf("ends by %+v at %v", end, h.job().Status.CompletionTime)
	}
	if len(h.finalized()) != 0 || h.made() != 3 {
		t.Errorf("%d pods hold the finalizer, %d were made", len(h.finalized()), h.made())
	}
}

func TestS18ASuccessStaysThoughAPodThenFailsTheJob(t *testing.T) {
	job := of(and(sized(2, 2, 0), succeedsBy("0", 0), failJobOn(42)))
	turn := turnOf(t, known(job, indexed([]int{0, 1}, "SR")))
	job.Status = turn.status
	made := indexed([]int{0, 1}, "SF")
	made[0].Finalizers = nil
	failedWith(42, epoch, made[1])
	turn = turnOf(t, known(job, made))
	if turn.end() != "CompleteSuccessPolicy" {
		t.Errorf("ends %q", turn.end())
	}
}

func TestSuccessIsReplaceable(t *testing.T) {
	s := known(of(and(sized(3, 3, 6), succeedsBy("0", 0))), indexed([]int{0, 1, 2}, "SSR"))
	s.Judgement.Success = func(_ *batchv1.Job, succeeded jobcontrol.Indexes) (string, bool) {
		return "a quorum of " + succeeded.String(), succeeded.Len() >= 2
	}
	turn := turnOf(t, s)
	c := jobcontrol.Condition(&turn.status, batchv1.JobSuccessCriteriaMet)
	if c == nil || c.Message != "a quorum of 0,1" || c.Reason != batchv1.JobReasonSuccessPolicy {
		t.Errorf("SuccessCriteriaMet is %+v", c)
	}
	t.Run("it replaces the policy", func(t *testing.T) {
		s.Judgement.Success = func(*batchv1.Job, jobcontrol.Indexes) (string, bool) { return "", false }
		if turn := turnOf(t, s); turn.decided() != "" {
			t.Errorf("decided %q", turn.decided())
		}
	})
	t.Run("completions are a success in any case", func(t *testing.T) {
		s.Pods = indexed([]int{0, 1, 2}, "SSS")
		if turn := turnOf(t, s); turn.end() != "CompleteCompletionsReached" {
			t.Errorf("ends %q", turn.end())
		}
	})
}
