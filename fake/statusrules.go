package fake

import (
	"fmt"
	"slices"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/jobwright/jobwright/jobcontrol"
)

// CheckStatus says whether an API server of Kubernetes 1.37 would take status
// in the place of that of the Job as it is stored. It returns nil, or the error
// of the server (apierrors.IsInvalid), whose causes name every rule broken and
// its field. It changes neither argument.
//
// What the server refuses is a change for the worse: of two fields that
// contradict each other in the stored status too, and are left alone, it says
// nothing. So a spec that was changed under a status does not make that status
// impossible to write. Hold a status against a Job without any to have all
// that is wrong within it.
func CheckStatus(job *batchv1.Job, status *batchv1.JobStatus) error {
	old, next := ruled{&job.Spec, &job.Status}, ruled{&job.Spec, status}
	errs := slices.Concat(next.counters(), next.uncounted(), changes(old, next))
	errs = append(errs, fresh(old.conditions(), next.conditions())...)
	errs = append(errs, fresh(old.ready(), next.ready())...)
	errs = append(errs, fresh(old.completionTime(), next.completionTime())...)
	errs = append(errs, fresh(old.end(), next.end())...)
	errs = append(errs, fresh(old.indexes(), next.indexes())...)
	if len(errs) == 0 {
		return nil
	}
	return apierrors.NewInvalid(kindOf(job), job.Name, errs)
}

// fresh is the errors that the stored status does not give word for word. So an
// error must name each value that its rule reads.
func fresh(stored, errs field.ErrorList) field.ErrorList {
	return slices.DeleteFunc(errs, func(e *field.Error) bool {
		return slices.ContainsFunc(stored, func(s *field.Error) bool { return s.Error() == e.Error() })
	})
}

// ruled is a status and the spec that it is held against.
type ruled struct {
	spec   *batchv1.JobSpec
	status *batchv1.JobStatus
}

func at(names ...string) *field.Path { return field.NewPath("status", names...) }

func (r ruled) is(kind batchv1.JobConditionType) bool {
	return jobcontrol.HasCondition(r.status, kind)
}

func (r ruled) finished() bool { return r.is(batchv1.JobComplete) || r.is(batchv1.JobFailed) }

func (r ruled) counters() (errs field.ErrorList) {
	for _, c := range []struct {
		name  string
		value int32
	}{
		{"active", r.status.Active},
		{"succeeded", r.status.Succeeded},
		{"failed", r.status.Failed},
		{"ready", valueOr(r.status.Ready, 0)},
		{"terminating", valueOr(r.status.Terminating, 0)},
	} {
		if c.value < 0 {
			errs = append(errs, field.Invalid(at(c.name), c.value, "is negative"))
		}
	}
	return errs
}

func (r ruled) ready() (errs field.ErrorList) {
	if ready := valueOr(r.status.Ready, 0); ready > r.status.Active {
		errs = append(errs, field.Invalid(at("ready"), ready, fmt.Sprintf("is more than active, %d", r.status.Active)))
	}
	return errs
}

// uncounted: a pod is listed once, as what it ended as.
func (r ruled) uncounted() (errs field.ErrorList) {
	pods := r.status.UncountedTerminatedPods
	if pods == nil {
		return nil
	}
	listed := map[types.UID]bool{}
	for _, list := range []struct {
		name string
		uids []types.UID
	}{{"succeeded", pods.Succeeded}, {"failed", pods.Failed}} {
		for i, uid := range list.uids {
			path := at("uncountedTerminatedPods", list.name).Index(i)
			switch {
			case uid == "":
				errs = append(errs, field.Invalid(path, uid, "is no UID"))
			case listed[uid]:
				errs = append(errs, field.Duplicate(path, uid))
			}
			listed[uid] = true
		}
	}
	return errs
}

// conditions: a Job ends one way, and says so before it has ended.
func (r ruled) conditions() (errs field.ErrorList) {
	for _, pair := range [][2]batchv1.JobConditionType{
		{batchv1.JobComplete, batchv1.JobFailed},
		{batchv1.JobComplete, batchv1.JobFailureTarget},
		{batchv1.JobSuccessCriteriaMet, batchv1.JobFailed},
		{batchv1.JobSuccessCriteriaMet, batchv1.JobFailureTarget},
	} {
		if r.is(pair[0]) && r.is(pair[1]) {
			errs = append(errs, badConditions("%s and %s exclude each other", pair[0], pair[1]))
		}
	}
	if r.is(batchv1.JobComplete) && !r.is(batchv1.JobSuccessCriteriaMet) {
		errs = append(errs, badConditions("%s needs %s", batchv1.JobComplete, batchv1.JobSuccessCriteriaMet))
	}
	if r.is(batchv1.JobFailed) && !r.is(batchv1.JobFailureTarget) {
		errs = append(errs, badConditions("%s needs %s", batchv1.JobFailed, batchv1.JobFailureTarget))
	}
	return errs
}

func badConditions(format string, kinds ...any) *field.Error {
	return field.Invalid(at("conditions"), field.OmitValueType{}, fmt.Sprintf(format, kinds...))
}

func (r ruled) completionTime() (errs field.ErrorList) {
	completed, path := r.status.CompletionTime, at("completionTime")
	switch complete := r.is(batchv1.JobComplete); {
	case complete && completed == nil:
		errs = append(errs, field.Required(path, "of a Job that is Complete"))
	case !complete && completed != nil:
		errs = append(errs, field.Invalid(path, stamp(completed), "of a Job that is not Complete"))
	}
	started := r.status.StartTime
	if completed != nil && started != nil && completed.Unix() < started.Unix() {
		errs = append(errs, field.Invalid(path, stamp(completed), "is before startTime, "+stamp(started)))
	}
	return errs
}

// end: a Job that has ended has nothing left to do.
func (r ruled) end() (errs field.ErrorList) {
	if !r.finished() {
		return nil
	}
	const detail = "of a Job that has ended must be 0"
	if n := r.status.Active; n != 0 {
		errs = append(errs, field.Invalid(at("active"), n, detail))
	}
	if n := valueOr(r.status.Terminating, 0); n != 0 {
		errs = append(errs, field.Invalid(at("terminating"), n, detail))
	}
	if pods := r.status.UncountedTerminatedPods; pods != nil && len(pods.Succeeded)+len(pods.Failed) > 0 {
		errs = append(errs, field.Invalid(at("uncountedTerminatedPods"), pods, "of a Job that has ended must be empty"))
	}
	neverBegan := valueOr(r.spec.Suspend, false) && valueOr(r.spec.Completions, 1) == 0
	if r.status.StartTime == nil && !neverBegan {
		errs = append(errs, field.Required(at("startTime"), "of a Job that has ended"))
	}
	return errs
}

func (r ruled) indexes() (errs field.ErrorList) {
	completed, failed := r.status.CompletedIndexes, valueOr(r.status.FailedIndexes, "")
	if completed != "" && !indexed(r.spec) {
		errs = append(errs, field.Invalid(at("completedIndexes"), completed, "of a Job that is not Indexed"))
	}
	if r.status.FailedIndexes != nil && r.spec.BackoffLimitPerIndex == nil {
		errs = append(errs, field.Invalid(at("failedIndexes"), failed, "of a Job without backoffLimitPerIndex"))
	}
	if !indexed(r.spec) {
		return errs // it has no indexes that a number could be one of
	}
	succeeded, err := r.indexSet("completedIndexes", completed)
	errs = append(errs, err...)
	gaveUp, err := r.indexSet("failedIndexes", failed)
	errs = append(errs, err...)
	if shared := gaveUp.Without(gaveUp.Without(succeeded)); shared.Len() > 0 {
		errs = append(errs, field.Invalid(at("failedIndexes"), failed, fmt.Sprintf("%s are in completedIndexes too", shared)))
	}
	return errs
}

// indexSet reads a list of indexes. The server would also let leading zeros pass.
func (r ruled) indexSet(name, text string) (jobcontrol.Indexes, field.ErrorList) {
	set, err := jobcontrol.ParseIndexes(text)
	if err != nil {
		return set, field.ErrorList{field.Invalid(at(name), text, err.Error())}
	}
	for part := range strings.SplitSeq(text, ",") {
		if first, last, isRange := strings.Cut(part, "-"); isRange && first == last {
			return set, field.ErrorList{field.Invalid(at(name), text, fmt.Sprintf("%q is a range of one index", part))}
		}
	}
	if n := int(valueOr(r.spec.Completions, 0)); set.Below(n).Len() < set.Len() {
		return set, field.ErrorList{field.Invalid(at(name), text, fmt.Sprintf("completions is %d", n))}
	}
	return set, nil
}

// changes: what a Job has come to is not taken back.
func changes(old, next ruled) (errs field.ErrorList) {
	for _, kind := range []batchv1.JobConditionType{
		batchv1.JobSuccessCriteriaMet, batchv1.JobComplete, batchv1.JobFailureTarget, batchv1.JobFailed,
	} {
		if old.is(kind) && !next.is(kind) {
			errs = append(errs, badConditions("%s was True and stays so", kind))
		}
	}
	if old.is(batchv1.JobComplete) && !old.is(batchv1.JobSuccessCriteriaMet) && next.is(batchv1.JobSuccessCriteriaMet) {
		errs = append(errs, badConditions("%s is too late for a Job that is Complete", batchv1.JobSuccessCriteriaMet))
	}
	if was, n := old.status.Failed, next.status.Failed; n < was {
		errs = append(errs, field.Invalid(at("failed"), n, fmt.Sprintf("was %d, is not to go down", was)))
	}
	// One that is scaled down loses the successes beyond its completions.
	scales := indexed(next.spec) && next.spec.Completions != nil && *next.spec.Completions == valueOr(next.spec.Parallelism, 1)
	if was, n := old.status.Succeeded, next.status.Succeeded; n < was && !scales {
		errs = append(errs, field.Invalid(at("succeeded"), n, fmt.Sprintf("was %d, is not to go down", was)))
	}
	if was, t := old.status.CompletionTime, next.status.CompletionTime; was != nil && t != nil && !sameSecond(was, t) {
		errs = append(errs, field.Invalid(at("completionTime"), stamp(t), "was "+stamp(was)+", is not to change"))
	}
	if was, t := old.status.StartTime, next.status.StartTime; was != nil && !sameSecond(was, t) && !restarts(old, next) {
		errs = append(errs, field.Invalid(at("startTime"), stamp(t), "was "+stamp(was)+", is not to change"))
	}
	return errs
}

// restarts says whether the start time may change: the Job is suspended, or is
// resumed by this very write.
func restarts(old, next ruled) bool {
	c := jobcontrol.Condition(next.status, batchv1.JobSuspended)
	return valueOr(next.spec.Suspend, false) ||
		old.is(batchv1.JobSuspended) && c != nil && c.Status == corev1.ConditionFalse
}

func indexed(spec *batchv1.JobSpec) bool {
	return valueOr(spec.CompletionMode, batchv1.NonIndexedCompletion) == batchv1.IndexedCompletion
}

// sameSecond compares times as they are stored.
func sameSecond(a, b *metav1.Time) bool {
	return a == nil && b == nil || a != nil && b != nil && a.Unix() == b.Unix()
}

// stamp is a time as it is stored, or none.
func stamp(t *metav1.Time) string {
	if t == nil {
		return "none"
	}
	return t.UTC().Format(time.RFC3339)
}

func valueOr[T any](p *T, absent T) T {
	if p == nil {
		return absent
	}
	return *p
}
