package jobcontrol_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobwright/jobwright/jobcontrol"
)

var (
	benchmarkSizes = []int{1, 10, 100, 1000, 10000, 100000}
	benchmarkModes = []benchmarkMode{
		{"recount", jobcontrol.Recount, false},
		{"nonindexed", jobcontrol.Tracked, false},
		{"indexed", jobcontrol.Tracked, true},
	}
)

type benchmarkMode struct {
	name       string
	accounting jobcontrol.Accounting
	indexed    bool
}

// running is a Job with n pods, all at work, about which there is nothing to do
// but for the last of them: so many have ended since.
func (m benchmarkMode) running(n, ended int) jobcontrol.Snapshot {
	made := make([]*corev1.Pod, n)
	for i := range made {
		made[i] = benchmarkPod(i, m.indexed)
	}
	for _, pod := range made[n-ended:] {
		pod.Status.Phase = corev1.PodSucceeded
	}
	job := stored(func(j *batchv1.Job) {
		j.Spec.Parallelism, j.Spec.Completions = new(int32(n)), new(int32(n))
		if m.indexed {
			j.Spec.CompletionMode = new(batchv1.IndexedCompletion)
		}
		j.Status.Active, j.Status.Ready, j.Status.Terminating = int32(n), new(int32(n)), new(int32(0))
		j.Status.UncountedTerminatedPods = &batchv1.UncountedTerminatedPods{}
		jobcontrol.Default(j)
	})
	return jobcontrol.Snapshot{Job: job, Pods: made, Now: epoch.Add(time.Minute), Satisfied: true, Accounting: m.accounting}
}

func benchmarkPod(i int, indexed bool) *corev1.Pod {
	const index = "batch.kubernetes.io/job-completion-index"
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: "ns", Name: fmt.Sprintf("j-%06d", i), UID: types.UID(fmt.Sprintf("%08x-9b1d-4c1e-8f2a-%012x", uint32(i)<<12, i)),
		Labels:     map[string]string{"batch.kubernetes.io/controller-uid": "job-uid", "batch.kubernetes.io/job-name": "j"},
		Finalizers: []string{batchv1.JobTrackingFinalizer},
	}}
	if indexed {
		pod.Annotations = map[string]string{index: strconv.Itoa(i)}
		pod.Labels[index] = strconv.Itoa(i)
		pod.Spec.Hostname = fmt.Sprintf("j-%d", i)
	}
	pod.Spec.NodeName = "n"
	pod.Status.Phase = corev1.PodRunning
	pod.Status.Conditions = []corev1.PodCondition{
		{Type: corev1.PodScheduled, Status: corev1.ConditionTrue},
		{Type: corev1.PodInitialized, Status: corev1.ConditionTrue},
		{Type: corev1.ContainersReady, Status: corev1.ConditionTrue},
		{Type: corev1.PodReady, Status: corev1.ConditionTrue},
	}
	return pod
}

// failing is a Job with n pods of which one has failed, and that was one too many.
func (m benchmarkMode) failing(n int) jobcontrol.Snapshot {
	s := m.running(n, 0)
	s.Job.Spec.BackoffLimit = new(int32(0))
	s.Pods[0].Status.Phase = corev1.PodFailed
	return s
}

// allDone are the results of as many calls as any benchmark asks for.
var allDone = slices.Repeat([]jobcontrol.Call{jobcontrol.Done}, 100000)

// snapshot is a Job with n pods of which as many have changed as the shape says.
// Shuffled, they come as a cache lists them: in any order.
func (m benchmarkMode) snapshot(shape string, n int) jobcontrol.Snapshot {
	switch shape {
	case "one-ended":
		return m.running(n, 1)
	case "all-ended":
		return m.running(n, n)
	case "all-ended-shuffled":
		s := m.running(n, n)
		rand.New(rand.NewPCG(1, 2)).Shuffle(n, func(i, k int) { s.Pods[i], s.Pods[k] = s.Pods[k], s.Pods[i] })
		return s
	case "failing":
		return m.failing(n)
	}
	return m.running(n, 0)
}

// decide makes a whole decision, all of whose calls succeed; it says whether a
// status is to be written.
func decide(tb testing.TB, s jobcontrol.Snapshot) bool {
	d, err := jobcontrol.Plan(s)
	if err != nil {
		tb.Fatal(err)
	}
	r := jobcontrol.Result{Deleted: allDone[:len(d.Delete)]}
	interim := d.Interim(r)
	r.Untracked = allDone[:len(interim.Untrack)]
	outcome := d.Settle(r)
	return interim.Status != nil || outcome.Status != nil
}

func BenchmarkPlan(b *testing.B) {
	for _, m := range benchmarkModes {
		for _, shape := range []string{"unchanged", "one-ended", "all-ended", "all-ended-shuffled", "failing"} {
			for _, n := range benchmarkSizes {
				b.Run(fmt.Sprintf("%s/%s/pods=%d", m.name, shape, n), func(b *testing.B) {
					s := m.snapshot(shape, n)
					b.ReportAllocs()
					for b.Loop() {
						if decide(b, s) == (shape == "unchanged") {
							b.Fatal("it decides otherwise")
						}
					}
				})
			}
		}
	}
}

// BenchmarkScan only reads what a decision needs from each pod: the floor under
// BenchmarkPlan.
func BenchmarkScan(b *testing.B) {
	for _, m := range benchmarkModes[1:] {
		for _, n := range benchmarkSizes {
			b.Run(fmt.Sprintf("%s/pods=%d", m.name, n), func(b *testing.B) {
				s := m.running(n, 0)
				b.ReportAllocs()
				for b.Loop() {
					if scan(s.Pods, m.indexed) == 0 {
						b.Fatal("nothing read")
					}
				}
			})
		}
	}
}

// BenchmarkList is Scan and what no decision about many ended pods can do
// without: the 500 whose UIDs come first are sorted, listed in a status of the
// caller's own and named as those to untrack.
func BenchmarkList(b *testing.B) {
	for _, m := range benchmarkModes[1:] {
		for _, shape := range []string{"all-ended", "all-ended-shuffled"} {
			for _, n := range benchmarkSizes {
				b.Run(fmt.Sprintf("%s/%s/pods=%d", m.name, shape, n), func(b *testing.B) {
					s := m.snapshot(shape, n)
					b.ReportAllocs()
					for b.Loop() {
						scan(s.Pods, m.indexed)
						if status, untrack := list(s.Pods); len(status.UncountedTerminatedPods.Succeeded) != len(untrack) {
							b.Fatal("not all are listed")
						}
					}
				})
			}
		}
	}
}

func list(pods []*corev1.Pod) (batchv1.JobStatus, []jobcontrol.Untracking) {
	byUID := func(a, b *corev1.Pod) int { return strings.Compare(string(a.UID), string(b.UID)) }
	if !slices.IsSortedFunc(pods, byUID) {
		pods = slices.SortedFunc(slices.Values(pods), byUID)
	}
	pods = pods[:min(len(pods), 500)]
	uids := make([]types.UID, len(pods))
	untrack := make([]jobcontrol.Untracking, len(pods))
	for i, pod := range pods {
		uids[i], untrack[i] = pod.UID, jobcontrol.Untracking{Pod: pod, Reason: "it is counted"}
	}
	return batchv1.JobStatus{UncountedTerminatedPods: &batchv1.UncountedTerminatedPods{Succeeded: uids}}, untrack
}

func scan(pods []*corev1.Pod, indexed bool) (seen int) {
	for _, pod := range pods {
		if pod.Status.Phase == corev1.PodRunning {
			seen++
		}
		if pod.DeletionTimestamp != nil {
			seen++
		}
		for _, f := range pod.Finalizers {
			if f == batchv1.JobTrackingFinalizer {
				seen++
			}
		}
		for i := range pod.Status.Conditions {
			if c := &pod.Status.Conditions[i]; c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue {
				seen++
			}
		}
		if indexed {
			seen += len(pod.Annotations[batchv1.JobCompletionIndexAnnotation])
		}
	}
	return seen
}

// TestAnUnchangedJobCostsTheSameAllocations guards the hot path: however many
// pods, Plan and Settle allocate for the Job alone.
func TestAnUnchangedJobCostsTheSameAllocations(t *testing.T) {
	for _, m := range benchmarkModes {
		t.Run(m.name, func(t *testing.T) {
			allocs := func(n int) float64 {
				s := m.running(n, 0)
				return testing.AllocsPerRun(100, func() { decide(t, s) })
			}
			// A slice that grew with the pods would take a dozen more. One more or
			// less is the garbage collector's: it empties pools when it likes.
			if few, many := allocs(10), allocs(10000); many > few+2 {
				t.Errorf("%v allocations with 10,000 pods, %v with 10", many, few)
			}
		})
	}
}
