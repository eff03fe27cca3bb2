package jobcontrol_test

import (
	"strconv"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/jobwright/jobwright/jobcontrol"
)

func indexedJob(completions int32, completed string, failed *string) *batchv1.Job {
	return stored(func(j *batchv1.Job) {
		j.Spec.CompletionMode, j.Spec.Completions = new(batchv1.IndexedCompletion), &completions
		j.Status.CompletedIndexes, j.Status.FailedIndexes = completed, failed
	})
}

func TestRemaining(t *testing.T) {
	tests := []struct {
		name string
		job  *batchv1.Job
		want int
	}{
		{"undefaulted", stored(nil), 1},
		{"non-Indexed", stored(func(j *batchv1.Job) { j.Spec.Completions, j.Status.Succeeded = new(int32(5)), 2 }), 3},
		{"more than asked for", stored(func(j *batchv1.Job) { j.Spec.Completions, j.Status.Succeeded = new(int32(5)), 7 }), 0},
		{"a work queue", stored(func(j *batchv1.Job) { j.Spec.Parallelism = new(int32(5)) }), 1},
		{"a work queue with a success", stored(func(j *batchv1.Job) { j.Spec.Parallelism, j.Status.Succeeded = new(int32(5)), 2 }), 0},
		{"Indexed", indexedJob(10, "0-2,5", nil), 6},
		{"B76 indexes failed for good are no work", indexedJob(10, "0-2", new("3-6")), 3},
		{"scaled down past what was done", indexedJob(3, "0,2-9", nil), 1},
		{"ended", stored(func(j *batchv1.Job) {
			j.Status.Conditions = []batchv1.JobCondition{{Type: batchv1.JobFailed, Status: corev1.ConditionTrue}}
		}), 0},
	}
	for _, tt := range tests {
		if got, err := jobcontrol.Remaining(tt.job); err != nil || got != tt.want {
			t.Errorf("%s: %d, %v, want %d", tt.name, got, err, tt.want)
		}
	}
	for _, job := range []*batchv1.Job{indexedJob(3, "5-3", nil), indexedJob(3, "", new("x"))} {
		if got, err := jobcontrol.Remaining(job); err == nil {
			t.Errorf("unreadable indexes give %d", got)
		}
	}
}

func TestEnd(t *testing.T) {
	job := stored(func(j *batchv1.Job) {
		j.Status.Conditions = []batchv1.JobCondition{
			{Type: batchv1.JobFailureTarget, Status: corev1.ConditionTrue, Reason: "PodFailurePolicy"},
			{Type: batchv1.JobFailed, Status: corev1.ConditionTrue, Reason: "PodFailurePolicy", Message: "why"},
		}
	})
	if end := jobcontrol.End(job); end == nil || end.Type != batchv1.JobFailed || end.Message != "why" {
		t.Errorf("End is %v", end)
	}
	job.Status.Conditions = job.Status.Conditions[:1]
	if end := jobcontrol.End(job); end != nil {
		t.Errorf("a decided Job has ended: %v", end)
	}
}

func TestCurrentPod(t *testing.T) {
	made := pods("FrRPS")
	for i, index := range []int{0, 0, 0, 0, 1} {
		made[i].Annotations = map[string]string{batchv1.JobCompletionIndexAnnotation: strconv.Itoa(index)}
		made[i].Spec.NodeName = "n"
	}
	job := indexedJob(3, "", nil)
	if got := jobcontrol.CurrentPod(job, made, 0, jobcontrol.Names{}); got != made[2] {
		t.Errorf("B72 the current pod of index 0 is %v, want the one that runs", got)
	}
	for index := 1; index < 3; index++ {
		if got := jobcontrol.CurrentPod(job, made, index, jobcontrol.Names{}); got != nil {
			t.Errorf("the current pod of index %d is %s, want none", index, got.Name)
		}
	}
}

func TestTemplateMutable(t *testing.T) {
	suspended := func(change func(*batchv1.Job)) *batchv1.Job {
		return stored(func(j *batchv1.Job) { j.Spec.Suspend = new(true); change(j) })
	}
	tests := map[string]struct {
		job  *batchv1.Job
		want bool
	}{
		"B100 suspended, and nobody has said so yet": {suspended(func(*batchv1.Job) {}), true},
		"suspended with a pod at work":               {suspended(func(j *batchv1.Job) { j.Status.Active = 1 }), false},
		"running":                                    {stored(nil), false},
		"suspended and ended": {suspended(func(j *batchv1.Job) {
			j.Status.Conditions = []batchv1.JobCondition{{Type: batchv1.JobComplete, Status: corev1.ConditionTrue}}
		}), false},
	}
	for name, tt := range tests {
		if got := jobcontrol.TemplateMutable(tt.job); got != tt.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
