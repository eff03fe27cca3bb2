package jobcontrol

import (
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/jobwright/jobwright/podsort"
)

// End returns the condition by which a Job has ended, a pointer into its
// status, with reason and message: Complete or Failed. It is nil while the Job
// goes on.
func End(job *batchv1.Job) *batchv1.JobCondition {
	for _, kind := range []batchv1.JobConditionType{batchv1.JobComplete, batchv1.JobFailed} {
		if c := trueCondition(&job.Status, kind); c != nil {
			return c
		}
	}
	return nil
}

// Remaining is how much of a Job's work is left, in pods that have yet to
// succeed: completions less those that succeeded and, with a limit for each
// index, less the indexes that failed for good. Indexes at or above completions,
// which a Job scaled down has left behind, do not count. Of a work queue nobody
// knows: it is one until the first success and none afterwards. A status whose
// indexes cannot be read is an error.
func Remaining(job *batchv1.Job) (int, error) {
	if End(job) != nil {
		return 0, nil
	}
	spec := &job.Spec
	if spec.Completions == nil && spec.Parallelism != nil {
		return max(0, 1-int(job.Status.Succeeded)), nil
	}
	completions := int(valueOr(spec.Completions, defaultParallelism))
	if valueOr(spec.CompletionMode, batchv1.NonIndexedCompletion) != batchv1.IndexedCompletion {
		return max(0, completions-int(job.Status.Succeeded)), nil
	}
	completed, err := ParseIndexes(job.Status.CompletedIndexes)
	if err != nil {
		return 0, fmt.Errorf("status.completedIndexes: %w", err)
	}
	failed, err := ParseIndexes(valueOr(job.Status.FailedIndexes, ""))
	if err != nil {
		return 0, fmt.Errorf("status.failedIndexes: %w", err)
	}
	return completions - completed.Union(failed).Below(completions).Len(), nil
}

// CurrentPod returns the pod that works on an index of the Job: the one that has
// not ended and is not being deleted, or nil. Pods that failed at it before, or
// are on their way out, may still exist. While there are two of them, which is
// not for long, it is the one with the most progress.
func CurrentPod(job *batchv1.Job, pods []*corev1.Pod, index int, names Names) *corev1.Pod {
	indexer := indexer{job.Name, names.completionIndex()}
	var current *corev1.Pod
	for _, pod := range pods {
		if !isActive(pod) || indexer.of(pod) != index {
			continue
		}
		if current == nil || podsort.ForDeletion(current, pod) < 0 {
			current = pod
		}
	}
	return current
}

// TemplateMutable says whether the scheduling and the resources of the Job's
// pods may change: it is suspended and has no pod at work (KEP-2926). It looks
// at what is asked for, not at the Suspended condition, which comes later.
func TemplateMutable(job *batchv1.Job) bool {
	return valueOr(job.Spec.Suspend, false) && job.Status.Active == 0 && End(job) == nil
}
