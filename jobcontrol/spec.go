package jobcontrol

import (
	"errors"
	"fmt"
	"math"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// ErrInvalid marks an error that no retry mends: a key that is not
// "namespace/name", or a spec that cannot be honoured. The error that wraps it
// quotes the key or names the field. Nothing was created, changed or deleted.
var ErrInvalid = errors.New("invalid")

// defaultParallelism is what the API puts in the place of absent parallelism
// and completions.
const defaultParallelism int32 = 1

// Default fills in what the caller left out of the Job, as the API server does
// for a batch/v1 Job, in place. A nil completions beside a set parallelism
// stays nil: that is a work queue. The selector and its labels are generated
// from the Job's UID, unless the Job selects its pods by hand
// (spec.manualSelector) or has no UID yet.
func Default(job *batchv1.Job) { Names{}.Default(job) }

// Default is the function of that name with these names on the pods.
func (n Names) Default(job *batchv1.Job) {
	spec := &job.Spec
	if spec.Completions == nil && spec.Parallelism == nil {
		spec.Completions = new(defaultParallelism)
	}
	setDefault(&spec.Parallelism, defaultParallelism)
	setDefault(&spec.BackoffLimit, defaultBackoffLimit(spec))
	setDefault(&spec.CompletionMode, batchv1.NonIndexedCompletion)
	setDefault(&spec.Suspend, false)
	setDefault(&spec.ManualSelector, false)
	setDefault(&spec.PodReplacementPolicy, defaultReplacement(spec))
	if spec.Selector == nil && !*spec.ManualSelector && job.UID != "" {
		spec.Selector = &metav1.LabelSelector{MatchLabels: n.selector(job.UID)}
		spec.Template.Labels = podLabels(job, n)
	}
}

func setDefault[T any](p **T, value T) {
	if *p == nil {
		*p = &value
	}
}

// selector is what the generated selector of a Job asks of its pods.
func (n Names) selector(uid types.UID) map[string]string {
	return map[string]string{n.controllerUID(): string(uid)}
}

// Validate says whether Plan can honour the Job, in the default accounting
// mode. The error names every field that it cannot, and wraps ErrInvalid.
// Absent fields have their default meaning.
func Validate(job *batchv1.Job) error {
	_, err := readSpec(job, Tracked, Names{})
	return err
}

// jobSpec is a checked spec with the defaults in place.
type jobSpec struct {
	parallelism  int32
	completions  int32 // of no meaning in a work queue
	workQueue    bool  // completions is nil: the first success decides
	backoffLimit int32
	deadline     time.Duration // noDeadline: none
	selector     labels.Selector

	indexed           bool
	suspended         bool
	onFailure         bool   // containers restart in place
	replaceFailedOnly bool   // podReplacementPolicy Failed
	perIndex          *int32 // backoffLimitPerIndex
	maxFailedIndexes  *int32
	failurePolicy     *batchv1.PodFailurePolicy
	successRules      []successRule
}

// readSpec reads the spec once, so that nothing behind it meets a nil or a
// value out of range.
func readSpec(job *batchv1.Job, mode Accounting, names Names) (jobSpec, error) {
	if job == nil {
		return jobSpec{}, fmt.Errorf("%w: no Job", ErrInvalid)
	}
	if err := mode.check(); err != nil {
		return jobSpec{}, err
	}
	errs := checkNumbers(&job.Spec)
	errs = append(errs, checkMode(&job.Spec)...)
	errs = append(errs, checkTemplate(&job.Spec.Template)...)
	errs = append(errs, checkSupported(&job.Spec, mode)...)
	errs = append(errs, checkHostname(job)...)
	selector, selectorErrs := readSelector(job, names)
	errs = append(errs, selectorErrs...)
	successRules, err := readSuccessPolicy(job.Spec.SuccessPolicy, int(valueOr(job.Spec.Completions, 0)))
	if err != nil {
		errs = append(errs, field.Invalid(field.NewPath("spec", "successPolicy"), "", err.Error()))
	}
	if len(errs) > 0 {
		return jobSpec{}, fmt.Errorf("%w: Job %s/%s: %w", ErrInvalid, job.Namespace, job.Name, errs.ToAggregate())
	}
	s := jobSpec{
		parallelism:  valueOr(job.Spec.Parallelism, defaultParallelism),
		completions:  valueOr(job.Spec.Completions, defaultParallelism),
		workQueue:    job.Spec.Completions == nil && job.Spec.Parallelism != nil,
		deadline:     noDeadline,
		backoffLimit: valueOr(job.Spec.BackoffLimit, defaultBackoffLimit(&job.Spec)),
		selector:     selector,

		indexed:           valueOr(job.Spec.CompletionMode, "") == batchv1.IndexedCompletion,
		suspended:         valueOr(job.Spec.Suspend, false),
		onFailure:         job.Spec.Template.Spec.RestartPolicy == corev1.RestartPolicyOnFailure,
		replaceFailedOnly: job.Spec.PodFailurePolicy != nil || valueOr(job.Spec.PodReplacementPolicy, "") == batchv1.Failed,
		perIndex:          job.Spec.BackoffLimitPerIndex,
		maxFailedIndexes:  job.Spec.MaxFailedIndexes,
		failurePolicy:     job.Spec.PodFailurePolicy,
		successRules:      successRules,
	}
	if job.Spec.ActiveDeadlineSeconds != nil {
		s.deadline = seconds(*job.Spec.ActiveDeadlineSeconds)
	}
	return s, nil
}

func valueOr[T any](p *T, value T) T {
	if p != nil {
		return *p
	}
	return value
}

// seconds converts without overflow: what does not fit is as good as never.
func seconds(n int64) time.Duration {
	if n > math.MaxInt64/int64(time.Second) {
		return math.MaxInt64
	}
	return time.Duration(n) * time.Second
}

func checkNumbers(spec *batchv1.JobSpec) (errs field.ErrorList) {
	check := func(name string, value *int32) {
		if value != nil && *value < 0 {
			errs = append(errs, field.Invalid(field.NewPath("spec", name), *value, "must not be negative"))
		}
	}
	check("parallelism", spec.Parallelism)
	check("completions", spec.Completions)
	check("backoffLimit", spec.BackoffLimit)
	check("backoffLimitPerIndex", spec.BackoffLimitPerIndex)
	check("maxFailedIndexes", spec.MaxFailedIndexes)
	check("ttlSecondsAfterFinished", spec.TTLSecondsAfterFinished)
	if d := spec.ActiveDeadlineSeconds; d != nil && *d < 0 {
		errs = append(errs, field.Invalid(field.NewPath("spec", "activeDeadlineSeconds"), *d, "must not be negative"))
	}
	return errs
}

func checkMode(spec *batchv1.JobSpec) field.ErrorList {
	switch mode := valueOr(spec.CompletionMode, batchv1.NonIndexedCompletion); mode {
	case batchv1.NonIndexedCompletion, batchv1.IndexedCompletion:
		return nil
	default:
		return field.ErrorList{field.NotSupported(field.NewPath("spec", "completionMode"), mode,
			[]batchv1.CompletionMode{batchv1.NonIndexedCompletion, batchv1.IndexedCompletion})}
	}
}

// checkTemplate refuses pods that would never end, and pods with two controllers.
func checkTemplate(template *corev1.PodTemplateSpec) (errs field.ErrorList) {
	path := field.NewPath("spec", "template")
	if p := template.Spec.RestartPolicy; p != corev1.RestartPolicyNever && p != corev1.RestartPolicyOnFailure {
		errs = append(errs, field.NotSupported(path.Child("spec", "restartPolicy"), p,
			[]corev1.RestartPolicy{corev1.RestartPolicyNever, corev1.RestartPolicyOnFailure}))
	}
	if ref := metav1.GetControllerOfNoCopy(template); ref != nil {
		errs = append(errs, field.Forbidden(path.Child("metadata", "ownerReferences"), "the Job is the controller of its pods"))
	}
	return errs
}

// readSelector returns the selector of the Job's pods, or the one that the API
// would have generated.
func readSelector(job *batchv1.Job, names Names) (labels.Selector, field.ErrorList) {
	path := field.NewPath("spec", "selector")
	if job.UID == "" {
		return nil, field.ErrorList{field.Required(field.NewPath("metadata", "uid"), "pods are owned by UID")}
	}
	if job.Spec.Selector == nil {
		if valueOr(job.Spec.ManualSelector, false) {
			return nil, field.ErrorList{field.Required(path, "spec.manualSelector is true")}
		}
		return labels.SelectorFromValidatedSet(names.selector(job.UID)), nil
	}
	selector, err := metav1.LabelSelectorAsSelector(job.Spec.Selector)
	if err != nil {
		return nil, field.ErrorList{field.Invalid(path, metav1.FormatLabelSelector(job.Spec.Selector), err.Error())}
	}
	if selector.Empty() {
		return nil, field.ErrorList{field.Invalid(path, "{}", "an empty selector matches every pod of the namespace")}
	}
	if !selector.Matches(labels.Set(job.Spec.Template.Labels)) {
		return nil, field.ErrorList{field.Invalid(field.NewPath("spec", "template", "metadata", "labels"),
			labels.FormatLabels(job.Spec.Template.Labels), "not matched by spec.selector")}
	}
	return selector, nil
}
