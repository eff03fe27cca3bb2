package e2e

import (
	"slices"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"

	"github.com/jobwright/jobwright/jobcontrol/kube"
)

// Six completions, three at a time: the classic batch.
func TestFixedCompletions(t *testing.T) {
	w := newWorld(t)
	w.control(kube.Config{})
	w.submit(newJob("batch", 6, 3))
	w.awaitPods("batch", 3)
	for range 6 {
		w.finish("batch", succeeds)
	}
	job := w.awaitEnd("batch", batchv1.JobComplete, batchv1.JobReasonCompletionsReached)
	w.counts(job, 6, 0)
	w.wantPods("batch", 6)
	w.wantPatches(6)
}

// A work queue has no completions: its pods agree that the work is done, and
// once one has succeeded no other is started.
func TestWorkQueue(t *testing.T) {
	w := newWorld(t)
	w.control(kube.Config{})
	queue := newJob("queue", 0, 3)
	queue.Spec.Completions = nil
	w.submit(queue)
	w.awaitPods("queue", 3)
	w.finish("queue", succeeds)
	w.awaitJob("queue", "one has succeeded, two are active", func(job *batchv1.Job) bool {
		return job.Status.Succeeded == 1 && job.Status.Active == 2
	})
	w.finish("queue", succeeds)
	w.finish("queue", succeeds)
	job := w.awaitEnd("queue", batchv1.JobComplete, batchv1.JobReasonCompletionsReached)
	w.counts(job, 3, 0)
	w.wantPods("queue", 3)
	w.wantPatches(3)
}

// Each index of an Indexed Job runs once, the failed one twice, and every pod
// knows its index by annotation, label, hostname and environment.
func TestIndexed(t *testing.T) {
	w := newWorld(t)
	w.control(kube.Config{Controller: quick})
	w.submit(newIndexedJob("shards", 4, 2))
	w.finishIndex("shards", 1, fails)
	for index := range 4 {
		pod := w.finishIndex("shards", index, succeeds)
		type identity struct{ Label, Hostname, Env string }
		got := identity{Label: pod.Labels[batchv1.JobCompletionIndexAnnotation], Hostname: pod.Spec.Hostname}
		for _, env := range pod.Spec.Containers[0].Env {
			if env.Name == "JOB_COMPLETION_INDEX" && env.ValueFrom != nil && env.ValueFrom.FieldRef != nil {
				got.Env = env.ValueFrom.FieldRef.FieldPath
			}
		}
		n := strconv.Itoa(index)
		want := identity{n, "shards-" + n, "metadata.labels['" + batchv1.JobCompletionIndexAnnotation + "']"}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("index %d (-want +got):\n%s", index, diff)
		}
	}
	job := w.awaitEnd("shards", batchv1.JobComplete, batchv1.JobReasonCompletionsReached)
	w.counts(job, 4, 1)
	w.wantPods("shards", 5)
	w.wantPatches(5)
	if got := job.Status.CompletedIndexes; got != "0-3" {
		t.Errorf("completedIndexes %q, want 0-3", got)
	}
}

// An Indexed Job whose completions follow its parallelism grows and shrinks; what
// shrinks is the end of it.
func TestElasticScaling(t *testing.T) {
	w := newWorld(t)
	w.control(kube.Config{})
	w.submit(newIndexedJob("elastic", 3, 3))
	w.awaitPods("elastic", 3)
	scale := func(n int32) {
		w.change("elastic", func(job *batchv1.Job) { job.Spec.Completions, job.Spec.Parallelism = &n, &n })
	}
	scale(5)
	w.awaitPods("elastic", 5)
	w.finishIndex("elastic", 4, succeeds)
	w.awaitJob("elastic", "index 4 has completed", func(job *batchv1.Job) bool { return job.Status.CompletedIndexes == "4" })
	scale(2)
	var left []int
	for _, pod := range w.awaitPods("elastic", 2) {
		left = append(left, indexOf(pod))
	}
	slices.Sort(left)
	if diff := cmp.Diff([]int{0, 1}, left); diff != "" {
		t.Errorf("indexes left (-want +got):\n%s", diff)
	}
	w.finish("elastic", succeeds)
	w.finish("elastic", succeeds)
	job := w.awaitEnd("elastic", batchv1.JobComplete, batchv1.JobReasonCompletionsReached)
	if got := job.Status.CompletedIndexes; got != "0,1" || job.Status.Succeeded != 2 {
		t.Errorf("completedIndexes %q, succeeded %d, want 0,1 and 2: index 4 is none any more", got, job.Status.Succeeded)
	}
}

// Parallelism is lowered and raised under a running Job: the surplus goes, what
// is missing comes, and nothing of it is a failure.
func TestParallelismIsChanged(t *testing.T) {
	w := newWorld(t)
	w.control(kube.Config{})
	w.submit(newJob("wide", 6, 4))
	w.awaitPods("wide", 4)
	w.change("wide", func(job *batchv1.Job) { job.Spec.Parallelism = new(int32(1)) })
	w.awaitPods("wide", 1)
	w.change("wide", func(job *batchv1.Job) { job.Spec.Parallelism = new(int32(6)) })
	w.awaitPods("wide", 6)
	for range 6 {
		w.finish("wide", succeeds)
	}
	w.counts(w.awaitEnd("wide", batchv1.JobComplete, batchv1.JobReasonCompletionsReached), 6, 0)
	w.wantPods("wide", 9)
}

// The name of an Indexed Job may be as long as the API allows; the names of its
// pods are cut, its hostnames are not.
func TestLongName(t *testing.T) {
	w := newWorld(t)
	w.control(kube.Config{})
	name := "a-name-of-61-characters-which-is-as-long-as-hostnames-allow-i"
	w.submit(newIndexedJob(name, 2, 2))
	hostnames := map[string]bool{}
	for _, pod := range w.awaitPods(name, 2) {
		hostnames[pod.Spec.Hostname] = len(pod.Name) <= 63
	}
	if diff := cmp.Diff(map[string]bool{name + "-0": true, name + "-1": true}, hostnames); diff != "" {
		t.Errorf("hostnames of pods with short names (-want +got):\n%s", diff)
	}
	w.finish(name, succeeds)
	w.finish(name, succeeds)
	w.counts(w.awaitEnd(name, batchv1.JobComplete, batchv1.JobReasonCompletionsReached), 2, 0)
}

// A pod that somebody deletes is replaced, and counts as a failure.
func TestSomebodyDeletesAPod(t *testing.T) {
	w := newWorld(t)
	w.control(kube.Config{Controller: quick})
	w.submit(newJob("victim", 1, 1))
	first := w.awaitPods("victim", 1)[0]
	w.deletePod(first)
	w.finishWhere("victim", succeeds, besides(first))
	w.counts(w.awaitEnd("victim", batchv1.JobComplete, batchv1.JobReasonCompletionsReached), 1, 1)
	w.wantPods("victim", 2)
}
