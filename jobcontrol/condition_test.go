package jobcontrol_test

import (
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/jobwright/jobwright/jobcontrol"
)

func TestIsFinished(t *testing.T) {
	tests := []struct {
		kind   batchv1.JobConditionType
		status corev1.ConditionStatus
		want   bool
	}{
		{batchv1.JobComplete, corev1.ConditionTrue, true},
		{batchv1.JobFailed, corev1.ConditionTrue, true},
		{batchv1.JobComplete, corev1.ConditionFalse, false},
		{batchv1.JobFailed, corev1.ConditionUnknown, false},
		{batchv1.JobFailureTarget, corev1.ConditionTrue, false},
		{batchv1.JobSuspended, corev1.ConditionTrue, false},
	}
	for _, tt := range tests {
		job := &batchv1.Job{Status: batchv1.JobStatus{Conditions: []batchv1.JobCondition{{Type: tt.kind, Status: tt.status}}}}
		if got := jobcontrol.IsFinished(job); got != tt.want {
			t.Errorf("%s %s: finished %v", tt.kind, tt.status, got)
		}
	}
	if jobcontrol.IsFinished(&batchv1.Job{}) {
		t.Error("a Job without conditions is finished")
	}
}

func TestCondition(t *testing.T) {
	status := &batchv1.JobStatus{Conditions: []batchv1.JobCondition{{Type: batchv1.JobFailed, Reason: "a"}}}
	jobcontrol.Condition(status, batchv1.JobFailed).Reason = "b"
	if status.Conditions[0].Reason != "b" {
		t.Error("Condition returns a copy, want a pointer into the status")
	}
	if c := jobcontrol.Condition(status, batchv1.JobComplete); c != nil {
		t.Errorf("a condition that is not there is %v", c)
	}
}

// TestAConditionHasOneEntry: a terminal condition that somebody set to False
// becomes True in its place.
func TestAConditionHasOneEntry(t *testing.T) {
	job := stored(func(j *batchv1.Job) {
		j.Status.Conditions = []batchv1.JobCondition{{Type: batchv1.JobComplete, Status: corev1.ConditionFalse, Message: "old"}}
	})
	got := mustPlan(t, snapshot(job, "S")).Settle(jobcontrol.Result{}).Status.Conditions
	if len(got) != 1 || got[0].Status != corev1.ConditionTrue || got[0].Message != "" {
		t.Errorf("conditions %+v", got)
	}
}
