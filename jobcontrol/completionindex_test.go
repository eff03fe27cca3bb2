package jobcontrol_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/jobwright/jobwright/jobcontrol"
)

func TestIndexedDecides(t *testing.T) {
	spec := and(sized(3, 5, 6), asIndexed)
	tests := []struct {
		name      string
		completed string // in the status before
		indexes   []int
		phases    string
		creates   []int
		deletes   int
		want      string // completedIndexes after
	}{
		{"the lowest indexes first", "", nil, "", []int{0, 1, 2}, 0, ""},
		{"gaps are filled", "0,2", nil, "", []int{1, 3, 4}, 0, "0,2"},
		{"a success makes room for the next", "", []int{0, 1, 2}, "SRR", []int{3}, 0, "0"},
		{"a failed index is done again", "", []int{0, 1, 2}, "FRR", []int{0}, 0, ""},
		{"B96 the status is the base", "0-1", []int{2, 3, 4}, "SRR", nil, 0, "0-2"},
		{"B96 an index that is done is not done again when its pods are gone", "0-3", nil, "", []int{4}, 0, "0-3"},
		{"B23 an index at completions is deleted", "", []int{5, 0, 1}, "RRR", nil, 1, ""},
		{"B23 a success of an index at completions is none", "", []int{5, 0, 1}, "SRR", []int{2}, 0, ""},
		{"B23 of two pods of an index one is deleted, below parallelism too", "", []int{0, 0}, "RR", nil, 1, ""},
		{"two successes of an index are one", "", []int{0, 0, 1}, "SSR", []int{2, 3}, 0, "0"},
		{"a range of three is written as one", "0", []int{1, 2}, "SS", []int{3, 4}, 0, "0-2"},
		{"all", "0-2", []int{3, 4}, "SS", nil, 0, "0-4"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			job := of(spec)
			job.Status.CompletedIndexes = strings.ReplaceAll(tt.completed, "0-1", "0,1")
			indexes, _ := jobcontrol.ParseIndexes(tt.completed)
			job.Status.Succeeded = int32(indexes.Len())
			s := known(job, indexed(tt.indexes, tt.phases))
			s.Now = epoch.Add(time.Hour)
			turn := turnOf(t, s)
			if diff := cmp.Diff(tt.creates, turn.indexes()); diff != "" {
				t.Errorf("creates (-want +got):\n%s", diff)
			}
			if len(turn.Delete) != tt.deletes {
				t.Errorf("deletes %v, want %d", turn.Delete, tt.deletes)
			}
			if got := turn.status.CompletedIndexes; got != tt.want {
				t.Errorf("completedIndexes %q, want %q", got, tt.want)
			}
			after, _ := jobcontrol.ParseIndexes(turn.status.CompletedIndexes) // S8
			if after.Len() != int(turn.status.Succeeded) {
				t.Errorf("succeeded %d of %q", turn.status.Succeeded, turn.status.CompletedIndexes)
			}
		})
	}
}

func TestB25ElasticScaling(t *testing.T) {
	job := of(and(sized(5, 5, 6), asIndexed))
	job.Status.CompletedIndexes, job.Status.Succeeded = "0-4", 5
	job.Spec.Completions, job.Spec.Parallelism = new(int32(3)), new(int32(3))
	turn := turnOf(t, known(job, nil))
	if s := turn.status; s.CompletedIndexes != "0-2" || s.Succeeded != 3 || turn.end() != "CompleteCompletionsReached" {
		t.Errorf("completedIndexes %q, succeeded %d, ends %q", s.CompletedIndexes, s.Succeeded, turn.end())
	}
	t.Run("S40 the highest indexes go", func(t *testing.T) {
		job := of(and(sized(3, 3, 6), asIndexed))
		turn := turnOf(t, known(job, indexed([]int{4, 1, 3, 0, 2}, "RRRRR")))
		var gone []string
		for _, d := range turn.Delete {
			gone = append(gone, d.Pod.Annotations[batchv1.JobCompletionIndexAnnotation])
		}
		slices.Sort(gone)
		if diff := cmp.Diff([]string{"3", "4"}, gone); diff != "" {
			t.Error(diff)
		}
	})
	t.Run("scaled up again it does those again", func(t *testing.T) {
		job.Status = turn.status
		job.Status.Conditions, job.Status.CompletionTime = nil, nil
		job.Spec.Completions, job.Spec.Parallelism = new(int32(5)), new(int32(5))
		if turn := turnOf(t, known(job, nil)); !slices.Equal(turn.indexes(), []int{3, 4}) {
			t.Errorf("creates %v", turn.indexes())
		}
	})
}

// TestAMalformedStatusIsReported and never counted.
func TestAMalformedStatusIsReported(t *testing.T) {
	for _, text := range []string{"5-3", "1,1", "x", "0,", ",", "1-", "-1", "01", "3,2", "0-99999999999", " 1"} {
		for name, job := range map[string]*batchv1.Job{
			"completedIndexes": of(and(sized(2, 9, 6), asIndexed)), "failedIndexes": of(and(sized(2, 9, 6), perIndex(1))),
		} {
			if name == "failedIndexes" {
				job.Status.FailedIndexes = &text
			} else {
				job.Status.CompletedIndexes = text
			}
			d, err := jobcontrol.Plan(known(job, indexed([]int{0}, "S")))
			if !errors.Is(err, jobcontrol.ErrInvalid) || !strings.Contains(err.Error(), "status."+name) {
				t.Errorf("%s %q: error %v", name, text, err)
			}
			if len(d.Create)+len(d.Delete) != 0 || d.Settle(jobcontrol.AllDone(d)).Status != nil {
				t.Errorf("%s %q: it decides %v", name, text, d)
			}
		}
	}
}

func TestPodsOfAnIndex(t *testing.T) {
	job := of(and(sized(2, 2, 6), perIndex(3)))
	job.Name = strings.Repeat("n", 60)
	job.Spec.Template.Spec.InitContainers = []corev1.Container{{Name: "init"}}
	job.Spec.Template.Spec.Containers = append(job.Spec.Template.Spec.Containers,
		corev1.Container{Name: "own", Env: []corev1.EnvVar{{Name: "JOB_COMPLETION_INDEX", Value: "mine"}}})
	names := jobcontrol.Names{Finalizer: "example.com/counted", LabelPrefix: "example.com/"}
	slot := jobcontrol.Slot{Tracked: true, Index: 12, PerIndex: true, Failures: 2, IgnoredFailures: 1}
	template := job.Spec.Template.DeepCopy()
	pod := jobcontrol.NewPod(job, batchv1.SchemeGroupVersion.WithKind("Job"), names, slot)
	want := map[string]string{
		"example.com/job-completion-index": "12", "example.com/job-index-failure-count": "2", "example.com/job-index-ignored-failure-count": "1",
	}
	if diff := cmp.Diff(want, pod.Annotations); diff != "" {
		t.Errorf("annotations (-want +got):\n%s", diff)
	}
	if pod.Labels["example.com/job-completion-index"] != "12" || pod.Spec.Hostname != job.Name+"-12" || !slices.Equal(pod.Finalizers, []string{"example.com/counted"}) {
		t.Errorf("labels %v, hostname %s, finalizers %v", pod.Labels, pod.Spec.Hostname, pod.Finalizers)
	}
	if len(pod.GenerateName) != 58 || !strings.HasSuffix(pod.GenerateName, "n-12-") {
		t.Errorf("generateName %q of %d", pod.GenerateName, len(pod.GenerateName))
	}
	for i, c := range append(pod.Spec.InitContainers, pod.Spec.Containers...) {
		if len(c.Env) != 1 || c.Env[0].Name != "JOB_COMPLETION_INDEX" {
			t.Fatalf("container %d has %v", i, c.Env)
		}
		if from := c.Env[0].ValueFrom; c.Name != "own" && (from == nil || from.FieldRef.FieldPath != "metadata.labels['example.com/job-completion-index']") {
			t.Errorf("container %s reads %v", c.Name, from)
		}
	}
	if diff := cmp.Diff(*template, job.Spec.Template); diff != "" {
		t.Errorf("B88 the template is changed:\n%s", diff)
	}
}

// TestMillionsOfIndexesCostTheirRanges and not their number.
func TestMillionsOfIndexesCostTheirRanges(t *testing.T) {
	job := of(and(sized(3, 1000000, 6), asIndexed))
	job.Status.CompletedIndexes, job.Status.Succeeded = "0-499999,500001-999998", 999998
	s := known(job, nil)
	if turn := turnOf(t, s); !slices.Equal(turn.indexes(), []int{500000, 999999}) {
		t.Errorf("creates %v", turn.indexes())
	}
	if allocs := testing.AllocsPerRun(5, func() { decide(t, s) }); allocs > 200 {
		t.Errorf("%v allocations", allocs)
	}
}
