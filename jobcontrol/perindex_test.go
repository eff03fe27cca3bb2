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

	"github.com/jobwright/jobwright/jobcontrol"
)

// before gives a pod the counts of the failures before it.
func before(pod *corev1.Pod, counted, ignored string) *corev1.Pod {
	pod.Annotations[batchv1.JobIndexFailureCountAnnotation] = counted
	if ignored != "" {
		pod.Annotations[batchv1.JobIndexIgnoredFailureCountAnnotation] = ignored
	}
	return pod
}

func maxFailed(n int32) func(*batchv1.JobSpec) {
	return func(s *batchv1.JobSpec) { s.MaxFailedIndexes = &n }
}

func TestPerIndexDecides(t *testing.T) {
	tests := []struct {
		name    string
		spec    func(*batchv1.JobSpec)
		phases  string // of the pods of index 0, 1, 2
		counts  []string
		creates []int
		failed  string // indexes
		end     string
	}{
		{"no failure is allowed", perIndex(0), "FRR", nil, nil, "0", ""},
		{"one retry is", perIndex(1), "FRR", nil, []int{0}, "", ""},
		{"the retry failed", perIndex(1), "FRR", []string{"1"}, nil, "0", ""},
		{"an index that failed is not replaced, the next one is started", and(perIndex(0), sized(3, 4, 99)), "FRR", nil, []int{3}, "0", ""},
		{"all indexes are decided", perIndex(0), "FSS", nil, nil, "0", "FailedFailedIndexes"},
		{"all failed", perIndex(0), "FFF", nil, nil, "0-2", "FailedFailedIndexes"},
		{"as many as maxFailedIndexes", and(perIndex(0), maxFailed(1)), "FRR", nil, nil, "0", ""},
		{"more than maxFailedIndexes", and(perIndex(0), maxFailed(1)), "FFR", nil, nil, "0,1", "MaxFailedIndexesExceeded"},
		{"maxFailedIndexes 0", and(perIndex(0), maxFailed(0)), "FRR", nil, nil, "0", "MaxFailedIndexesExceeded"},
		{"maxFailedIndexes is not met by retries", and(perIndex(1), maxFailed(0)), "FFR", nil, []int{0, 1}, "", ""},
		{"backoffLimit holds for the Job", and(perIndex(9), sized(3, 3, 1)), "FFR", nil, nil, "", "BackoffLimitExceeded"},
		{"success policy and failed index", and(perIndex(0), succeedsBy("1", 0)), "FSR", nil, nil, "0", "SuccessPolicy"},
		{"FailIndex whatever the limit", and(perIndex(5), ruled(failIndex, 1)), "FRR", nil, nil, "0", ""},
		{"Ignore does not fail the index", and(perIndex(0), ruled(ignore, 1)), "FRR", nil, []int{0}, "", ""},
		{"a malformed count is none", perIndex(1), "FRR", []string{"x"}, []int{0}, "", ""},
		{"a negative count is none", perIndex(1), "FRR", []string{"-3"}, []int{0}, "", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			made := indexed([]int{0, 1, 2}, tt.phases)
			for i, count := range tt.counts {
				before(made[i], count, "")
			}
			failedWith(1, epoch, made...)
			s := known(of(and(sized(3, 3, 99), tt.spec)), made)
			s.Now = epoch.Add(time.Hour)
			turn := turnOf(t, s)
			if diff := cmp.Diff(tt.creates, turn.indexes()); diff != "" {
				t.Errorf("creates (-want +got):\n%s", diff)
			}
			if got := *turn.status.FailedIndexes; got != tt.failed {
				t.Errorf("failedIndexes %q, want %q", got, tt.failed)
			}
			var end string
			if c := jobcontrol.End(&batchv1.Job{Status: turn.status}); c != nil {
				end = string(c.Type) + c.Reason
			} else if turn.decided() != "" {
				end = turn.decided()[len("FailureTarget"):]
				if turn.status.Conditions[0].Type == batchv1.JobSuccessCriteriaMet {
					end = turn.status.Conditions[0].Reason
				}
			}
			if end != tt.end {
				t.Errorf("ends %q, want %q", end, tt.end)
			}
		})
	}
}

// TestS31CountsAreHandedOver to the replacement before the pod goes.
func TestS31CountsAreHandedOver(t *testing.T) {
	for name, tt := range map[string]struct {
		code                      int32
		failures, ignoredFailures int32 // of the replacement
		failed                    int32 // in the status
	}{"counted": {1, 3, 2, 1}, "ignored": {143, 2, 3, 0}} {
		t.Run(name, func(t *testing.T) {
			made := indexed([]int{0}, "F")
			failedWith(tt.code, epoch, before(made[0], "2", "2"))
			job := of(and(sized(1, 1, 99), perIndex(5), ruled(ignore, 143)))
			s := known(job, made)
			s.Now = epoch.Add(time.Hour)
			turn := turnOf(t, s)
			want := jobcontrol.Slot{Tracked: true, PerIndex: true, Failures: tt.failures, IgnoredFailures: tt.ignoredFailures}
			if len(turn.Create) != 1 {
				t.Fatalf("creates %d", len(turn.Create))
			}
			turn.Create[0].Reason = ""
			if diff := cmp.Diff(want, turn.Create[0]); diff != "" {
				t.Error(diff)
			}
			if len(turn.interim.Untrack) != 0 || turn.status.Failed != 0 {
				t.Errorf("untracked %v, failed %d: before its replacement is there", turn.untracked(), turn.status.Failed)
			}
			job.Status = turn.status
			s.Pods = append(made, indexed([]int{9, 0}, "SR")[1])
			turn = turnOf(t, s)
			if len(turn.interim.Untrack) != 1 || turn.status.Failed != tt.failed {
				t.Errorf("untracked %v, failed %d: with its replacement there", turn.untracked(), turn.status.Failed)
			}
		})
	}
}

// TestB31BackoffLimitIsNoneBesideALimitByIndex where the API did not default.
func TestB31AnAbsentBackoffLimitIsNoneBesideALimitByIndex(t *testing.T) {
	job := of(and(sized(20, 20, 0), perIndex(1)))
	job.Spec.BackoffLimit = nil
	indexes := make([]int, 20)
	for i := range indexes {
		indexes[i] = i
	}
	made := indexed(indexes, "FFFFFFFFFFFFFFFFFFFF")
	failedWith(1, epoch, made...)
	s := known(job, made)
	s.Now = epoch.Add(time.Hour)
	if turn := turnOf(t, s); turn.decided() != "" || len(turn.Create) != 20 {
		t.Errorf("decided %q, creates %d; want none and 20", turn.decided(), len(turn.Create))
	}
}

func TestIndexesBackOffEachForItself(t *testing.T) {
	h := newHarness(t, epoch, unbatched)
	h.submit(newJob(and(sized(2, 2, 99), perIndex(3))))
	pods := h.pods()
	h.endAt(corev1.PodFailed, 1, pods[0])
	h.advance(5 * time.Second)
	h.endAt(corev1.PodFailed, 1, pods[1])
	h.settle()
	for _, want := range []time.Duration{5 * time.Second, 5 * time.Second} {
		if got := h.untilMade(time.Minute); got != want {
			t.Errorf("the next replacement came after %v, want %v", got, want)
		}
	}
	h.wantStatus(2, 0, 2, "")
	if got := h.job().Status; got.Failed != 2 || len(h.finalized()) != 2 {
		t.Errorf("failed %d, %d pods hold the finalizer; want 2 and 2", got.Failed, len(h.finalized()))
	}
}

func TestAJobWithALimitByIndexRunsToItsEnd(t *testing.T) {
	h := newHarness(t, epoch, unbatched)
	h.submit(newJob(and(sized(2, 4, 99), perIndex(1))))
	for range 20 {
		for _, pod := range h.live() {
			if pod.Annotations[batchv1.JobCompletionIndexAnnotation] == "1" {
				h.endAt(corev1.PodFailed, 1, pod)
			} else {
				h.endAt(corev1.PodSucceeded, 0, pod)
			}
		}
		h.advance(20 * time.Second)
	}
	s := h.job().Status
	if s.CompletedIndexes != "0,2,3" || *s.FailedIndexes != "1" || s.Failed != 2 || s.Succeeded != 3 {
		t.Errorf("completed %q, failed %q, counts %d and %d", s.CompletedIndexes, *s.FailedIndexes, s.Succeeded, s.Failed)
	}
	if end := jobcontrol.End(h.job()); end == nil || end.Reason != batchv1.JobReasonFailedIndexes {
		t.Errorf("ends by %+v", end)
	}
	if h.made() != 5 || len(h.finalized()) != 0 {
		t.Errorf("%d pods made, %d hold the finalizer; want 5, 0", h.made(), len(h.finalized()))
	}
}

// TestS10FailedIndexesOnlyGrow, but for those that are no longer the Job's.
func TestS10FailedIndexesOnlyGrow(t *testing.T) {
	job := of(and(sized(4, 4, 99), perIndex(0)))
	job.Status.FailedIndexes, job.Status.CompletedIndexes, job.Status.Failed, job.Status.Succeeded = new("1,3"), "0", 2, 1
	turn := turnOf(t, known(job, nil))
	if got := *turn.status.FailedIndexes; got != "1,3" || !slices.Equal(turn.indexes(), []int{2}) {
		t.Errorf("failedIndexes %q, creates %v; want 1,3 and index 2", got, turn.indexes())
	}
	job.Spec.Completions, job.Spec.Parallelism = new(int32(3)), new(int32(3))
	if got := *turnOf(t, known(job, nil)).status.FailedIndexes; got != "1" {
		t.Errorf("scaled down: failedIndexes %q, want 1", got)
	}
}

// TestL1AWaitingPodThatIsListedDoesNotHoldUpTheEnd: its replacement was there
// when it was listed, and is gone before it could be untracked.
func TestL1AWaitingPodThatIsListedDoesNotHoldUpTheEnd(t *testing.T) {
	listed := func() *batchv1.Job {
		job := of(and(sized(2, 2, 99), perIndex(3)))
		job.Status.UncountedTerminatedPods = &batchv1.UncountedTerminatedPods{Failed: []types.UID{"pod-0"}}
		return job
	}
	t.Run("a Job that fails", func(t *testing.T) {
		job := listed()
		job.Status.Conditions = []batchv1.JobCondition{{Type: batchv1.JobFailureTarget, Status: corev1.ConditionTrue, Reason: "R"}}
		if turn := turnOf(t, known(job, indexed([]int{0}, "F"))); turn.end() != "FailedR" || turn.status.Failed != 1 {
			t.Errorf("ends %q, failed %d, untracked %v", turn.end(), turn.status.Failed, turn.untracked())
		}
	})
	t.Run("a Job that is deleted", func(t *testing.T) {
		job := listed()
		job.DeletionTimestamp = &metav1.Time{Time: epoch}
		if turn := turnOf(t, known(job, indexed([]int{0}, "F"))); len(turn.interim.Untrack) != 1 {
			t.Errorf("untracked %v, want the pod", turn.untracked())
		}
	})
}
