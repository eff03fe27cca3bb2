package jobcontrol_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobwright/jobwright/fake"
	"github.com/jobwright/jobwright/jobcontrol"
)

// vector is one recorded sync of the Kubernetes 1.37.2 Job controller.
type vector struct {
	ID string `json:"id"`
	In struct {
		Now              time.Time     `json:"now"`
		Job              *batchv1.Job  `json:"job"`
		Pods             []*corev1.Pod `json:"pods"`
		Satisfied        bool          `json:"satisfied"`
		ExpectedReleases []types.UID   `json:"expectedReleases"`
		Memory           vectorMemory  `json:"memory"`
	} `json:"in"`
	Want trackedResult `json:"want"`
}

type vectorMemory struct {
	FailuresSinceSuccess int32      `json:"failuresSinceSuccess"`
	LastFailureTime      *time.Time `json:"lastFailureTime"`
}

func (m vectorMemory) failures() jobcontrol.Failures {
	f := jobcontrol.Failures{SinceSuccess: m.FailuresSinceSuccess}
	if m.LastFailureTime != nil {
		f.Last = *m.LastFailureTime
	}
	return f
}

func memoryOf(f jobcontrol.Failures) vectorMemory {
	m := vectorMemory{FailuresSinceSuccess: f.SinceSuccess}
	if !f.Last.IsZero() {
		m.LastFailureTime = &f.Last
	}
	return m
}

// trackedResult is what a sync did.
type trackedResult struct {
	Creates      []vectorSlot        `json:"creates"`
	Deletes      []string            `json:"deletes"`
	Releases     []string            `json:"releases"`
	Statuses     []batchv1.JobStatus `json:"statuses"`
	RequeueAfter []string            `json:"requeueAfter"`
	Events       []string            `json:"events"`
	Memory       vectorMemory        `json:"memory"`
}

type vectorSlot struct {
	Index               *int   `json:"index"`
	FailureCount        string `json:"failureCount"`
	IgnoredFailureCount string `json:"ignoredFailureCount"`
}

// departure names the entry of DEPARTURES.md by which Tracked decides a vector
// otherwise than upstream, or "". A recording is known by its situation, so that
// the same one in another recording is known too.
func departure(v vector) string {
	for _, status := range v.Want.Statuses {
		c := jobcontrol.Condition(&status, batchv1.JobFailureTarget)
		if c == nil || c.Reason != batchv1.JobReasonPodFailurePolicy || jobcontrol.Condition(&v.In.Job.Status, c.Type) != nil {
			continue
		}
		for _, pod := range v.In.Pods {
			named := strings.Contains(c.Message, " "+pod.Namespace+"/"+pod.Name+" ")
			if named && !slices.Contains(pod.Finalizers, batchv1.JobTrackingFinalizer) {
				return "untracked-pods-are-not-judged"
			}
		}
	}
	return ""
}

// TestVectors replays every *.jsonl.gz in the folder named by
// JOBCONTROL_VECTORS (default: testdata/tracked) through the pure core and through
// Controller.Sync. Every status is one that an API server takes.
func TestVectors(t *testing.T) {
	passed, failed, departed := replay(t, "JOBCONTROL_VECTORS", "tracked", func(v vector) (diff, departs string) {
		if diff = compareTracked(v.Want, plannedTracked(t, v)); diff == "" {
			diff = compareTracked(v.Want, syncedTracked(t, v))
		}
		if diff == "" {
			return "", ""
		}
		if departs = departure(v); departs != "" {
			departs = v.ID + ": " + departs
		}
		return v.ID + " (-want +got):\n" + diff, departs
	})
	fmt.Printf("vectors: %d passed, %d failed, %d departures\n", passed, failed, departed)
}

func plannedTracked(t *testing.T, v vector) (got trackedResult) {
	t.Helper()
	untracked := map[types.UID]struct{}{}
	for _, uid := range v.In.ExpectedReleases {
		untracked[uid] = struct{}{}
	}
	d, err := jobcontrol.Plan(jobcontrol.Snapshot{
		Job: v.In.Job, Pods: v.In.Pods, Now: v.In.Now, Satisfied: v.In.Satisfied,
		Untracked: untracked, Failures: v.In.Memory.failures(), Accounting: jobcontrol.Tracked,
	})
	if err != nil {
		t.Fatalf("%s: Plan: %v", v.ID, err)
	}
	result := jobcontrol.AllDone(d)
	interim, out := d.Interim(result), d.Settle(result)
	for _, slot := range d.Create {
		got.Creates = append(got.Creates, slotOf(v.In.Job, slot))
	}
	for _, deletion := range d.Delete {
		got.Deletes = append(got.Deletes, deletion.Pod.Name)
		if deletion.Untrack {
			got.Releases = append(got.Releases, deletion.Pod.Name)
		}
	}
	for _, out := range interim.Untrack {
		got.Releases = append(got.Releases, out.Pod.Name)
	}
	stored := v.In.Job.DeepCopy()
	for _, status := range []*batchv1.JobStatus{interim.Status, out.Status} {
		if status == nil {
			continue
		}
		if err := fake.CheckStatus(stored, status); err != nil {
			t.Errorf("%s: %v", v.ID, err)
		}
		stored.Status = *status
		got.Statuses = append(got.Statuses, *status)
	}
	for _, e := range append(interim.Events, out.Events...) {
		got.Events = append(got.Events, e.Type+" "+e.Reason+" "+e.Message)
	}
	if out.Wake.After != 0 {
		got.RequeueAfter = []string{out.Wake.After.String()}
	}
	got.Memory = memoryOf(interim.Failures)
	slices.Sort(got.Deletes)
	slices.Sort(got.Releases)
	return got
}

// syncedTracked is what Controller.Sync makes of a vector, with the fakes around it.
func syncedTracked(t *testing.T, v vector) (got trackedResult) {
	t.Helper()
	const forever = 1 << 62 // how long a Controller waits for what is unseen: not part of the recordings
	h := newHarness(t, v.In.Now, jobcontrol.Config{Patience: forever})
	job := v.In.Job.DeepCopy()
	if job.DeletionTimestamp != nil {
		job.Finalizers = []string{"example.com/hold"} // else it would be gone
	}
	h.load(job, v.In.Pods)
	key := v.In.Job.Namespace + "/" + v.In.Job.Name
	for _, uid := range v.In.ExpectedReleases {
		jobcontrol.ExpectUntracking(h.controller, v.In.Job.UID, uid)
	}
	if !v.In.Satisfied {
		jobcontrol.ExpectCreation(h.controller, v.In.Job.UID)
	}
	jobcontrol.Remember(h.controller, key, v.In.Job.UID, v.In.Memory.failures())
	next, err := h.controller.Sync(t.Context(), key)
	if err != nil {
		t.Errorf("%s: Sync: %v", v.ID, err)
	}
	for _, call := range h.control.Calls() {
		switch call.Verb {
		case fake.Create:
			got.Creates = append(got.Creates, slotIn(call.Pod))
		case fake.Delete:
			got.Deletes = append(got.Deletes, call.Pod.Name)
		case fake.Patch:
			got.Releases = append(got.Releases, call.Pod.Name)
		}
	}
	slices.Sort(got.Deletes)
	slices.Sort(got.Releases)
	got.Statuses, got.Events = h.statuses, h.events
	if next.After != 0 && next.After != forever {
		got.RequeueAfter = []string{next.After.String()}
	}
	got.Memory = memoryOf(jobcontrol.Remembers(h.controller, key))
	return got
}

// slotIn reads from a pod what it was made for.
func slotIn(pod *corev1.Pod) (s vectorSlot) {
	if text, ok := pod.Annotations[batchv1.JobCompletionIndexAnnotation]; ok {
		index, _ := strconv.Atoi(text)
		s.Index = &index
	}
	s.FailureCount = pod.Annotations[batchv1.JobIndexFailureCountAnnotation]
	s.IgnoredFailureCount = pod.Annotations[batchv1.JobIndexIgnoredFailureCountAnnotation]
	return s
}

func slotOf(job *batchv1.Job, slot jobcontrol.Slot) (s vectorSlot) {
	if job.Spec.CompletionMode != nil && *job.Spec.CompletionMode == batchv1.IndexedCompletion {
		s.Index = &slot.Index
	}
	if slot.PerIndex {
		s.FailureCount = strconv.Itoa(int(slot.Failures))
		if slot.IgnoredFailures > 0 {
			s.IgnoredFailureCount = strconv.Itoa(int(slot.IgnoredFailures))
		}
	}
	return s
}

// compareTracked says how two results differ: the last status and the soonest
// wake-up must be alike, and no more statuses written.
func compareTracked(want, got trackedResult) string {
	more := len(got.Statuses) - len(want.Statuses)
	want.Statuses, got.Statuses = lastStatus(want.Statuses), lastStatus(got.Statuses)
	want.RequeueAfter = soonest(want.RequeueAfter)
	byUID := cmpopts.SortSlices(func(a, b types.UID) bool { return a < b })
	want.Releases = slices.Compact(slices.Clone(want.Releases)) // upstream removes some finalizers twice
	bySlot := cmpopts.SortSlices(func(a, b vectorSlot) bool { return a.Index != nil && b.Index != nil && *a.Index < *b.Index })
	diff := cmp.Diff(want, got, cmpopts.EquateEmpty(), byUID, bySlot)
	if more > 0 {
		diff += fmt.Sprintf("%d statuses more than upstream\n", more)
	}
	return diff
}

func lastStatus(statuses []batchv1.JobStatus) []batchv1.JobStatus {
	return statuses[max(0, len(statuses)-1):]
}

func soonest(durations []string) []string {
	var least string
	for _, text := range durations {
		d, err := time.ParseDuration(text)
		if least == "" {
			least = text
		}
		if l, _ := time.ParseDuration(least); err == nil && d < l {
			least = text
		}
	}
	if least == "" {
		return nil
	}
	return []string{least}
}
