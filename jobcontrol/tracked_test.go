package jobcontrol_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// TestTrackedDecides holds the rules of Tracked, a row each. All pods hold the
// finalizer, and all calls succeed.
func TestTrackedDecides(t *testing.T) {
	tests := []struct {
		name            string
		spec            func(*batchv1.JobSpec)
		pods            string
		create, deletes int
		counts          [3]int32 // active, succeeded, failed
		end             string
	}{
		{"first pods of a parallel Job", sized(3, 5, 6), "", 3, 0, [3]int32{3, 0, 0}, ""},
		{"no more than completions need", sized(3, 5, 6), "SSSS", 1, 0, [3]int32{1, 4, 0}, ""},
		{"a success is counted and its place filled", sized(3, 5, 6), "SRR", 1, 0, [3]int32{3, 1, 0}, ""},
		{"Pending, Unknown and unset phases are active", sized(3, 5, 6), "PUR", 0, 0, [3]int32{3, 0, 0}, ""},
		{"surplus is deleted and not counted", sized(1, 5, 6), "RRR", 0, 2, [3]int32{1, 0, 0}, ""},
		{"parallelism 0 deletes all", sized(0, 5, 6), "RRF", 0, 2, [3]int32{0, 0, 1}, ""},
		{"completions reached", sized(2, 2, 6), "SS", 0, 0, [3]int32{0, 2, 0}, "CompleteCompletionsReached"},
		{"completions 0 are reached at once", sized(2, 0, 6), "", 0, 0, [3]int32{0, 0, 0}, "CompleteCompletionsReached"},
		{"B35 more active than are wanted are deleted, and it ends when they are gone", sized(1, 1, 6), "SR", 0, 1, [3]int32{0, 1, 0}, ""},
		{"B35 completions lowered below what succeeded", sized(2, 1, 6), "SSR", 0, 1, [3]int32{0, 2, 0}, ""},
		{"B51 a work queue replaces a failed pod before the first success", sized(3, -1, 6), "RFR", 1, 0, [3]int32{3, 0, 1}, ""},
		{"B51 a work queue starts nothing after the first success", sized(3, -1, 6), "SFR", 0, 0, [3]int32{1, 1, 1}, ""},
		{"B51 a work queue is complete when the last pod ends, however", sized(3, -1, 6), "SFF", 0, 0, [3]int32{0, 1, 2}, "CompleteCompletionsReached"},
		{"B97 completions nil does not mean none", sized(2, -1, 6), "", 2, 0, [3]int32{2, 0, 0}, ""},
		{"B20 a pod being deleted has failed and is replaced at once", sized(1, 1, 6), "r", 1, 0, [3]int32{1, 0, 1}, ""},
		{"B20 with policy Failed it has neither failed nor left", and(sized(1, 1, 0), replaceFailed), "r", 0, 0, [3]int32{0, 0, 0}, ""},
		{"B20 with policy Failed it is replaced when it has ended", and(sized(1, 1, 6), replaceFailed), "f", 1, 0, [3]int32{1, 0, 1}, ""},
		{"B12 terminating pods are no surplus", sized(1, 1, 9), "rrrrRR", 0, 1, [3]int32{1, 0, 4}, ""},
		{"B12 nor with policy Failed", and(sized(1, 1, 6), replaceFailed), "rrrrRR", 0, 1, [3]int32{1, 0, 0}, ""},
		{"B12 terminating pods above parallelism hold creation back, not below 0", and(sized(2, 9, 6), replaceFailed), "rrrr", 0, 0, [3]int32{0, 0, 0}, ""},
		{"B12 a terminating pod keeps one place", and(sized(3, 9, 6), replaceFailed), "rR", 1, 0, [3]int32{2, 0, 0}, ""},
		{"B52 a deleted pod has failed: no second one with backoffLimit 0", sized(1, 1, 0), "r", 0, 0, [3]int32{0, 0, 1}, ""},
		{"B61 a Failed pod is replaced whatever its restart policy", and(sized(1, 1, 6), onFailure), "F", 1, 0, [3]int32{1, 0, 1}, ""},
		{"B39 backoffLimit 0 fails at the first failure", sized(1, 1, 0), "F", 0, 0, [3]int32{0, 0, 1}, "FailedBackoffLimitExceeded"},
		{"B39 backoffLimit 1 allows one retry", sized(1, 1, 1), "F", 1, 0, [3]int32{1, 0, 1}, ""},
		{"B39 backoffLimit 1 fails at the second failure", sized(1, 1, 1), "FF", 0, 0, [3]int32{0, 0, 2}, "FailedBackoffLimitExceeded"},
		{"B39 backoffLimit 6 allows six failures", sized(1, 1, 6), "FFFFFF", 1, 0, [3]int32{1, 0, 6}, ""},
		{"B39 backoffLimit 6 fails at the seventh", sized(1, 1, 6), "FFFFFFF", 0, 0, [3]int32{0, 0, 7}, "FailedBackoffLimitExceeded"},
		{"B40 pods in flight exceed the limit", sized(3, 3, 1), "FFF", 0, 0, [3]int32{0, 0, 3}, "FailedBackoffLimitExceeded"},
		{"B16 a success does not lower the failures", sized(1, 4, 2), "FSFSF", 0, 0, [3]int32{0, 2, 3}, "FailedBackoffLimitExceeded"},
		{"B65 a failing Job deletes Pending pods too, and counts them", sized(3, 3, 0), "FPR", 0, 2, [3]int32{0, 0, 3}, ""},
		{"B11 it ends when no pod is terminating", sized(3, 3, 0), "Fpr", 0, 0, [3]int32{0, 0, 3}, ""},
		{"B11 it is complete when no pod is terminating", and(sized(2, 2, 6), replaceFailed), "SSr", 0, 0, [3]int32{0, 2, 0}, ""},
		{"B31 nothing set is one pod, once", nil, "", 1, 0, [3]int32{1, 0, 0}, ""},
		{"B31 nothing set is complete after one success", nil, "S", 0, 0, [3]int32{0, 1, 0}, "CompleteCompletionsReached"},
		{"B97 creations of one sync are bounded", sized(10000, 10000, 6), "", 500, 0, [3]int32{500, 0, 0}, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			turn := turnOf(t, known(of(tt.spec), held(tt.pods)))
			if len(turn.Create) != tt.create || len(turn.Delete) != tt.deletes {
				t.Errorf("creates %d and deletes %d, want %d and %d", len(turn.Create), len(turn.Delete), tt.create, tt.deletes)
			}
			s := turn.status
			if diff := cmp.Diff(tt.counts, [3]int32{s.Active, s.Succeeded, s.Failed}); diff != "" {
				t.Errorf("active, succeeded, failed (-want +got):\n%s", diff)
			}
			if got := turn.end(); got != tt.end {
				t.Errorf("ends %q, want %q", got, tt.end)
			}
			if u := s.UncountedTerminatedPods; len(u.Succeeded)+len(u.Failed) != 0 {
				t.Errorf("uncounted %v, want none: every pod was untracked", u)
			}
		})
	}
}

// TestB11TheFateIsStoredAtOnce: why the Job ends is written before it has ended.
func TestB11TheFateIsStoredAtOnce(t *testing.T) {
	for name, tt := range map[string]struct {
		spec func(*batchv1.JobSpec)
		pods string
		want string
	}{
		"failure": {sized(3, 3, 0), "FRR", "FailureTargetBackoffLimitExceeded"},
		"success": {and(sized(2, 2, 6), replaceFailed), "SSr", "SuccessCriteriaMetCompletionsReached"},
	} {
		t.Run(name, func(t *testing.T) {
			turn := turnOf(t, known(of(tt.spec), held(tt.pods)))
			if turn.decided() != tt.want || turn.end() != "" {
				t.Errorf("decided %q, ends %q; want %q and no end", turn.decided(), turn.end(), tt.want)
			}
		})
	}
}

// TestB44B105RestartsInPlace: containers that restart count towards the limit.
func TestB44B105RestartsInPlace(t *testing.T) {
	restarted := func(phase string, init, main int32) []*corev1.Pod {
		made := held(phase)
		made[0].Status.InitContainerStatuses = []corev1.ContainerStatus{{RestartCount: init}}
		made[0].Status.ContainerStatuses = []corev1.ContainerStatus{{RestartCount: main}}
		return made
	}
	tests := []struct {
		name       string
		phase      string
		init, main int32
		limit      int32
		fails      bool
	}{
		{"B44 the limit itself ends the Job", "R", 0, 3, 3, true},
		{"B44 one below it does not", "R", 0, 2, 3, false},
		{"B44 backoffLimit 0 allows no restart", "R", 0, 1, 0, true},
		{"B44 backoffLimit 0 allows a container that never restarted", "R", 0, 0, 0, false},
		{"B43 init containers count", "P", 3, 0, 3, true},
		{"both together", "R", 2, 1, 3, true},
		{"B105 Pending counts", "P", 0, 3, 3, true},
		{"B105 Succeeded does not", "S", 0, 3, 3, false},
		{"B105 Failed does not, but as one pod", "F", 0, 3, 3, false},
		{"B105 Unknown does not", "U", 0, 3, 3, false},
		{"B105 no phase does not", " ", 0, 3, 3, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			made := restarted(tt.phase, tt.init, tt.main)
			turn := turnOf(t, known(of(and(sized(1, 9, tt.limit), onFailure)), made))
			if fails := turn.decided() == "FailureTargetBackoffLimitExceeded"; fails != tt.fails {
				t.Errorf("decided %q, want it to fail: %v", turn.decided(), tt.fails)
			}
			turn = turnOf(t, known(of(sized(1, 9, tt.limit)), made))
			if tt.phase != "F" && turn.decided() != "" {
				t.Errorf("with restartPolicy Never decided %q", turn.decided())
			}
		})
	}
}

// TestB99TheFirstRecordedOutcomeStays: a pod counts once, as it was listed.
func TestB4B99TheFirstRecordedOutcomeStays(t *testing.T) {
	listed := func(failed bool) batchv1.JobStatus {
		u := &batchv1.UncountedTerminatedPods{Succeeded: []types.UID{"pod-0"}}
		if failed {
			u = &batchv1.UncountedTerminatedPods{Failed: []types.UID{"pod-0"}}
		}
		return batchv1.JobStatus{StartTime: &metav1.Time{Time: epoch}, UncountedTerminatedPods: u}
	}
	for phase, failed := range map[string]bool{"F": false, "f": false, "S": true, "s": true, "r": true} {
		for _, held := range []bool{true, false} {
			job := of(sized(1, 3, 6))
			job.Status = listed(failed)
			made := pods(phase)
			if held {
				made[0].Finalizers = []string{batchv1.JobTrackingFinalizer}
			}
			s := turnOf(t, known(job, made)).status
			if (s.Failed == 1) != failed || s.Failed+s.Succeeded != 1 || len(s.UncountedTerminatedPods.Succeeded)+len(s.UncountedTerminatedPods.Failed) != 0 {
				t.Errorf("listed as failed %v, now %q, finalizer %v: succeeded %d, failed %d, uncounted %v", failed, phase, held, s.Succeeded, s.Failed, s.UncountedTerminatedPods)
			}
		}
	}
}

func TestB5UntrackedPodsAreCountedAlready(t *testing.T) {
	job := of(sized(2, 3, 6))
	job.Status.Succeeded, job.Status.Failed = 1, 1
	s := known(job, held("SFR"))
	s.Untracked = map[types.UID]struct{}{"pod-0": {}, "pod-1": {}}
	turn := turnOf(t, s)
	if turn.status.Succeeded != 1 || turn.status.Failed != 1 || len(turn.interim.Untrack) != 0 || len(turn.Create) != 1 {
		t.Errorf("succeeded %d, failed %d, untracks %v, creates %d; want 1, 1, none and 1",
			turn.status.Succeeded, turn.status.Failed, turn.untracked(), len(turn.Create))
	}
	t.Run("listed ones too", func(t *testing.T) {
		job.Status.UncountedTerminatedPods = &batchv1.UncountedTerminatedPods{Succeeded: []types.UID{"pod-0"}, Failed: []types.UID{"pod-1"}}
		job.Status.Succeeded, job.Status.Failed = 0, 0
		turn := turnOf(t, s)
		if turn.status.Succeeded != 1 || turn.status.Failed != 1 || len(turn.interim.Untrack) != 0 {
			t.Errorf("succeeded %d, failed %d, untracks %v; want 1, 1, none", turn.status.Succeeded, turn.status.Failed, turn.untracked())
		}
	})
}

func TestB36B37B96CountersStandWithoutPods(t *testing.T) {
	job := of(and(sized(3, 5, 6), asIndexed))
	job.Status.Succeeded, job.Status.Failed, job.Status.CompletedIndexes = 3, 2, "0-2"
	turn := turnOf(t, known(job, nil))
	if s := turn.status; s.Succeeded != 3 || s.Failed != 2 || s.CompletedIndexes != "0-2" || !slices.Equal(turn.indexes(), []int{3, 4}) {
		t.Errorf("succeeded %d, failed %d, indexes %q, creates %v", s.Succeeded, s.Failed, s.CompletedIndexes, turn.indexes())
	}
}

func TestNothingToDoWritesNothing(t *testing.T) {
	for name, spec := range map[string]func(*batchv1.JobSpec){
		"non-Indexed": sized(3, 5, 6), "Indexed": and(sized(3, 5, 6), perIndex(1)), "work queue": sized(3, -1, 6),
	} {
		t.Run(name, func(t *testing.T) {
			s := known(of(spec), indexed([]int{0, 1, 2}, "RRR"))
			s.Job.Status = turnOf(t, s).status
			s.Now = s.Now.Add(time.Hour)
			turn := turnOf(t, s)
			if turn.interim.Status != nil || turn.out.Status != nil || len(turn.Create)+len(turn.Delete)+len(turn.interim.Untrack) != 0 {
				t.Errorf("it writes %v, %v", turn.interim.Status, turn.out.Status)
			}
		})
	}
}
