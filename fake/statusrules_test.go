package fake_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobwright/jobwright/fake"
)

// sec is a time so many seconds after noon.
func sec(s int) *metav1.Time { return &metav1.Time{Time: noon().Add(time.Duration(s) * time.Second)} }

// running is the status of a Job that has begun, with these conditions True.
func running(conditions ...batchv1.JobConditionType) batchv1.JobStatus {
	status := batchv1.JobStatus{StartTime: sec(0)}
	for _, kind := range conditions {
		status.Conditions = append(status.Conditions, batchv1.JobCondition{Type: kind, Status: corev1.ConditionTrue})
	}
	return status
}

func complete() batchv1.JobStatus {
	status := running(batchv1.JobSuccessCriteriaMet, batchv1.JobComplete)
	status.CompletionTime = sec(0)
	return status
}

func failed() batchv1.JobStatus { return running(batchv1.JobFailureTarget, batchv1.JobFailed) }

// but is a status with a change.
func but(status batchv1.JobStatus, change func(*batchv1.JobStatus)) batchv1.JobStatus {
	change(&status)
	return status
}

func plain() batchv1.JobSpec { return batchv1.JobSpec{} }

func suspended(completions int32) batchv1.JobSpec {
	return batchv1.JobSpec{Suspend: new(true), Completions: &completions}
}

func withIndexes(completions, parallelism int32) batchv1.JobSpec {
	return batchv1.JobSpec{
		CompletionMode: new(batchv1.IndexedCompletion), BackoffLimitPerIndex: new(int32),
		Completions: &completions, Parallelism: &parallelism,
	}
}

func uncounted(succeeded, failed []types.UID) *batchv1.UncountedTerminatedPods {
	return &batchv1.UncountedTerminatedPods{Succeeded: succeeded, Failed: failed}
}

// brokenRules are the fields that a CheckStatus complains of, in order.
func brokenRules(t *testing.T, err error) []string {
	t.Helper()
	if err == nil {
		return nil
	}
	status, ok := errors.AsType[*apierrors.StatusError](err)
	if !ok || !apierrors.IsInvalid(err) || status.ErrStatus.Code != 422 {
		t.Fatalf("error %v is not what a server answers", err)
	}
	if len(status.ErrStatus.Details.Causes) == 0 {
		t.Fatalf("error %v without a rule", err)
	}
	var fields []string
	for _, cause := range status.ErrStatus.Details.Causes {
		fields = append(fields, strings.TrimPrefix(cause.Field, "status."))
	}
	return fields
}

func TestCheckStatusWithinOneStatus(t *testing.T) {
	indexes := func(completed string, failed *string) batchv1.JobStatus {
		return but(running(), func(s *batchv1.JobStatus) { s.CompletedIndexes, s.FailedIndexes = completed, failed })
	}
	for _, c := range []struct {
		name   string
		spec   batchv1.JobSpec
		status batchv1.JobStatus
		want   []string
	}{
		{"nothing", plain(), batchv1.JobStatus{}, nil},
		{"zero counters", plain(), batchv1.JobStatus{Ready: new(int32), Terminating: new(int32)}, nil},
		{"negative counters", plain(), batchv1.JobStatus{Active: -1, Succeeded: -1, Failed: -1, Ready: new(int32(-2)), Terminating: new(int32(-1))},
			[]string{"active", "succeeded", "failed", "ready", "terminating", "failed", "succeeded"}},
		{"all active are ready", plain(), batchv1.JobStatus{Active: 2, Ready: new(int32(2))}, nil},
		{"more ready than active", plain(), batchv1.JobStatus{Active: 1, Ready: new(int32(2))}, []string{"ready"}},

		{"uncounted pods", plain(), batchv1.JobStatus{UncountedTerminatedPods: uncounted([]types.UID{"a", "b"}, []types.UID{"c"})}, nil},
		{"an uncounted pod without UID", plain(), batchv1.JobStatus{UncountedTerminatedPods: uncounted([]types.UID{"a", ""}, []types.UID{""})},
			[]string{"uncountedTerminatedPods.succeeded[1]", "uncountedTerminatedPods.failed[0]"}},
		{"an uncounted pod twice in a list", plain(), batchv1.JobStatus{UncountedTerminatedPods: uncounted(nil, []types.UID{"a", "a"})},
			[]string{"uncountedTerminatedPods.failed[1]"}},
		{"an uncounted pod in both lists", plain(), batchv1.JobStatus{UncountedTerminatedPods: uncounted([]types.UID{"a"}, []types.UID{"b", "a"})},
			[]string{"uncountedTerminatedPods.failed[1]"}},

		{"SuccessCriteriaMet", plain(), running(batchv1.JobSuccessCriteriaMet), nil},
		{"FailureTarget", plain(), running(batchv1.JobFailureTarget), nil},
		{"SuccessCriteriaMet and FailureTarget", plain(), running(batchv1.JobSuccessCriteriaMet, batchv1.JobFailureTarget), []string{"conditions"}},
		{"one of them False", plain(), but(running(batchv1.JobSuccessCriteriaMet, batchv1.JobFailureTarget), func(s *batchv1.JobStatus) {
			s.Conditions[0].Status = corev1.ConditionFalse
		}), nil},
		{"Complete", plain(), complete(), nil},
		{"Failed", plain(), failed(), nil},
		{"Complete without SuccessCriteriaMet", plain(), but(complete(), func(s *batchv1.JobStatus) { s.Conditions = s.Conditions[1:] }), []string{"conditions"}},
		{"Failed without FailureTarget", plain(), running(batchv1.JobFailed), []string{"conditions"}},
		{"Complete with FailureTarget", plain(), but(complete(), func(s *batchv1.JobStatus) { s.Conditions[0].Type = batchv1.JobFailureTarget }),
			[]string{"conditions", "conditions"}},
		{"Complete and Failed", plain(), but(complete(), func(s *batchv1.JobStatus) { s.Conditions[0].Type = batchv1.JobFailed }),
			[]string{"conditions", "conditions", "conditions"}},
		{"Failed with SuccessCriteriaMet", plain(), running(batchv1.JobFailed, batchv1.JobSuccessCriteriaMet), []string{"conditions", "conditions"}},

		{"Complete without completion time", plain(), but(complete(), func(s *batchv1.JobStatus) { s.CompletionTime = nil }), []string{"completionTime"}},
		{"a completion time without Complete", plain(), but(failed(), func(s *batchv1.JobStatus) { s.CompletionTime = sec(0) }), []string{"completionTime"}},
		{"completed before it started", plain(), but(complete(), func(s *batchv1.JobStatus) { s.CompletionTime = sec(-1) }), []string{"completionTime"}},
		{"completed earlier in the second in which it started", plain(), but(complete(), func(s *batchv1.JobStatus) {
			s.StartTime = &metav1.Time{Time: noon().Add(time.Second / 2)}
		}), nil},

		{"Complete with pods left", plain(), but(complete(), func(s *batchv1.JobStatus) {
			s.Active, s.Terminating, s.UncountedTerminatedPods = 1, new(int32(1)), uncounted([]types.UID{"a"}, nil)
		}), []string{"active", "terminating", "uncountedTerminatedPods"}},
		{"Failed with pods left", plain(), but(failed(), func(s *batchv1.JobStatus) {
			s.Active, s.Terminating, s.UncountedTerminatedPods = 1, new(int32(1)), uncounted(nil, []types.UID{"a"})
		}), []string{"active", "terminating", "uncountedTerminatedPods"}},
		{"Complete with nothing left", plain(), but(complete(), func(s *batchv1.JobStatus) {
			s.Terminating, s.UncountedTerminatedPods = new(int32), uncounted(nil, nil)
		}), nil},
		{"Failed without start time", plain(), but(failed(), func(s *batchv1.JobStatus) { s.StartTime = nil }), []string{"startTime"}},
		{"Complete without start time, suspended", suspended(1), but(complete(), func(s *batchv1.JobStatus) { s.StartTime = nil }), []string{"startTime"}},
		{"Complete without start time, suspended with nothing to do", suspended(0), but(complete(), func(s *batchv1.JobStatus) { s.StartTime = nil }), nil},

		{"indexes", withIndexes(10, 1), indexes("0,2,4-9", new("1,3")), nil},
		{"no indexes", withIndexes(10, 1), indexes("", new("")), nil},
		{"completed indexes that are none", withIndexes(10, 1), indexes("x", nil), []string{"completedIndexes"}},
		{"completed indexes backwards", withIndexes(10, 1), indexes("5-3", nil), []string{"completedIndexes"}},
		{"a range of one", withIndexes(10, 1), indexes("5-5", nil), []string{"completedIndexes"}},
		{"completed indexes twice", withIndexes(10, 1), indexes("1,1", nil), []string{"completedIndexes"}},
		{"a completed index beyond", withIndexes(10, 1), indexes("10", nil), []string{"completedIndexes"}},
		{"failed indexes that overlap", withIndexes(10, 1), indexes("", new("1-3,3-5")), []string{"failedIndexes"}},
		{"a failed index beyond", withIndexes(10, 1), indexes("", new("8-10")), []string{"failedIndexes"}},
		{"a completed index failed", withIndexes(10, 1), indexes("1-5", new("0,5")), []string{"failedIndexes"}},
		{"indexes of a Job that has none", plain(), indexes("1", new("")), []string{"completedIndexes", "failedIndexes"}},
		{"failed indexes without a limit", batchv1.JobSpec{CompletionMode: new(batchv1.IndexedCompletion), Completions: new(int32(5))}, indexes("1", new("2")), []string{"failedIndexes"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := fake.CheckStatus(&batchv1.Job{Spec: c.spec}, &c.status)
			equal(t, "rules broken", brokenRules(t, err), c.want)
		})
	}
}

func TestCheckStatusBetweenTwo(t *testing.T) {
	counts := func(succeeded, failed int32) batchv1.JobStatus {
		return but(running(), func(s *batchv1.JobStatus) { s.Succeeded, s.Failed = succeeded, failed })
	}
	startedAt := func(start *metav1.Time, suspended corev1.ConditionStatus) batchv1.JobStatus {
		return but(running(batchv1.JobSuspended), func(s *batchv1.JobStatus) { s.StartTime, s.Conditions[0].Status = start, suspended })
	}
	withoutCriteria := but(complete(), func(s *batchv1.JobStatus) { s.Conditions = s.Conditions[1:] })
	for _, c := range []struct {
		name      string
		spec      batchv1.JobSpec
		old, next batchv1.JobStatus
		want      []string
	}{
		{"Complete for ever", plain(), complete(), complete(), nil},
		{"Complete taken back", plain(), complete(), running(batchv1.JobSuccessCriteriaMet), []string{"conditions"}},
		{"SuccessCriteriaMet taken back", plain(), running(batchv1.JobSuccessCriteriaMet), running(), []string{"conditions"}},
		{"FailureTarget taken back", plain(), running(batchv1.JobFailureTarget), running(), []string{"conditions"}},
		{"Failed taken back", plain(), failed(), running(batchv1.JobFailureTarget), []string{"conditions"}},
		{"FailureTarget, then Failed", plain(), running(batchv1.JobFailureTarget), failed(), nil},
		{"SuccessCriteriaMet after Complete", plain(), withoutCriteria, complete(), []string{"conditions"}},

		{"counters that grow", plain(), counts(1, 1), counts(2, 1), nil},
		{"succeeded goes down", plain(), counts(2, 1), counts(1, 1), []string{"succeeded"}},
		{"failed goes down", withIndexes(3, 3), counts(2, 1), counts(2, 0), []string{"failed"}},
		{"succeeded of indexes goes down", withIndexes(3, 2), counts(2, 1), counts(1, 1), []string{"succeeded"}},
		{"succeeded of indexes goes down with completions", withIndexes(3, 3), counts(2, 1), counts(1, 1), nil},
		{"of one index, parallelism by default", batchv1.JobSpec{CompletionMode: new(batchv1.IndexedCompletion), Completions: new(int32(1))}, counts(2, 1), counts(1, 1), nil},

		{"another completion time", plain(), complete(), but(complete(), func(s *batchv1.JobStatus) { s.CompletionTime = sec(1) }), []string{"completionTime"}},
		{"no completion time any more", plain(), complete(), but(complete(), func(s *batchv1.JobStatus) { s.CompletionTime = nil }), []string{"completionTime"}},
		{"a start time", plain(), batchv1.JobStatus{}, running(), nil},
		{"another start time", plain(), running(), but(running(), func(s *batchv1.JobStatus) { s.StartTime = sec(1) }), []string{"startTime"}},
		{"no start time any more", plain(), running(), batchv1.JobStatus{}, []string{"startTime"}},
		{"another fraction of the second of the start", plain(), running(), but(running(), func(s *batchv1.JobStatus) {
			s.StartTime = &metav1.Time{Time: noon().Add(time.Second / 2)}
		}), nil},
		{"no start time of a suspended Job", suspended(1), running(), startedAt(nil, corev1.ConditionTrue), nil},
		{"a new start time on resuming", plain(), startedAt(sec(0), corev1.ConditionTrue), startedAt(sec(1), corev1.ConditionFalse), nil},
		{"a new start time before resuming", plain(), startedAt(sec(0), corev1.ConditionTrue), startedAt(sec(1), corev1.ConditionTrue), []string{"startTime"}},
		{"a new start time when resumed", plain(), startedAt(sec(0), corev1.ConditionFalse), startedAt(sec(1), corev1.ConditionFalse), []string{"startTime"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := fake.CheckStatus(&batchv1.Job{Spec: c.spec, Status: c.old}, &c.next)
			equal(t, "rules broken", brokenRules(t, err), c.want)
		})
	}
}

// What the stored status has wrong is no reason to refuse another change.
func TestCheckStatusLeavesWhatIsStoredAlone(t *testing.T) {
	scaledDown := batchv1.JobStatus{CompletedIndexes: "0,7", Active: 1, Ready: new(int32(2))}
	for _, c := range []struct {
		name   string
		change func(*batchv1.JobStatus)
		want   []string
	}{
		{"something else changes", func(s *batchv1.JobStatus) { s.Terminating = new(int32(1)) }, nil},
		{"one indexes list changes", func(s *batchv1.JobStatus) { s.CompletedIndexes = "0,6" }, []string{"completedIndexes"}},
		{"active changes", func(s *batchv1.JobStatus) { s.Active = 0 }, []string{"ready"}},
		{"it ends", func(s *batchv1.JobStatus) { s.Conditions = failed().Conditions }, []string{"active", "startTime"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			job := &batchv1.Job{Spec: withIndexes(5, 5), Status: scaledDown}
			next := but(scaledDown, c.change)
			equal(t, "rules broken", brokenRules(t, fake.CheckStatus(job, &next)), c.want)
		})
	}
}

func TestCheckStatusNamesTheValues(t *testing.T) {
	next := but(running(), func(s *batchv1.JobStatus) { s.StartTime = sec(1) })
	err := fake.CheckStatus(&batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: "j"}, Status: running()}, &next)
	if err == nil {
		t.Fatal("no error")
	}
	equal(t, "message", err.Error(), `Job.batch "j" is invalid: status.startTime: Invalid value: "2026-01-02T12:00:01Z": was 2026-01-02T12:00:00Z, is not to change`)
}

func TestClusterRefusesAStatus(t *testing.T) {
	for _, c := range []struct {
		name      string
		anyStatus bool
		want      func(error) bool
	}{
		{"that the API server refuses", false, apierrors.IsInvalid},
		{"none, when told to take any", true, func(err error) bool { return err == nil }},
	} {
		t.Run(c.name, func(t *testing.T) {
			cluster, _ := newCluster()
			cluster.AnyStatus = c.anyStatus
			job := createJob(t, cluster, newJob("a"))
			before := cluster.Jobs("")
			job.Status = running(batchv1.JobFailed)
			job.Status.Active = 1
			for name, store := range map[string]interface {
				UpdateJobStatus(context.Context, *batchv1.Job) (*batchv1.Job, error)
			}{"Cluster": cluster, "View": cluster.View()} {
				job.ResourceVersion = ""
				if _, err := store.UpdateJobStatus(t.Context(), job); !c.want(err) {
					t.Errorf("%s: error is %v", name, err)
				}
			}
			stored := cluster.Jobs("")
			equal(t, "stored as it was", slices.EqualFunc(stored, before, func(a, b *batchv1.Job) bool { return a.ResourceVersion == b.ResourceVersion }), !c.anyStatus)
		})
	}
}

func TestClusterConflictComesBeforeTheRules(t *testing.T) {
	cluster, _ := newCluster()
	job := createJob(t, cluster, newJob("a"))
	job.ResourceVersion, job.Status.Active = "7", -1
	if _, err := cluster.UpdateJobStatus(t.Context(), job); !apierrors.IsConflict(err) {
		t.Errorf("error is %v, want a conflict", err)
	}
}
