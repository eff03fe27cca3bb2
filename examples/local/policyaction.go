package main

import (
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/jobwright/jobwright/jobcontrol"
)

// policyAction returns what the failure policy of the Job makes of a failed
// pod: the action of the first rule that matches, "" if none does. No status
// tells it, so jobcontrol is asked what it would do about a Job that has this
// pod, and one rule to fail by.
func policyAction(job *batchv1.Job, pod *corev1.Pod) batchv1.PodFailurePolicyAction {
	if job.Spec.PodFailurePolicy == nil {
		return ""
	}
	pod = pod.DeepCopy()
	pod.Finalizers = []string{batchv1.JobTrackingFinalizer}
	for _, rule := range job.Spec.PodFailurePolicy.Rules {
		action := rule.Action
		rule.Action = batchv1.PodFailurePolicyActionFailJob
		question := &batchv1.Job{ObjectMeta: job.ObjectMeta}
		question.Spec.Template.Spec.RestartPolicy = corev1.RestartPolicyNever
		question.Spec.PodFailurePolicy = &batchv1.PodFailurePolicy{Rules: []batchv1.PodFailurePolicyRule{rule}}
		decision, err := jobcontrol.Plan(jobcontrol.Snapshot{Job: question, Pods: []*corev1.Pod{pod}, Satisfied: true})
		if err != nil {
			return "" // the Job itself would have been refused
		}
		status := decision.Interim(jobcontrol.AllDone(decision)).Status
		if status != nil && jobcontrol.HasCondition(status, batchv1.JobFailureTarget) {
			return action
		}
	}
	return ""
}
