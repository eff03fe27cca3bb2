package jobcontrol_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobwright/jobwright/fake"
	"github.com/jobwright/jobwright/jobcontrol"
)

// TestB79ADeletionIsAskedForOnce: until it is seen, the pod is neither deleted
// again nor another in its place.
func TestB79ADeletionIsAskedForOnce(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(*batchv1.Job)
		want   int
	}{
		"scaled down": {func(j *batchv1.Job) { j.Spec.Parallelism = new(int32(1)) }, 2},
		"suspended":   {func(j *batchv1.Job) { j.Spec.Suspend = new(true) }, 3},
	} {
		t.Run(name, func(t *testing.T) {
			h := running(t, parallel(3, 3, 6))
			h.update(tt.change)
			for range 4 {
				h.view.DeliverIf(fake.ForJob)
				h.queue.Add(jobKey)
				h.work()
			}
			if n := len(h.control.Calls(fake.Delete)); n != tt.want || len(h.live()) != 3-tt.want {
				t.Errorf("%d deletions asked for, %d pods live; want %d and %d", n, len(h.live()), tt.want, 3-tt.want)
			}
		})
	}
}

// TestS21AnEndWaitsForWhatIsUnseen: a pod that was asked for may yet turn up.
func TestS21AnEndWaitsForWhatIsUnseen(t *testing.T) {
	for _, kind := range []batchv1.JobConditionType{batchv1.JobFailureTarget, batchv1.JobSuccessCriteriaMet, ""} {
		job := of(sized(2, 2, 6))
		made := held("SS")
		if kind != "" {
			job.Status.Conditions = []batchv1.JobCondition{{Type: kind, Status: corev1.ConditionTrue, Reason: "R"}}
			made = nil
		}
		s := known(job, made)
		s.Satisfied = false
		if turn := turnOf(t, s); turn.end() != "" {
			t.Errorf("decided %q: ends %q", kind, turn.end())
		}
		s.Satisfied = true
		if turn := turnOf(t, s); turn.end() == "" {
			t.Errorf("decided %q, and all is seen: does not end", kind)
		}
	}
}

// TestS12AnEndWaitsForPodsThatFoundNoPlace in the list of this sync.
func TestS12AnEndWaitsForPodsThatFoundNoPlace(t *testing.T) {
	for name, spec := range map[string]func(*batchv1.JobSpec){"non-Indexed": and(), "Indexed": asIndexed} {
		t.Run(name, func(t *testing.T) {
			const n = 501
			indexes := make([]int, n)
			for i := range indexes {
				indexes[i] = i
			}
			made := indexed(indexes, strings.Repeat("S", n))
			job := of(and(sized(n, n, 6), spec))
			turn := turnOf(t, known(job, made))
			if turn.end() != "" || turn.status.Succeeded != 500 {
				t.Fatalf("ends %q, succeeded %d; want no end with one pod left", turn.end(), turn.status.Succeeded)
			}
			for _, untrack := range turn.interim.Untrack {
				untrack.Pod.Finalizers = nil
			}
			job.Status = turn.status
			if turn = turnOf(t, known(job, made)); turn.end() != "CompleteCompletionsReached" || turn.status.Succeeded != n {
				t.Errorf("then ends %q, succeeded %d", turn.end(), turn.status.Succeeded)
			}
		})
	}
}

// TestS30AnIndexOnItsWayOutKeepsItsPlace with podReplacementPolicy Failed: it is
// another index that is started.
func TestS30AnIndexOnItsWayOutKeepsItsPlace(t *testing.T) {
	s := known(of(and(sized(3, 5, 6), asIndexed, replaceFailed)), indexed([]int{0, 1}, "rR"))
	if turn := turnOf(t, s); !slices.Equal(turn.indexes(), []int{2}) {
		t.Errorf("creates %v, want index 2", turn.indexes())
	}
}

// TestB107NothingIsKeptOfAJobThatWasReplaced while a worker was in its sync.
func TestB107NothingIsKeptOfAJobThatWasReplaced(t *testing.T) {
	h := newHarness(t, epoch, unbatched)
	old := h.submit(parallel(1, 1, 6))
	h.beforeSave = func() error {
		h.beforeSave = nil
		h.deleteJob(metav1.DeletePropagationBackground)
		if _, err := h.cluster.CreateJob(t.Context(), parallel(1, 1, 6)); err != nil {
			t.Fatal(err)
		}
		h.view.Deliver()
		jobcontrol.ExpectCreation(h.controller, old.UID) // the worker goes on to make a pod
		return nil
	}
	h.endAt(corev1.PodFailed, 1, h.pods()...)
	h.advance(time.Second)
	if n := jobcontrol.Expected(h.controller, old.UID); n != 0 {
		t.Errorf("%d pods of the old Job are waited for", n)
	}
	h.endAt(corev1.PodSucceeded, 0, h.live()...)
	h.settle()
	if n := jobcontrol.Remembered(h.controller); n != 0 {
		t.Errorf("something is kept for %d Jobs", n)
	}
}
