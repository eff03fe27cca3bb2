package jobcontrol

import (
	"math"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
)

// defaultBackoffLimit is the limit of a Job that sets none: beside a limit for
// each index there is none for all.
func defaultBackoffLimit(spec *batchv1.JobSpec) int32 {
	if spec.BackoffLimitPerIndex != nil {
		return math.MaxInt32
	}
	return 6
}

// exceedsBackoffLimit says whether more pods failed than backoffLimit lets be
// replaced, or their containers restarted too often. As pods fail side by side,
// up to parallelism - 1 more of them may have failed than that.
func (p *tracked) exceedsBackoffLimit() bool {
	return int64(p.failed) > int64(p.spec.backoffLimit) || p.tooManyRestarts()
}

// tooManyRestarts applies backoffLimit to restarts in place. The limit itself
// ends the Job here, while it takes one failed pod more: so it is upstream, and
// so it is documented for OnFailure.
func (p *tracked) tooManyRestarts() bool {
	if !p.spec.onFailure || p.seen.restarts == 0 {
		return false
	}
	return p.seen.restarts >= p.spec.backoffLimit
}

// restartsOf counts the restarts of all containers, those of init containers
// included.
func restartsOf(pod *corev1.Pod) (n int32) {
	for i := range pod.Status.InitContainerStatuses {
		n += pod.Status.InitContainerStatuses[i].RestartCount
	}
	for i := range pod.Status.ContainerStatuses {
		n += pod.Status.ContainerStatuses[i].RestartCount
	}
	return n
}
