package main

import (
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
)

func TestPolicyAction(t *testing.T) {
	rule := func(action batchv1.PodFailurePolicyAction, codes ...int32) batchv1.PodFailurePolicyRule {
		return batchv1.PodFailurePolicyRule{Action: action, OnExitCodes: &batchv1.PodFailurePolicyOnExitCodesRequirement{
			Operator: batchv1.PodFailurePolicyOnExitCodesOpIn, Values: codes}}
	}
	policy := &batchv1.PodFailurePolicy{Rules: []batchv1.PodFailurePolicyRule{
		rule(batchv1.PodFailurePolicyActionIgnore, 1, 2),
		rule(batchv1.PodFailurePolicyActionFailIndex, 2, 3),
		rule(batchv1.PodFailurePolicyActionCount, 4),
		rule(batchv1.PodFailurePolicyActionFailJob, 5),
		{Action: batchv1.PodFailurePolicyActionFailJob, OnPodConditions: []batchv1.PodFailurePolicyOnPodConditionsPattern{
			{Type: corev1.PodReady, Status: corev1.ConditionFalse}}},
	}}
	for name, tt := range map[string]struct {
		policy *batchv1.PodFailurePolicy
		code   int32
		ready  corev1.ConditionStatus
		want   batchv1.PodFailurePolicyAction
	}{
		"no policy":              {nil, 1, corev1.ConditionTrue, ""},
		"Ignore":                 {policy, 1, corev1.ConditionTrue, batchv1.PodFailurePolicyActionIgnore},
		"the first that matches": {policy, 2, corev1.ConditionTrue, batchv1.PodFailurePolicyActionIgnore},
		"FailIndex":              {policy, 3, corev1.ConditionTrue, batchv1.PodFailurePolicyActionFailIndex},
		"Count":                  {policy, 4, corev1.ConditionTrue, batchv1.PodFailurePolicyActionCount},
		"FailJob":                {policy, 5, corev1.ConditionTrue, batchv1.PodFailurePolicyActionFailJob},
		"by a condition":         {policy, 6, corev1.ConditionFalse, batchv1.PodFailurePolicyActionFailJob},
		"none matches":           {policy, 6, corev1.ConditionTrue, ""},
	} {
		t.Run(name, func(t *testing.T) {
			job := minimalJob(t)
			job.Spec.PodFailurePolicy = tt.policy
			pod := podAt("a", corev1.PodFailed, 0, exited(tt.code, 0), never)
			pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: tt.ready}}
			if got := policyAction(job, pod); got != tt.want {
				t.Errorf("action %q, want %q", got, tt.want)
			}
		})
	}
}
