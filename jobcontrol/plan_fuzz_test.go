package jobcontrol_test

import (
	"errors"
	"math/rand/v2"
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

// choices deals values out of a fuzz input; a spent input deals zeros.
type choices struct{ data []byte }

func (c *choices) next() byte {
	if len(c.data) == 0 {
		return 0
	}
	b := c.data[0]
	c.data = c.data[1:]
	return b
}

func (c *choices) below(n int) int { return int(c.next()) % n }

func (c *choices) yes() bool { return c.next()%2 == 1 }

// maybe deals nil as often as a small number, which may be negative.
func (c *choices) maybe() *int32 {
	if c.yes() {
		return nil
	}
	return new(int32(c.below(9)) - 1)
}

// job deals a Job, defaulted or not, started or not, valid or not.
func (c *choices) job() *batchv1.Job {
	job := stored(func(j *batchv1.Job) {
		j.Spec.Parallelism, j.Spec.Completions, j.Spec.BackoffLimit = c.maybe(), c.maybe(), c.maybe()
		if n := c.maybe(); n != nil {
			j.Spec.ActiveDeadlineSeconds = new(int64(*n) * 30)
		}
		if c.below(8) == 0 {
			j.Spec.Selector = &metav1.LabelSelector{}
		}
		if c.below(8) == 0 {
			j.DeletionTimestamp = &metav1.Time{Time: epoch}
		}
		j.Status.Active, j.Status.Succeeded, j.Status.Failed = int32(c.below(4)), int32(c.below(4)), int32(c.below(4))
		if c.yes() {
			j.Status.StartTime = nil
		}
	})
	if c.below(3) == 0 {
		c.indexed(job)
	}
	switch c.below(8) {
	case 0:
		job.Status.Conditions = []batchv1.JobCondition{{Type: batchv1.JobComplete, Status: corev1.ConditionTrue}}
	case 1:
		job.Status.Conditions = []batchv1.JobCondition{{Type: batchv1.JobFailureTarget, Status: corev1.ConditionTrue, Reason: "BackoffLimitExceeded"}}
	case 2:
		job.Status.Conditions = []batchv1.JobCondition{{Type: batchv1.JobFailed, Status: corev1.ConditionFalse}}
	}
	if c.yes() {
		jobcontrol.Default(job)
	}
	return job
}

// indexed makes the Job an Indexed one with whatever status.
func (c *choices) indexed(job *batchv1.Job) {
	job.Spec.CompletionMode = new(batchv1.IndexedCompletion)
	sets := []string{"", "0", "0-2", "1,3-9", "1,1", "5-3"}
	job.Status.CompletedIndexes = sets[c.below(len(sets))]
	if c.yes() {
		job.Spec.BackoffLimitPerIndex = c.maybe()
		job.Status.FailedIndexes = &sets[c.below(len(sets))]
	}
	job.Spec.Suspend = new(c.yes())
}

func (c *choices) snapshot() jobcontrol.Snapshot {
	s := jobcontrol.Snapshot{Job: c.job(), Now: epoch.Add(time.Duration(c.below(200)-20) * time.Second), Satisfied: c.below(4) > 0, Retries: c.below(5), Accounting: jobcontrol.Accounting(c.below(2))}
	letters := "RPSFUrpsfu"
	var phases []byte
	for range c.below(12) {
		phases = append(phases, letters[c.below(len(letters))])
	}
	s.Pods = pods(string(phases))
	for _, pod := range s.Pods {
		if c.yes() {
			pod.Spec.NodeName = "n"
		}
		if c.below(4) == 0 {
			pod.Status.Phase = corev1.PodPhase(pod.Status.Phase[:c.below(2)]) // no phase, or none that there is
		}
		if c.below(4) > 0 {
			pod.Finalizers = []string{batchv1.JobTrackingFinalizer}
		}
		if c.below(4) > 0 {
			indexes := []string{"0", "1", "2", "2", "7", "x", "-1", ""}
			pod.Annotations = map[string]string{batchv1.JobCompletionIndexAnnotation: indexes[c.below(len(indexes))]}
		}
	}
	return s
}

// result deals what became of the calls of a decision.
func (c *choices) result(d jobcontrol.Decision) jobcontrol.Result {
	var r jobcontrol.Result
	for range d.Delete {
		r.Deleted = append(r.Deleted, jobcontrol.Call(c.below(4)))
	}
	for range d.Create {
		r.Created = append(r.Created, jobcontrol.Call(c.below(4)))
	}
	if c.yes() {
		r.Err = errors.New("refused")
	}
	return r
}

// FuzzPlan holds what must be true of every decision about any Job.
func FuzzPlan(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte{0, 3, 0, 3, 0, 2, 1, 1, 1, 0, 0, 0, 1, 3, 1, 60, 1, 0, 6, 0, 1, 2, 3, 4, 5})
	f.Add([]byte{0, 2, 1, 0, 1, 0, 4, 7, 7, 1, 2, 3, 0, 5, 0, 120, 3, 2, 8, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0})
	f.Add([]byte("a Job that fails while it is being deleted, with pods in all phases"))
	f.Fuzz(func(t *testing.T, data []byte) {
		c := &choices{data}
		s := c.snapshot()
		before := copyOf(s)
		d, err := jobcontrol.Plan(s)
		if err != nil {
			if !errors.Is(err, jobcontrol.ErrInvalid) || len(d.Create)+len(d.Delete) > 0 {
				t.Fatalf("Plan fails with %v and still decides %v", err, d)
			}
			return
		}
		r := c.result(d)
		interim := d.Interim(r)
		for range interim.Untrack {
			r.Untracked = append(r.Untracked, jobcontrol.Call(c.below(4)))
		}
		out := d.Settle(r)
		if diff := cmp.Diff(before, s); diff != "" {
			t.Fatalf("the input changed (-before +after):\n%s", diff)
		}
		checkDecision(t, s, d)
		checkStatus(t, interim.Status)
		checkOutcome(t, s, d, r, out)

		shuffled := copyOf(s)
		rand.New(rand.NewPCG(uint64(len(data)), 1)).Shuffle(len(shuffled.Pods), func(i, j int) {
			shuffled.Pods[i], shuffled.Pods[j] = shuffled.Pods[j], shuffled.Pods[i]
		})
		if diff := cmp.Diff(decided(t, s), decided(t, shuffled)); diff != "" {
			t.Fatalf("another order of the pods, another decision (-one +other):\n%s", diff)
		}
	})
}

func copyOf(s jobcontrol.Snapshot) jobcontrol.Snapshot {
	s.Job = s.Job.DeepCopy()
	s.Pods = slices.Clone(s.Pods)
	for i := range s.Pods {
		s.Pods[i] = s.Pods[i].DeepCopy()
	}
	return s
}

func checkDecision(t *testing.T, s jobcontrol.Snapshot, d jobcontrol.Decision) {
	t.Helper()
	deleted := map[types.UID]bool{}
	for _, del := range d.Delete {
		ended := del.Pod.Status.Phase == corev1.PodSucceeded || del.Pod.Status.Phase == corev1.PodFailed
		if ended || del.Pod.DeletionTimestamp != nil || deleted[del.Pod.UID] || del.Reason == "" {
			t.Fatalf("pod %s is deleted although it has ended or is going, or twice, or for no reason", del.Pod.Name)
		}
		deleted[del.Pod.UID] = true
	}
	if len(d.Create) > 0 && (len(d.Delete) > 0 || !s.Satisfied || s.Job.DeletionTimestamp != nil || jobcontrol.IsFinished(s.Job)) {
		t.Fatalf("%d pods are created while the Job deletes, waits, goes or has ended", len(d.Create))
	}
}

func checkOutcome(t *testing.T, s jobcontrol.Snapshot, d jobcontrol.Decision, r jobcontrol.Result, out jobcontrol.Outcome) {
	t.Helper()
	if out.Wake.Reason == "" || out.Wake.After < 0 {
		t.Fatalf("wakes %+v", out.Wake)
	}
	if r.Err != nil && len(d.Create)+len(d.Delete) > 0 && out.Retry == nil {
		t.Fatal("a call failed and there is no retry")
	}
	if out.Status == nil {
		if len(out.Events) > 0 {
			t.Fatalf("events %v without a write", out.Events)
		}
		return
	}
	checkStatus(t, out.Status)
}

// checkStatus holds what must be true of any status, whatever was stored before.
func checkStatus(t *testing.T, st *batchv1.JobStatus) {
	t.Helper()
	if st == nil {
		return
	}
	if st.Active < 0 || st.Succeeded < 0 || st.Failed < 0 {
		t.Fatalf("negative count: %+v", st)
	}
	complete, failed := jobcontrol.HasCondition(st, batchv1.JobComplete), jobcontrol.HasCondition(st, batchv1.JobFailed)
	if complete && failed || (st.CompletionTime != nil) != complete {
		t.Fatalf("complete %v, failed %v, completion time %v", complete, failed, st.CompletionTime)
	}
	if (complete || failed) && st.StartTime == nil || complete && st.CompletionTime.Before(st.StartTime) {
		t.Fatalf("started %v, completed %v", st.StartTime, st.CompletionTime)
	}
	kinds := map[batchv1.JobConditionType]bool{}
	for _, c := range st.Conditions {
		if kinds[c.Type] {
			t.Fatalf("two conditions %s", c.Type)
		}
		kinds[c.Type] = true
	}
}
