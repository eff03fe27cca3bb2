package jobcontrol

import (
	"fmt"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
)

// ruling is what a pod failure policy makes of a failed pod (KEP-3329). The zero
// ruling counts the failure.
type ruling struct {
	action batchv1.PodFailurePolicyAction // "": no rule matched
	why    string                         // of FailJob
}

// applyPolicy applies the first rule of a policy that matches the pod.
func applyPolicy(policy *batchv1.PodFailurePolicy, pod *corev1.Pod) ruling {
	if policy == nil {
		return ruling{}
	}
	for i := range policy.Rules {
		rule := &policy.Rules[i]
		what, ok := matchRule(rule, pod)
		if !ok {
			continue
		}
		r := ruling{action: rule.Action}
		if rule.Action == batchv1.PodFailurePolicyActionFailJob {
			r.why = fmt.Sprintf("%s matching FailJob rule at index %d", what(), i)
		}
		return r
	}
	return ruling{}
}

// matchRule says whether a rule applies to a pod, and how to put in words by what.
func matchRule(rule *batchv1.PodFailurePolicyRule, pod *corev1.Pod) (what func() string, ok bool) {
	if rule.OnExitCodes != nil {
		c := matchExitCode(rule.OnExitCodes, pod)
		return func() string {
			return fmt.Sprintf("Container %s for pod %s/%s failed with exit code %d", c.Name, pod.Namespace, pod.Name, c.State.Terminated.ExitCode)
		}, c != nil
	}
	c := matchCondition(rule.OnPodConditions, pod)
	return func() string {
		return fmt.Sprintf("Pod %s/%s has condition %s", pod.Namespace, pod.Name, c.Type)
	}, c != nil
}

// matchExitCode returns the first container that failed as the rule says;
// init containers come last. Exit code 0 is no failure and matches no rule.
func matchExitCode(rule *batchv1.PodFailurePolicyOnExitCodesRequirement, pod *corev1.Pod) *corev1.ContainerStatus {
	for _, statuses := range [][]corev1.ContainerStatus{pod.Status.ContainerStatuses, pod.Status.InitContainerStatuses} {
		for i := range statuses {
			c := &statuses[i]
			if c.State.Terminated == nil || c.State.Terminated.ExitCode == 0 {
				continue
			}
			if rule.ContainerName != nil && *rule.ContainerName != c.Name {
				continue
			}
			listed := slices.Contains(rule.Values, c.State.Terminated.ExitCode)
			if listed == (rule.Operator == batchv1.PodFailurePolicyOnExitCodesOpIn) {
				return c
			}
		}
	}
	return nil
}

func matchCondition(patterns []batchv1.PodFailurePolicyOnPodConditionsPattern, pod *corev1.Pod) *corev1.PodCondition {
	for i := range pod.Status.Conditions {
		c := &pod.Status.Conditions[i]
		for _, p := range patterns {
			status := p.Status
			if status == "" {
				status = corev1.ConditionTrue // the API's default
			}
			if c.Type == p.Type && c.Status == status {
				return c
			}
		}
	}
	return nil
}
