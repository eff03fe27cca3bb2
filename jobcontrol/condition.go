package jobcontrol

import (
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Condition returns the condition of this type, a pointer into the status, or
// nil when there is none.
func Condition(status *batchv1.JobStatus, kind batchv1.JobConditionType) *batchv1.JobCondition {
	for i := range status.Conditions {
		if status.Conditions[i].Type == kind {
			return &status.Conditions[i]
		}
	}
	return nil
}

// HasCondition says whether the condition of this type is True.
func HasCondition(status *batchv1.JobStatus, kind batchv1.JobConditionType) bool {
	return trueCondition(status, kind) != nil
}

// trueCondition returns the condition of this type if it is True, else nil.
func trueCondition(status *batchv1.JobStatus, kind batchv1.JobConditionType) *batchv1.JobCondition {
	if c := Condition(status, kind); c != nil && c.Status == corev1.ConditionTrue {
		return c
	}
	return nil
}

// IsFinished says whether the Job has ended: it is Complete or Failed, and
// will not be otherwise again.
func IsFinished(job *batchv1.Job) bool { return End(job) != nil }

// withCondition returns the conditions with the one of this type made new, in
// the place of the old one if there is one. The conditions given stay as they are.
func withCondition(conditions []batchv1.JobCondition, kind batchv1.JobConditionType, value corev1.ConditionStatus, why cause, now time.Time) []batchv1.JobCondition {
	at := metav1.NewTime(now)
	c := batchv1.JobCondition{
		Type:               kind,
		Status:             value,
		LastProbeTime:      at,
		LastTransitionTime: at,
		Reason:             why.reason,
		Message:            why.message,
	}
	conditions = slices.Clone(conditions)
	for i := range conditions {
		if conditions[i].Type == kind {
			conditions[i] = c
			return conditions
		}
	}
	return append(conditions, c)
}

// cause is why a Job ends, in the words of its condition and its event.
type cause struct{ reason, message string }
