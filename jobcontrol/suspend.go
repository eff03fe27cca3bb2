package jobcontrol

import (
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// startOrSuspend writes whether the Job is suspended, and since when it is
// active: the deadline counts unbroken activity only (KEP-2232).
func (l *ledger) startOrSuspend() {
	if l.verdict == nil && l.plan.managesPods {
		l.markSuspension()
	}
	if l.status.StartTime == nil && !l.plan.spec.suspended {
		l.status.StartTime = new(metav1.NewTime(l.plan.s.Now))
	}
}

func (l *ledger) markSuspension() {
	was := HasCondition(&l.status, batchv1.JobSuspended)
	switch {
	case l.plan.spec.suspended && !was:
		l.setCondition(batchv1.JobSuspended, corev1.ConditionTrue, cause{"JobSuspended", "Job suspended"})
		l.status.StartTime = nil
		l.events = append(l.events, Event{corev1.EventTypeNormal, "Suspended", "Job suspended"})
	case !l.plan.spec.suspended && was:
		l.setCondition(batchv1.JobSuspended, corev1.ConditionFalse, cause{"JobResumed", "Job resumed"})
		l.status.StartTime = new(metav1.NewTime(l.plan.s.Now))
		l.events = append(l.events, Event{corev1.EventTypeNormal, "Resumed", "Job resumed"})
	}
}
