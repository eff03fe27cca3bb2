package jobcontrol_test

import (
	"runtime"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"

	"github.com/jobwright/jobwright/jobcontrol"
)

// TestB73WhatIsWrongIsRepaired: a pod that should not be is a decision, not an
// error.
func TestB73WhatIsWrongIsRepaired(t *testing.T) {
	s := snapshot(indexedJob(2, "", nil), "RRRRR")
	s.Accounting = jobcontrol.Tracked
	for i, index := range []string{"0", "0", "2", "x", ""} {
		s.Pods[i].Annotations = map[string]string{batchv1.JobCompletionIndexAnnotation: index}
		s.Pods[i].Finalizers = []string{batchv1.JobTrackingFinalizer}
	}
	s.Job.Spec.Parallelism = new(int32(2))
	d := mustPlan(t, s)
	reasons := map[string]int{}
	for _, deletion := range d.Delete {
		reasons[deletion.Reason]++
	}
	if len(d.Delete) != 4 || reasons["it has no completion index of the Job"] != 3 || reasons["another pod works on its index"] != 1 {
		t.Errorf("it deletes %d pods: %v", len(d.Delete), reasons)
	}
}

// TestAMillionCompletionsCostWhatTheirRangesCost: a decision about ten pods
// allocates as little among a million indexes as among twenty.
func TestAMillionCompletionsCostWhatTheirRangesCost(t *testing.T) {
	bytes := func(completions int32) uint64 {
		s := benchmarkMode{"indexed", jobcontrol.Tracked, true}.running(10, 0)
		s.Job.Spec.Completions, s.Job.Spec.Parallelism = &completions, new(int32(20))
		s.Job.Status.CompletedIndexes = "12-" + strconv.Itoa(int(completions)-1)
		s.Job.Status.Succeeded = completions - 12
		if n := len(mustPlan(t, s).Create); n != 2 {
			t.Fatalf("it creates %d pods, want those of the two indexes left", n)
		}
		var before, after runtime.MemStats
		const runs = 100
		runtime.ReadMemStats(&before)
		for range runs {
			decide(t, s)
		}
		runtime.ReadMemStats(&after)
		return (after.TotalAlloc - before.TotalAlloc) / runs
	}
	// A bit for each index alone would be 125 KB.
	if few, many := bytes(20), bytes(1000000); many > 2*few {
		t.Errorf("%d bytes among a million indexes, %d among twenty", many, few)
	}
}

// TestInterimLeavesTheDecisionAsItIs: it may be asked for any result, in any
// order.
func TestInterimLeavesTheDecisionAsItIs(t *testing.T) {
	s := benchmarkMode{"indexed", jobcontrol.Tracked, true}.running(603, 3)
	s.Job.Spec.ActiveDeadlineSeconds = new(int64(1))
	want := mustPlan(t, s).Interim(jobcontrol.Result{})
	d := mustPlan(t, s)
	d.Interim(jobcontrol.AllDone(d))
	if diff := cmp.Diff(want.Status, d.Interim(jobcontrol.Result{}).Status); diff != "" {
		t.Errorf("status once another result was asked for (-want +got):\n%s", diff)
	}
}
