package jobcontrol

import (
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
)

// hasFailed is the API's judgement of a pod that did not succeed. With
// TerminatingOrFailed a pod that is being deleted has failed, for it may never
// reach a terminal phase; with Failed it has not before it does (KEP-3939).
func (p *tracked) hasFailed(pod *corev1.Pod) bool {
	if failed := p.s.Judgement.Failed; failed != nil {
		return failed(p.s.Job, pod)
	}
	if pod.Status.Phase == corev1.PodFailed {
		return true
	}
	return !p.spec.replaceFailedOnly && pod.DeletionTimestamp != nil && pod.Status.Phase != corev1.PodSucceeded
}

// defaultReplacement: a Job that judges failures by a policy must see how each
// pod ended before it replaces it (KEP-3939).
func defaultReplacement(spec *batchv1.JobSpec) batchv1.PodReplacementPolicy {
	if spec.PodFailurePolicy != nil {
		return batchv1.Failed
	}
	return batchv1.TerminatingOrFailed
}

// missing is how many pods are to be created. With podReplacementPolicy Failed
// a pod on its way out keeps its place until it is gone.
func (p *tracked) missing() int32 {
	missing := p.wanted() - p.seen.active
	if p.spec.replaceFailedOnly {
		missing -= p.seen.terminating
	}
	return missing
}

// terminatingIndexes are the indexes of pods on their way out, which are to be
// replaced only when they are gone.
func (p *tracked) terminatingIndexes() map[int]bool {
	indexes := make(map[int]bool, p.seen.terminating)
	for _, pod := range p.s.Pods {
		if !hasEnded(pod) && pod.DeletionTimestamp != nil {
			indexes[p.index(pod)] = true
		}
	}
	return indexes
}
