package jobcontrol_test

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobwright/jobwright/jobcontrol"
)

const (
	skipped = jobcontrol.Skipped
	done    = jobcontrol.Done
	refused = jobcontrol.Refused
	unknown = jobcontrol.Unknown
)

func TestWhatWasNotUntrackedIsNotCounted(t *testing.T) {
	tests := []struct {
		name              string
		untracked         []jobcontrol.Call
		succeeded, failed int32
		uncounted         int
		end               string
	}{
		{"all", []jobcontrol.Call{done, done, done}, 2, 1, 0, "CompleteCompletionsReached"},
		{"none tried", nil, 0, 0, 3, ""},
		{"refused, unknown and skipped alike", []jobcontrol.Call{refused, unknown, skipped}, 0, 0, 3, ""},
		{"the failure alone", []jobcontrol.Call{done, refused, unknown}, 0, 1, 2, ""},
		{"L11 all but one", []jobcontrol.Call{done, done, refused}, 1, 1, 1, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			job := of(sized(2, 2, 6))
			d := mustPlan(t, known(job, held("SFS")))
			turn := settled(t, job, d, jobcontrol.Result{Untracked: tt.untracked})
			s := turn.status
			left := len(s.UncountedTerminatedPods.Succeeded) + len(s.UncountedTerminatedPods.Failed)
			if s.Succeeded != tt.succeeded || s.Failed != tt.failed || left != tt.uncounted || turn.end() != tt.end {
				t.Errorf("succeeded %d, failed %d, %d uncounted, ends %q", s.Succeeded, s.Failed, left, turn.end())
			}
			if listed := turn.interim.Status.UncountedTerminatedPods; len(listed.Succeeded) != 2 || len(listed.Failed) != 1 {
				t.Errorf("listed before: %v, want all three", listed)
			}
			if first := turn.interim.Status; first.Succeeded+first.Failed != 0 {
				t.Errorf("counted before they were untracked: %d, %d", first.Succeeded, first.Failed)
			}
		})
	}
}

func TestB48CountsAreThoseAfterTheCalls(t *testing.T) {
	ready := func(phases string) []*corev1.Pod {
		made := held(phases)
		for _, pod := range made {
			pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
		}
		return made
	}
	tests := []struct {
		name                       string
		spec                       func(*batchv1.JobSpec)
		pods                       string
		deleted, created           []jobcontrol.Call
		active, ready, terminating int32
	}{
		{"all deleted", sized(0, 3, 6), "RRRr", []jobcontrol.Call{done, done, done}, nil, 0, 0, 4},
		{"one refused", sized(0, 3, 6), "RRR", []jobcontrol.Call{done, refused, done}, nil, 1, 1, 2},
		{"none tried", sized(0, 3, 6), "RRR", nil, nil, 3, 3, 0},
		{"unknown is as good as refused", sized(0, 3, 6), "RRR", []jobcontrol.Call{unknown, unknown, done}, nil, 2, 2, 1},
		{"B29 creations: done and unknown are active, not ready", sized(5, 5, 6), "R", nil, []jobcontrol.Call{done, unknown, refused, skipped}, 3, 1, 0},
		{"a failing Job: refused deletions stay", sized(3, 3, 0), "FRR", []jobcontrol.Call{done, refused}, nil, 1, 1, 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			job := of(tt.spec)
			d := mustPlan(t, known(job, ready(tt.pods)))
			s := settled(t, job, d, jobcontrol.Result{Deleted: tt.deleted, Created: tt.created}).status
			if s.Active != tt.active || *s.Ready != tt.ready || *s.Terminating != tt.terminating {
				t.Errorf("active %d, ready %d, terminating %d; want %d, %d, %d", s.Active, *s.Ready, *s.Terminating, tt.active, tt.ready, tt.terminating)
			}
		})
	}
}

func TestADecidedJobStaysDecided(t *testing.T) {
	job := of(sized(3, 3, 0))
	d := mustPlan(t, known(job, held("FRR")))
	turn := settled(t, job, d, jobcontrol.Result{Deleted: []jobcontrol.Call{refused, refused}, Untracked: []jobcontrol.Call{done}, Err: errInternal})
	if turn.decided() != "FailureTargetBackoffLimitExceeded" || turn.end() != "" || turn.out.Retry == nil || turn.out.Forget {
		t.Fatalf("decided %q, ends %q, retry %v", turn.decided(), turn.end(), turn.out.Retry)
	}
	job.Status = turn.status
	job.Spec.BackoffLimit = new(int32(6)) // S18
	turn = turnOf(t, known(job, held("RR")))
	if len(turn.Create) != 0 || len(turn.Delete) != 2 {
		t.Errorf("creates %d, deletes %d; want 0 and 2", len(turn.Create), len(turn.Delete))
	}
	job.Status = turn.status
	turn = turnOf(t, known(job, nil))
	if turn.end() != "FailedBackoffLimitExceeded" || turn.status.Failed != 3 {
		t.Errorf("ends %q, failed %d", turn.end(), turn.status.Failed)
	}
}

// TestS18AVerdictThatIsActedOnIsFoundAgain: pods were deleted for it while
// something asked for was unseen, so it could not be stored.
func TestS18AVerdictThatIsActedOnIsFoundAgain(t *testing.T) {
	restarted := held("RR")
	restarted[0].Status.ContainerStatuses = []corev1.ContainerStatus{{RestartCount: 9}}
	for name, tt := range map[string]struct {
		spec func(*batchv1.JobSpec)
		pods []*corev1.Pod
	}{
		"backoffLimit": {sized(3, 3, 0), held("FRR")},
		"restarts":     {and(sized(2, 2, 6), onFailure), restarted},
		"deadline":     {and(sized(2, 2, 6), func(s *batchv1.JobSpec) { s.ActiveDeadlineSeconds = new(int64(60)) }), held("RR")},
		"exit code":    {and(sized(3, 3, 6), failJobOn(42)), func() []*corev1.Pod { p := held("FRR"); failedWith(42, epoch, p[0]); return p }()},
		"index":        {and(sized(3, 3, 6), perIndex(0), func(s *batchv1.JobSpec) { s.MaxFailedIndexes = new(int32(0)) }), indexed([]int{0, 1, 2}, "FRR")},
	} {
		t.Run(name, func(t *testing.T) {
			job := of(tt.spec)
			s := known(job, tt.pods)
			s.Satisfied = false
			turn := turnOf(t, s)
			if len(turn.Delete) == 0 {
				return // not acted on: it may be found later, or not
			}
			job.Status = turn.status
			s = known(job, nil) // all pods are gone meanwhile
			s.Now = s.Now.Add(time.Hour)
			turn = turnOf(t, s)
			if !strings.HasPrefix(turn.end(), "Failed") || len(turn.Create) != 0 {
				t.Errorf("its pods were deleted for the Job had failed; then it makes %d and ends %q", len(turn.Create), turn.end())
			}
		})
	}
}

func TestS19AFailJobVerdictIsStoredWithThePodThatBroughtIt(t *testing.T) {
	made := held("FRR")
	failedWith(42, epoch, made[0])
	job := of(and(sized(3, 3, 6), failJobOn(42)))
	for _, satisfied := range []bool{true, false} {
		for _, deleted := range [][]jobcontrol.Call{{done, done}, {refused, done}, nil} {
			s := known(job, made)
			s.Satisfied = satisfied
			turn := settled(t, job, mustPlan(t, s), jobcontrol.Result{Deleted: deleted})
			c := jobcontrol.Condition(turn.interim.Status, batchv1.JobFailureTarget)
			if c == nil || c.Reason != batchv1.JobReasonPodFailurePolicy {
				t.Errorf("satisfied %v, deleted %v: the first status says %v", satisfied, deleted, turn.interim.Status.Conditions)
			}
		}
	}
}

// TestS5AtMost500Uncounted: the status stays small and yet all get counted.
func TestB95S5AtMost500Uncounted(t *testing.T) {
	for name, spec := range map[string]func(*batchv1.JobSpec){"non-Indexed": and(), "Indexed": asIndexed} {
		t.Run(name, func(t *testing.T) {
			made := held(strings.Repeat("SF", 600))
			for i, pod := range made {
				setIndex(pod, strconv.Itoa(i))
			}
			job := of(and(sized(1200, 1200, 10000), spec))
			first := true
			for range 20 {
				d := mustPlan(t, known(job, made))
				r := jobcontrol.AllDone(d)
				if first { // not one finalizer can be removed
					r.Untracked = slices.Repeat([]jobcontrol.Call{refused}, len(r.Untracked))
				}
				first = false
				d.Create = nil
				turn := settled(t, job, d, r)
				if u := turn.interim.Status; u != nil && len(u.UncountedTerminatedPods.Succeeded)+len(u.UncountedTerminatedPods.Failed) > 500 {
					t.Fatalf("%d and %d listed", len(u.UncountedTerminatedPods.Succeeded), len(u.UncountedTerminatedPods.Failed))
				}
				if turn.end() != "" {
					t.Fatalf("ends %q", turn.end())
				}
				for i, untrack := range turn.interim.Untrack {
					if r.Untracked[i] == done {
						untrack.Pod.Finalizers = nil
					}
				}
				job.Status = turn.status
				job.Status.Active = 0
			}
			if s := job.Status; s.Succeeded != 600 || s.Failed != 600 {
				t.Errorf("after 20 syncs succeeded %d, failed %d; want 600 each", s.Succeeded, s.Failed)
			}
		})
	}
}

// TestNothingIsCreatedOrDeletedWhileUnseen: but what ended is counted.
func TestS26WhileUnseenOrGoing(t *testing.T) {
	for name, change := range map[string]func(*jobcontrol.Snapshot){
		"unseen":        func(s *jobcontrol.Snapshot) { s.Satisfied = false },
		"being deleted": func(s *jobcontrol.Snapshot) { s.Job.DeletionTimestamp = &s.Job.CreationTimestamp },
	} {
		t.Run(name, func(t *testing.T) {
			s := known(of(sized(1, 9, 6)), held("SFRR"))
			change(&s)
			turn := turnOf(t, s)
			if len(turn.Create)+len(turn.Delete) != 0 {
				t.Errorf("creates %d, deletes %d", len(turn.Create), len(turn.Delete))
			}
			if turn.status.Succeeded != 1 || turn.status.Failed != 1 || turn.out.Wake.Reason == "" {
				t.Errorf("succeeded %d, failed %d, wakes %v", turn.status.Succeeded, turn.status.Failed, turn.out.Wake)
			}
		})
	}
}

// TestTheOrderOfThePodsChangesNothing, and Plan changes neither Job nor pods.
func TestTheOrderOfThePodsChangesNothing(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	for name, spec := range map[string]func(*batchv1.JobSpec){
		"non-Indexed": sized(3, 9, 9), "narrow": sized(1, 9, 9), "work queue": sized(2, -1, 9), "failing": sized(3, 9, 1),
		"Indexed": and(sized(3, 9, 9), asIndexed), "by index": and(sized(3, 9, 99), perIndex(1)),
		"policy": and(sized(3, 9, 9), failJobOn(1)), "suspended": and(sized(3, 9, 9), suspended),
		"judged": and(sized(3, 9, 9), perIndex(2), ruled(batchv1.PodFailurePolicyActionFailIndex, 1)),
	} {
		t.Run(name, func(t *testing.T) {
			for range 50 {
				phases := make([]byte, 8)
				indexes := make([]int, len(phases))
				for i := range phases {
					phases[i], indexes[i] = "RRPSFUrsf"[r.IntN(9)], r.IntN(5)
				}
				s := known(of(spec), indexed(indexes, string(phases)))
				failedWith(1, epoch, s.Pods...)
				before := s.Job.DeepCopy()
				want := turnOf(t, s)
				r.Shuffle(len(s.Pods), func(i, j int) { s.Pods[i], s.Pods[j] = s.Pods[j], s.Pods[i] })
				order := slices.Clone(s.Pods)
				got := turnOf(t, s)
				if diff := cmp.Diff(want.report(), got.report()); diff != "" {
					t.Fatalf("%s of indexes %v, in another order (-first +second):\n%s", phases, indexes, diff)
				}
				if diff := cmp.Diff(before, s.Job); diff != "" || !slices.Equal(order, s.Pods) {
					t.Fatalf("the input is changed: %s", diff)
				}
			}
		})
	}
}

// report is what a turn does, to be compared.
func (s turn) report() map[string]any {
	var deleted []types.UID
	for _, d := range s.Delete {
		deleted = append(deleted, d.Pod.UID)
	}
	return map[string]any{
		"delete": deleted, "create": s.Create, "untrack": s.untracked(), "first": s.interim.Status, "last": s.out.Status,
		"events": append(s.interim.Events, s.out.Events...), "wake": s.out.Wake, "failures": s.interim.Failures,
	}
}
