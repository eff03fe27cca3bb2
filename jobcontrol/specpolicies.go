package jobcontrol

import (
	"fmt"
	"slices"
	"strconv"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// checkPolicies checks the fields of a spec that need others beside them.
func checkPolicies(spec *batchv1.JobSpec) (errs field.ErrorList) {
	indexed := valueOr(spec.CompletionMode, batchv1.NonIndexedCompletion) == batchv1.IndexedCompletion
	need := func(set, have bool, name, other string) {
		if set && !have {
			errs = append(errs, field.Forbidden(field.NewPath("spec", name), "it needs "+other))
		}
	}
	if indexed && spec.Completions == nil {
		errs = append(errs, field.Required(field.NewPath("spec", "completions"), "an Indexed Job has a number of them"))
	}
	need(spec.BackoffLimitPerIndex != nil, indexed, "backoffLimitPerIndex", "completionMode Indexed")
	need(spec.SuccessPolicy != nil, indexed, "successPolicy", "completionMode Indexed")
	need(spec.MaxFailedIndexes != nil, spec.BackoffLimitPerIndex != nil, "maxFailedIndexes", "backoffLimitPerIndex")
	need(spec.PodFailurePolicy != nil, spec.Template.Spec.RestartPolicy == corev1.RestartPolicyNever,
		"podFailurePolicy", "restartPolicy Never: a container that restarts in place never fails its pod")
	if indexed {
		errs = append(errs, checkSize(spec)...)
	}
	errs = append(errs, checkReplacement(spec)...)
	if spec.PodFailurePolicy != nil {
		errs = append(errs, checkFailurePolicy(spec.PodFailurePolicy, spec.BackoffLimitPerIndex != nil)...)
	}
	return errs
}

func checkReplacement(spec *batchv1.JobSpec) field.ErrorList {
	path := field.NewPath("spec", "podReplacementPolicy")
	known := []batchv1.PodReplacementPolicy{batchv1.TerminatingOrFailed, batchv1.Failed}
	switch p := valueOr(spec.PodReplacementPolicy, defaultReplacement(spec)); {
	case !slices.Contains(known, p):
		return field.ErrorList{field.NotSupported(path, p, known)}
	case p == batchv1.TerminatingOrFailed && spec.PodFailurePolicy != nil:
		return field.ErrorList{field.NotSupported(path, p, known[1:])}
	}
	return nil
}

func checkFailurePolicy(policy *batchv1.PodFailurePolicy, perIndex bool) (errs field.ErrorList) {
	actions := []batchv1.PodFailurePolicyAction{
		batchv1.PodFailurePolicyActionFailJob, batchv1.PodFailurePolicyActionIgnore, batchv1.PodFailurePolicyActionCount,
	}
	if perIndex {
		actions = append(actions, batchv1.PodFailurePolicyActionFailIndex)
	}
	operators := []batchv1.PodFailurePolicyOnExitCodesOperator{batchv1.PodFailurePolicyOnExitCodesOpIn, batchv1.PodFailurePolicyOnExitCodesOpNotIn}
	for i, rule := range policy.Rules {
		path := field.NewPath("spec", "podFailurePolicy", "rules").Index(i)
		if !slices.Contains(actions, rule.Action) {
			errs = append(errs, field.NotSupported(path.Child("action"), rule.Action, actions))
		}
		if (rule.OnExitCodes == nil) == (len(rule.OnPodConditions) == 0) {
			errs = append(errs, field.Invalid(path, rule.Action, "it needs one of onExitCodes and onPodConditions"))
		}
		if codes := rule.OnExitCodes; codes != nil && !slices.Contains(operators, codes.Operator) {
			errs = append(errs, field.NotSupported(path.Child("onExitCodes", "operator"), codes.Operator, operators))
		}
	}
	return errs
}

// What the API allows of an Indexed Job, so that the text of its indexes stays
// within what can be stored: among many indexes that may fail one by one, fewer
// may be at work and fail.
const (
	manyIndexes    = 100_000
	fewAmongMany   = 10_000
	maxHostnameLen = 63
)

func checkSize(spec *batchv1.JobSpec) (errs field.ErrorList) {
	limit, why := int32(manyIndexes), "an Indexed Job may not have more"
	if valueOr(spec.Completions, 0) > manyIndexes && spec.BackoffLimitPerIndex != nil {
		limit, why = fewAmongMany, "with backoffLimitPerIndex and more than 100,000 completions it may not be more"
		if spec.MaxFailedIndexes == nil {
			errs = append(errs, field.Required(field.NewPath("spec", "maxFailedIndexes"), "completions are more than 100,000"))
		}
	}
	atMost := func(value *int32, name string) {
		if valueOr(value, 0) > limit {
			errs = append(errs, field.Invalid(field.NewPath("spec", name), *value, fmt.Sprintf("%s than %d", why, limit)))
		}
	}
	atMost(spec.Parallelism, "parallelism")
	atMost(spec.MaxFailedIndexes, "maxFailedIndexes")
	return errs
}

// checkHostname refuses an Indexed Job whose pods could not have their hostname.
func checkHostname(job *batchv1.Job) field.ErrorList {
	completions := valueOr(job.Spec.Completions, 0)
	if valueOr(job.Spec.CompletionMode, "") != batchv1.IndexedCompletion || completions <= 0 {
		return nil
	}
	var digits [10]byte
	highest := strconv.AppendInt(digits[:0], int64(completions-1), 10)
	if len(job.Name)+len("-")+len(highest) <= maxHostnameLen {
		return nil
	}
	return field.ErrorList{field.Invalid(field.NewPath("metadata", "name"), job.Name,
		fmt.Sprintf("with the index behind it, it is a hostname, of at most %d characters", maxHostnameLen))}
}
