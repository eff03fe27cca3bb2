package jobcontrol_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobwright/jobwright/jobcontrol"
)

// pods makes pods in the given phases: "R" Running, "P" Pending, "S" Succeeded,
// "F" Failed, "U" Unknown; a lower case letter is one that is being deleted.
func pods(phases string) []*corev1.Pod {
	names := map[rune]corev1.PodPhase{'R': corev1.PodRunning, 'P': corev1.PodPending, 'S': corev1.PodSucceeded, 'F': corev1.PodFailed, 'U': corev1.PodUnknown}
	var made []*corev1.Pod
	for i, letter := range phases {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: fmt.Sprintf("j-%d", i), UID: types.UID(fmt.Sprintf("pod-%d", i))}}
		if phase, ok := names[letter]; ok {
			pod.Status.Phase = phase
		} else {
			pod.Status.Phase = names[letter-'a'+'A']
			pod.DeletionTimestamp = &metav1.Time{Time: epoch}
		}
		made = append(made, pod)
	}
	return made
}

// stored is a Job as a store has it.
func stored(change func(*batchv1.Job)) *batchv1.Job {
	job := newJob(nil)
	job.UID = "job-uid"
	job.Status.StartTime = &metav1.Time{Time: epoch}
	if change != nil {
		change(job)
	}
	return job
}

func snapshot(job *batchv1.Job, phases string) jobcontrol.Snapshot {
	return jobcontrol.Snapshot{Job: job, Pods: pods(phases), Now: epoch.Add(time.Minute), Satisfied: true, Accounting: jobcontrol.Recount}
}

func mustPlan(t *testing.T, s jobcontrol.Snapshot) jobcontrol.Decision {
	t.Helper()
	d, err := jobcontrol.Plan(s)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func endOf(out jobcontrol.Outcome) string {
	if out.Status == nil {
		return ""
	}
	for _, c := range out.Status.Conditions {
		if c.Type == batchv1.JobComplete || c.Type == batchv1.JobFailed {
			return string(c.Type) + c.Reason
		}
	}
	return ""
}

// TestRecountDecides holds the rules of Recount, a row each.
func TestRecountDecides(t *testing.T) {
	spec := func(parallelism, completions, backoffLimit int32) func(*batchv1.JobSpec) {
		return func(s *batchv1.JobSpec) {
			s.Parallelism, s.BackoffLimit = &parallelism, &backoffLimit
			if completions > 0 {
				s.Completions = &completions
			}
		}
	}
	tests := []struct {
		name            string
		spec            func(*batchv1.JobSpec)
		pods            string
		create, deletes int
		end             string
	}{
		{"first pods of a parallel Job", spec(3, 5, 6), "", 3, 0, ""},
		{"no more than completions need", spec(3, 5, 6), "SSSS", 1, 0, ""},
		{"succeeded pods are not active", spec(3, 5, 6), "SRR", 1, 0, ""},
		{"Pending, Unknown and unset phases are active", spec(3, 5, 6), "PUR", 0, 0, ""},
		{"surplus is deleted", spec(1, 5, 6), "RRR", 0, 2, ""},
		{"parallelism 0 deletes all", spec(0, 5, 6), "RR", 0, 2, ""},
		{"completions reached", spec(2, 2, 6), "SS", 0, 0, "Complete"},
		{"completions reached with a pod still active", spec(2, 2, 6), "SSR", 0, 0, "Complete"},
		{"B51 a work queue replaces a failed pod before the first success", spec(3, 0, 6), "RFR", 1, 0, ""},
		{"B51 a work queue starts nothing after the first success", spec(3, 0, 6), "SFR", 0, 0, ""},
		{"B51 a work queue is complete when the last pod ends, however", spec(3, 0, 6), "SFF", 0, 0, "Complete"},
		{"B20 a pod being deleted is replaced at once", spec(1, 1, 6), "r", 1, 0, ""},
		{"B12 terminating pods are no surplus", spec(1, 1, 6), "rrrrRR", 0, 1, ""},
		{"B61 a Failed pod is replaced whatever its restart policy", func(s *batchv1.JobSpec) {
			s.Template.Spec.RestartPolicy = corev1.RestartPolicyOnFailure
		}, "F", 1, 0, ""},
		{"B39 backoffLimit 0 fails at the first failure", spec(1, 1, 0), "F", 0, 0, "FailedBackoffLimitExceeded"},
		{"B39 backoffLimit 1 allows one retry", spec(1, 1, 1), "F", 1, 0, ""},
		{"B39 backoffLimit 1 fails at the second failure", spec(1, 1, 1), "FF", 0, 0, "FailedBackoffLimitExceeded"},
		{"B39 backoffLimit 6 allows six failures", spec(1, 1, 6), "FFFFFF", 1, 0, ""},
		{"B39 backoffLimit 6 fails at the seventh", spec(1, 1, 6), "FFFFFFF", 0, 0, "FailedBackoffLimitExceeded"},
		{"B15 failed pods count, not syncs", spec(10, 10, 10), "FFFFFFFFFFFRR", 0, 2, "FailedBackoffLimitExceeded"},
		{"B16 a success does not lower the failures", spec(1, 4, 2), "FSFSF", 0, 0, "FailedBackoffLimitExceeded"},
		{"B65 a failing Job deletes Pending pods too", spec(3, 3, 0), "FPR", 0, 2, "FailedBackoffLimitExceeded"},
		{"B97 completions nil does not mean none", spec(2, 0, 6), "", 2, 0, ""},
		{"B31 nothing set is one pod, once", nil, "", 1, 0, ""},
		{"B31 nothing set is complete after one success", nil, "S", 0, 0, "Complete"},
		{"completions without parallelism run one at a time", func(s *batchv1.JobSpec) { s.Completions = new(int32(3)) }, "", 1, 0, ""},
		{"B97 creations of one sync are bounded", spec(10000, 10000, 6), "", 500, 0, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			job := stored(nil)
			if tt.spec != nil {
				tt.spec(&job.Spec)
			}
			d := mustPlan(t, snapshot(job, tt.pods))
			if len(d.Create) != tt.create || len(d.Delete) != tt.deletes {
				t.Errorf("creates %d and deletes %d, want %d and %d", len(d.Create), len(d.Delete), tt.create, tt.deletes)
			}
			if got := endOf(d.Settle(jobcontrol.AllDone(d))); got != tt.end {
				t.Errorf("ends %q, want %q", got, tt.end)
			}
		})
	}
}

func TestRecountKeepsTheOriginalRuleOfRetries(t *testing.T) {
	job := stored(func(j *batchv1.Job) { j.Spec.BackoffLimit = new(int32(2)) })
	s := snapshot(job, "F")
	s.Retries = 1
	if got := endOf(mustPlan(t, s).Settle(jobcontrol.Result{})); got != "" {
		t.Errorf("with 1 retry and limit 2 it ends %q, want it to go on", got)
	}
	s.Retries = 2
	if got := endOf(mustPlan(t, s).Settle(jobcontrol.Result{})); got != "FailedBackoffLimitExceeded" {
		t.Errorf("with 2 retries, a new failure and limit 2 it ends %q", got)
	}
	job.Status.Failed = 1
	if got := endOf(mustPlan(t, s).Settle(jobcontrol.Result{})); got != "" {
		t.Errorf("with 2 retries and no new failure it ends %q, want it to go on", got)
	}
}

func TestSettleCountsWhatWasDone(t *testing.T) {
	const (
		skipped = jobcontrol.Skipped
		done    = jobcontrol.Done
		refused = jobcontrol.Refused
		unknown = jobcontrol.Unknown
	)
	t.Run("B29 a refused creation is not active, one that may have happened is", func(t *testing.T) {
		job := stored(func(j *batchv1.Job) { j.Spec.Parallelism, j.Spec.Completions = new(int32(6)), new(int32(6)) })
		d := mustPlan(t, snapshot(job, "R"))
		out := d.Settle(jobcontrol.Result{Created: []jobcontrol.Call{done, unknown, refused, skipped}})
		if out.Status.Active != 3 {
			t.Errorf("active is %d, want 3", out.Status.Active)
		}
	})
	t.Run("a refused deletion stays active", func(t *testing.T) {
		job := stored(func(j *batchv1.Job) { j.Spec.Parallelism = new(int32(1)) })
		d := mustPlan(t, snapshot(job, "RRRR"))
		out := d.Settle(jobcontrol.Result{Deleted: []jobcontrol.Call{done, refused, unknown}})
		if out.Status.Active != 3 {
			t.Errorf("active is %d, want 3", out.Status.Active)
		}
	})
	t.Run("a verdict whose deletions failed is kept, and carried out later", func(t *testing.T) {
		job := stored(func(j *batchv1.Job) {
			j.Spec.Parallelism, j.Spec.Completions, j.Spec.BackoffLimit = new(int32(2)), new(int32(5)), new(int32(0))
		})
		d := mustPlan(t, snapshot(job, "FRR"))
		out := d.Settle(jobcontrol.Result{Deleted: []jobcontrol.Call{done, refused}, Err: fmt.Errorf("refused")})
		if end := endOf(out); end != "" || out.Status.Active != 1 || out.Status.Failed != 2 || len(out.Events) != 0 {
			t.Fatalf("ends %q, active %d, failed %d, events %v; want neither end nor event, 1, 2", end, out.Status.Active, out.Status.Failed, out.Events)
		}
		job.Status = *out.Status
		s := snapshot(job, "rR") // the failed pod is gone meanwhile, and its failure is no new one
		d = mustPlan(t, s)
		if len(d.Create) != 0 || len(d.Delete) != 1 {
			t.Fatalf("next it creates %d and deletes %d, want 0 and 1", len(d.Create), len(d.Delete))
		}
		if end := endOf(d.Settle(jobcontrol.AllDone(d))); end != "FailedBackoffLimitExceeded" {
			t.Errorf("ends %q", end)
		}
	})
	t.Run("what was not done changes no count", func(t *testing.T) {
		job := stored(func(j *batchv1.Job) { j.Status.Active = 1 })
		d := mustPlan(t, snapshot(job, "R"))
		if out := d.Settle(jobcontrol.Result{}); out.Status != nil {
			t.Errorf("status %v, want none to write", out.Status)
		}
	})
	t.Run("the zero Decision settles to nothing", func(t *testing.T) {
		if diff := cmp.Diff(jobcontrol.Outcome{}, jobcontrol.Decision{}.Settle(jobcontrol.Result{})); diff != "" {
			t.Error(diff)
		}
	})
}

func TestDeadline(t *testing.T) {
	withDeadline := func(seconds int64) *batchv1.Job {
		return stored(func(j *batchv1.Job) { j.Spec.ActiveDeadlineSeconds = &seconds; j.Status.Active = 1 })
	}
	t.Run("B17 every sync before the end asks for the rest of the time", func(t *testing.T) {
		for _, satisfied := range []bool{true, false} {
			s := snapshot(withDeadline(100), "R")
			s.Satisfied = satisfied
			if got := mustPlan(t, s).Settle(jobcontrol.Result{}).Wake.After; got != 40*time.Second {
				t.Errorf("satisfied %v: wakes after %v, want 40s", satisfied, got)
			}
		}
	})
	t.Run("B45 a start time is kept", func(t *testing.T) {
		s := snapshot(withDeadline(100), "RR")
		d := mustPlan(t, s)
		out := d.Settle(jobcontrol.AllDone(d))
		if out.Status != nil && !out.Status.StartTime.Time.Equal(epoch) {
			t.Errorf("start time becomes %v", out.Status.StartTime)
		}
	})
	t.Run("at the deadline the Job fails and its pods go", func(t *testing.T) {
		d := mustPlan(t, snapshot(withDeadline(60), "RS"))
		if end := endOf(d.Settle(jobcontrol.AllDone(d))); len(d.Delete) != 1 || end != "FailedDeadlineExceeded" {
			t.Errorf("deletes %d, ends %q", len(d.Delete), end)
		}
	})
	t.Run("a deadline of 0 ends the Job at its start", func(t *testing.T) {
		for _, mode := range []jobcontrol.Accounting{jobcontrol.Recount, jobcontrol.Tracked} {
			s := snapshot(withDeadline(0), "")
			s.Accounting, s.Now = mode, epoch
			if end := endOf(mustPlan(t, s).Settle(jobcontrol.Result{})); end != "FailedDeadlineExceeded" {
				t.Errorf("%v: ends %q", mode, end)
			}
		}
	})
	t.Run("a deadline beyond all time is none", func(t *testing.T) {
		d := mustPlan(t, snapshot(withDeadline(1<<62), "R"))
		if end := endOf(d.Settle(jobcontrol.AllDone(d))); end != "" {
			t.Errorf("ends %q", end)
		}
	})
	t.Run("a clock behind the start time does not end the Job", func(t *testing.T) {
		s := snapshot(withDeadline(60), "R")
		s.Now = epoch.Add(-time.Hour)
		d := mustPlan(t, s)
		if end := endOf(d.Settle(jobcontrol.AllDone(d))); end != "" {
			t.Errorf("ends %q", end)
		}
	})
	t.Run("completion is never before the start", func(t *testing.T) {
		s := snapshot(stored(nil), "S")
		s.Now = epoch.Add(-time.Hour)
		out := mustPlan(t, s).Settle(jobcontrol.Result{})
		if !out.Status.CompletionTime.Time.Equal(epoch) {
			t.Errorf("completion time %v, want the start time %v", out.Status.CompletionTime, epoch)
		}
	})
}

func TestEveryDecisionSaysWhatWakesTheJob(t *testing.T) {
	unsatisfied := snapshot(stored(nil), "R")
	unsatisfied.Satisfied = false
	deleting := snapshot(stored(func(j *batchv1.Job) { j.DeletionTimestamp = &metav1.Time{Time: epoch} }), "R")
	tests := map[string]jobcontrol.Snapshot{
		"events not seen": unsatisfied,
		"being deleted":   deleting,
		"running":         snapshot(stored(nil), "R"),
		"complete":        snapshot(stored(nil), "S"),
		"finished long ago": snapshot(stored(func(j *batchv1.Job) {
			j.Status.Conditions = []batchv1.JobCondition{{Type: batchv1.JobComplete, Status: "True"}}
		}), ""),
	}
	for name, s := range tests {
		t.Run(name, func(t *testing.T) {
			d := mustPlan(t, s)
			if wake := d.Settle(jobcontrol.AllDone(d)).Wake; wake.Reason == "" {
				t.Errorf("nothing said, %v", wake)
			}
		})
	}
}

func TestNothingIsManagedWhile(t *testing.T) {
	job := stored(func(j *batchv1.Job) { j.Spec.Parallelism, j.Spec.Completions = new(int32(3)), new(int32(3)) })
	t.Run("B77 B79 pods asked for are unseen", func(t *testing.T) {
		s := snapshot(job, "")
		s.Satisfied = false
		if d := mustPlan(t, s); len(d.Create)+len(d.Delete) != 0 {
			t.Errorf("creates %d, deletes %d", len(d.Create), len(d.Delete))
		}
	})
	t.Run("the Job is being deleted", func(t *testing.T) {
		s := snapshot(stored(func(j *batchv1.Job) { j.DeletionTimestamp = &metav1.Time{Time: epoch} }), "RR")
		if d := mustPlan(t, s); len(d.Create)+len(d.Delete) != 0 {
			t.Errorf("creates %d, deletes %d", len(d.Create), len(d.Delete))
		}
	})
	t.Run("B59 the Job is finished", func(t *testing.T) {
		for _, end := range []batchv1.JobConditionType{batchv1.JobComplete, batchv1.JobFailed} {
			s := snapshot(stored(func(j *batchv1.Job) { j.Status.Conditions = []batchv1.JobCondition{{Type: end, Status: "True"}} }), "RRFF")
			d := mustPlan(t, s)
			out := d.Settle(jobcontrol.AllDone(d))
			if len(d.Create)+len(d.Delete) != 0 || out.Status != nil || !out.Forget {
				t.Errorf("%s: creates %d, deletes %d, writes %v, forgets %v", end, len(d.Create), len(d.Delete), out.Status, out.Forget)
			}
		}
	})
}

// TestSurplusIsLeastProgressedFirst ties Plan to podsort's order.
func TestSurplusIsLeastProgressedFirst(t *testing.T) {
	job := stored(func(j *batchv1.Job) { j.Spec.Parallelism = new(int32(2)) })
	s := snapshot(job, "RPSRP")
	for _, pod := range s.Pods {
		pod.Spec.NodeName = "n"
	}
	s.Pods[4].Spec.NodeName = ""
	var got []string
	for _, del := range mustPlan(t, s).Delete {
		got = append(got, del.Pod.Name)
	}
	if diff := cmp.Diff([]string{"j-4", "j-1"}, got); diff != "" {
		t.Errorf("pods deleted (-want +got):\n%s", diff)
	}
}
