package jobcontrol

import (
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
)

// Judgement replaces, function by function, what the API says of the pods and
// the success of a Job; a nil function leaves that to the API. The functions
// must be pure: the same pod and Job, the same answer. Only Tracked asks them.
type Judgement struct {
	// Failed says whether a pod that did not succeed has failed. The API: it is
	// in phase Failed, or is being deleted, unless podReplacementPolicy is
	// Failed. It is asked of pods in phase Failed and of pods being deleted. One in
	// phase Failed that has not failed counts nowhere and is replaced.
	Failed func(job *batchv1.Job, pod *corev1.Pod) bool
	// Counts says whether a failure counts towards the limits. The API: as the
	// pod failure policy says.
	Counts func(job *batchv1.Job, pod *corev1.Pod) bool
	// Delays says whether a failure makes the next pod wait. The API: every one
	// does, also one that the policy ignores.
	Delays func(job *batchv1.Job, pod *corev1.Pod) bool
	// DeletionOrder puts those pods first that are to be deleted first. It must
	// be a total order. The API: podsort.ForDeletion.
	DeletionOrder func(a, b *corev1.Pod) int
	// Success says whether an Indexed Job has succeeded when these indexes
	// have, and why, in the words of its condition. The API: as the success
	// policy says. Completions reached are a success in any case.
	Success func(job *batchv1.Job, succeeded Indexes) (message string, ok bool)
}
