package jobcontrol_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobwright/jobwright/jobcontrol"
)

func (h *harness) suspend(is bool) {
	h.t.Helper()
	h.update(func(j *batchv1.Job) { j.Spec.Suspend = &is })
}

func (h *harness) wantSuspended(want corev1.ConditionStatus) {
	h.t.Helper()
	var got corev1.ConditionStatus
	if c := jobcontrol.Condition(&h.job().Status, batchv1.JobSuspended); c != nil {
		got = c.Status
	}
	if got != want {
		h.t.Errorf("Suspended is %q, want %q", got, want)
	}
}

func TestSuspendAndResume(t *testing.T) {
	t.Run("created suspended it makes no pod and has no start time, until it is resumed", func(t *testing.T) {
		h := newHarness(t, epoch, unbatched)
		h.submit(newJob(and(sized(2, 2, 6), suspended)))
		h.wantSuspended(corev1.ConditionTrue)
		if len(h.pods()) != 0 || h.job().Status.StartTime != nil {
			t.Errorf("%d pods, start time %v", len(h.pods()), h.job().Status.StartTime)
		}
		h.advance(time.Hour)
		if len(h.statuses) != 1 {
			t.Errorf("%d status writes in an hour, want 1", len(h.statuses))
		}
		h.suspend(false)
		h.settle()
		h.wantSuspended(corev1.ConditionFalse)
		h.wantStatus(2, 0, 0, "")
		if start := h.job().Status.StartTime; start == nil || !start.Time.Equal(h.clock.Now()) {
			t.Errorf("start time %v, want now", start)
		}
		if diff := cmp.Diff([]string{"Normal Suspended Job suspended", "Normal Resumed Job resumed"}, h.events); diff != "" {
			t.Error(diff)
		}
	})
	t.Run("B13 a Job that ran is suspended and resumed, with a pod that ends meanwhile", func(t *testing.T) {
		h := running(t, parallel(2, 3, 6))
		h.endAt(corev1.PodSucceeded, 0, h.pods()[0])
		h.suspend(true)
		h.settle()
		h.wantStatus(0, 1, 0, "")
		if h.job().Status.StartTime != nil {
			t.Errorf("start time %v of a suspended Job", h.job().Status.StartTime)
		}
		for _, pod := range h.pods() {
			h.remove(pod)
		}
		h.clock.Advance(time.Minute)
		h.suspend(false)
		h.settle()
		h.wantStatus(2, 1, 0, "")
		if start := h.job().Status.StartTime; start == nil || !start.Time.Equal(epoch.Add(time.Minute)) {
			t.Errorf("start time %v, want that of the resumption", start)
		}
		h.endAt(corev1.PodSucceeded, 0, h.live()...)
		h.settle()
		h.wantStatus(0, 3, 0, batchv1.JobComplete)
		if len(h.errs) > 0 {
			t.Errorf("errors %v", h.errs)
		}
	})
}

func TestSuspensionAtTheEdges(t *testing.T) {
	t.Run("B75 a write of the suspension that fails is made up for", func(t *testing.T) {
		h := running(t, parallel(1, 1, 6))
		h.beforeSave = func() error { h.beforeSave = nil; return errInternal }
		h.suspend(true)
		h.settle()
		h.remove(h.pods()[0])
		h.advance(time.Minute)
		h.wantSuspended(corev1.ConditionTrue)
		if h.job().Status.StartTime != nil {
			t.Errorf("start time %v", h.job().Status.StartTime)
		}
	})
	t.Run("pods deleted by the suspension count nowhere", func(t *testing.T) {
		h := running(t, parallel(2, 2, 0))
		h.suspend(true)
		h.settle()
		h.wantStatus(0, 0, 0, "")
		for _, pod := range h.pods() {
			h.endAt(corev1.PodFailed, 137, pod)
		}
		h.settle()
		h.wantStatus(0, 0, 0, "")
	})
	t.Run("suspended and resumed before anybody looked changes nothing", func(t *testing.T) {
		h := newHarness(t, epoch, unbatched)
		h.submit(parallel(1, 1, 6))
		h.clock.Advance(time.Minute)
		h.suspend(true)
		h.suspend(false)
		h.settle()
		h.wantSuspended("")
		if start := h.job().Status.StartTime; start == nil || !start.Time.Equal(epoch) || h.made() != 1 {
			t.Errorf("start time %v, %d pods made", start, h.made())
		}
	})
}

// TestB13ANamesakeOfTheCondition: somebody else wrote Suspended, in words of
// their own. The API takes no new start time of a Job that was not suspended.
func TestB13ASuspendedConditionInOtherWordsKeepsTheStartTime(t *testing.T) {
	job := of(sized(1, 1, 6))
	job.Status.Active = 1
	job.Status.Conditions = []batchv1.JobCondition{{Type: batchv1.JobSuspended, Status: corev1.ConditionFalse, Reason: "Admitted", Message: "by a queue"}}
	turn := turnOf(t, known(job, held("R"))) // the rules are checked there
	if start := turn.status.StartTime; start == nil || !start.Time.Equal(epoch) {
		t.Errorf("start time %v, want it kept", start)
	}
}

func TestDeadlineCountsUnbrokenActivityOnly(t *testing.T) {
	h := newHarness(t, epoch, unbatched)
	job := parallel(1, 1, 6)
	job.Spec.ActiveDeadlineSeconds = new(int64(100))
	h.submit(job)
	h.advance(90 * time.Second)
	h.suspend(true)
	h.settle()
	h.advance(200 * time.Second)
	h.wantStatus(0, 0, 0, "")
	h.suspend(false)
	h.settle()
	h.advance(99 * time.Second)
	h.wantStatus(1, 0, 0, "")
	h.advance(time.Second)
	h.wantStatus(0, 0, 1, batchv1.JobFailed)
}

func TestADecidedSuspendedJobGetsAStartTime(t *testing.T) {
	target := func(kind batchv1.JobConditionType) func(*batchv1.Job) {
		return func(j *batchv1.Job) {
			j.Status.StartTime = nil
			j.Status.Conditions = []batchv1.JobCondition{
				{Type: batchv1.JobSuspended, Status: corev1.ConditionTrue, Reason: "JobSuspended", Message: "Job suspended"},
			}
			if kind != "" {
				j.Status.Conditions = append(j.Status.Conditions, batchv1.JobCondition{Type: kind, Status: corev1.ConditionTrue, Reason: "R"})
			}
		}
	}
	tests := []struct {
		name   string
		before batchv1.JobConditionType
		spec   func(*batchv1.JobSpec)
		pods   []*corev1.Pod
		end    string
	}{
		{"decided to fail", batchv1.JobFailureTarget, sized(1, 1, 6), nil, "FailedR"},
		{"decided to succeed", batchv1.JobSuccessCriteriaMet, and(sized(1, 1, 6), asIndexed), nil, "CompleteR"},
		{"last pod succeeds", "", sized(1, 1, 6), held("S"), "CompleteCompletionsReached"},
		{"last pod fails it", "", and(sized(1, 1, 0), replaceFailed), held("F"), "FailedBackoffLimitExceeded"},
		{"nothing to do", "", sized(1, 0, 6), nil, "CompleteCompletionsReached"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			job := of(and(tt.spec, suspended))
			target(tt.before)(job)
			turn := turnOf(t, known(job, tt.pods))
			if turn.end() != tt.end || turn.status.StartTime == nil {
				t.Errorf("ends %q with start time %v, want %q", turn.end(), turn.status.StartTime, tt.end)
			}
		})
	}
}

func TestSuspensionWaitsForNothing(t *testing.T) {
	job := of(and(sized(3, 3, 6), suspended))
	t.Run("every active pod is untracked and deleted, Pending ones too", func(t *testing.T) {
		turn := turnOf(t, known(job, held("RPUrS")))
		if len(turn.Delete) != 3 || turn.status.Active != 0 || *turn.status.Terminating != 4 {
			t.Errorf("deletes %d, active %d, terminating %d", len(turn.Delete), turn.status.Active, *turn.status.Terminating)
		}
		for _, d := range turn.Delete {
			if !d.Untrack {
				t.Errorf("pod %s would count as failed", d.Pod.Name)
			}
		}
	})
	t.Run("S39 what a crash left between untracking and deletion is deleted too", func(t *testing.T) {
		turn := turnOf(t, known(job, pods("RR")))
		if len(turn.Delete) != 2 || turn.status.Active != 0 {
			t.Errorf("deletes %d, active %d", len(turn.Delete), turn.status.Active)
		}
	})
	t.Run("E10 refused deletions change no count", func(t *testing.T) {
		made := held("RR")
		for _, pod := range made {
			pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
		}
		d := mustPlan(t, known(job, made))
		turn := settled(t, job, d, jobcontrol.Result{Deleted: []jobcontrol.Call{jobcontrol.Refused, jobcontrol.Done}, Err: errInternal})
		if s := turn.status; s.Active != 1 || *s.Ready != 1 || *s.Terminating != 1 {
			t.Errorf("active %d, ready %d, terminating %d; want 1 each", s.Active, *s.Ready, *s.Terminating)
		}
	})
	t.Run("a Job that is being deleted is not suspended", func(t *testing.T) {
		job := job.DeepCopy()
		job.DeletionTimestamp = &metav1.Time{Time: epoch}
		if turn := turnOf(t, known(job, held("RR"))); len(turn.Delete) != 0 {
			t.Errorf("deletes %d", len(turn.Delete))
		}
	})
}

// TestB100TheTemplateIsMutableWhileSuspended looks at what is asked for.
func TestB100TheTemplateIsMutableWhileSuspended(t *testing.T) {
	job := of(suspended)
	if !jobcontrol.TemplateMutable(job) {
		t.Error("suspended, no condition yet: not mutable")
	}
	job.Status.Active = 1
	if jobcontrol.TemplateMutable(job) {
		t.Error("mutable with an active pod")
	}
}
