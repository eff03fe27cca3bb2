package jobcontrol_test

import (
	"fmt"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobwright/jobwright/jobcontrol"
)

var benchmarkSizes = []int{1, 10, 100, 1000, 10000, 100000}

// unchanged is a Job with n pods, half of them at work, about which there is
// nothing to do.
func unchanged(n int) jobcontrol.Snapshot {
	made := make([]*corev1.Pod, n)
	var active int32
	for i := range made {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
			Namespace: "ns", Name: fmt.Sprintf("j-%06d", i), UID: types.UID(fmt.Sprintf("pod-%06d", i)),
			Finalizers: []string{"batch.kubernetes.io/job-tracking"},
		}}
		pod.Status.Phase = corev1.PodSucceeded
		if i%2 == 0 {
			active++
			pod.Status.Phase = corev1.PodRunning
			pod.Status.Conditions = []corev1.PodCondition{
				{Type: corev1.PodScheduled, Status: corev1.ConditionTrue},
				{Type: corev1.PodInitialized, Status: corev1.ConditionTrue},
				{Type: corev1.ContainersReady, Status: corev1.ConditionTrue},
				{Type: corev1.PodReady, Status: corev1.ConditionTrue},
			}
		}
		made[i] = pod
	}
	job := stored(func(j *batchv1.Job) {
		j.Spec.Parallelism, j.Spec.Completions = &active, new(int32(n))
		j.Status.Active, j.Status.Succeeded = active, int32(n)-active
		jobcontrol.Default(j)
	})
	return jobcontrol.Snapshot{Job: job, Pods: made, Now: epoch.Add(time.Minute), Satisfied: true}
}

func BenchmarkPlan(b *testing.B) {
	for _, n := range benchmarkSizes {
		b.Run(fmt.Sprintf("pods=%d", n), func(b *testing.B) {
			s := unchanged(n)
			b.ReportAllocs()
			for b.Loop() {
				d, err := jobcontrol.Plan(s)
				if err != nil {
					b.Fatal(err)
				}
				if out := d.Settle(jobcontrol.Result{}); out.Status != nil {
					b.Fatalf("something is to be written: %v", out.Status)
				}
			}
		})
	}
}

// BenchmarkScan only reads what a decision needs from each pod: the floor under
// BenchmarkPlan.
func BenchmarkScan(b *testing.B) {
	for _, n := range benchmarkSizes {
		b.Run(fmt.Sprintf("pods=%d", n), func(b *testing.B) {
			s := unchanged(n)
			b.ReportAllocs()
			for b.Loop() {
				if scan(s.Pods) == 0 {
					b.Fatal("nothing read")
				}
			}
		})
	}
}

func scan(pods []*corev1.Pod) (seen int) {
	for _, pod := range pods {
		if pod.Status.Phase == corev1.PodRunning {
			seen++
		}
		if pod.DeletionTimestamp != nil {
			seen++
		}
		for _, f := range pod.Finalizers {
			if f == "batch.kubernetes.io/job-tracking" {
				seen++
			}
		}
		for i := range pod.Status.Conditions {
			if c := &pod.Status.Conditions[i]; c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue {
				seen++
			}
		}
	}
	return seen
}

// TestAnUnchangedJobCostsTheSameAllocations guards the hot path: however many
// pods, Plan and Settle allocate for the Job alone.
func TestAnUnchangedJobCostsTheSameAllocations(t *testing.T) {
	allocs := func(n int) float64 {
		s := unchanged(n)
		return testing.AllocsPerRun(10, func() {
			d, err := jobcontrol.Plan(s)
			if err != nil {
				t.Fatal(err)
			}
			d.Settle(jobcontrol.Result{})
		})
	}
	if few, many := allocs(1), allocs(10000); many > few {
		t.Errorf("%v allocations with 10,000 pods, %v with one", many, few)
	}
}
