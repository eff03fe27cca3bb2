package jobcontrol

import (
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// startOrSuspend writes whether the Job is suspended, and since when it is
// active: the deadline counts unbroken activity only (KEP-2232).
func (l *ledger) startOrSuspend() {
	if l.verdict == nil && l.manages {
		l.markSuspension()
	}
	if l.status.StartTime == nil && !l.spec.suspended {
		l.status.StartTime = new(metav1.NewTime(l.s.Now))
	}
}

func (l *ledger) markSuspension() {
	suspended := cause{"JobSuspended", "Job suspended"}
	resumed := cause{"JobResumed", "Job resumed"}
	switch c := Condition(&l.status, batchv1.JobSuspended); {
	case l.spec.suspended && !says(c, corev1.ConditionTrue, suspended):
		l.setCondition(batchv1.JobSuspended, corev1.ConditionTrue, suspended)
		l.status.StartTime = nil
		l.events = append(l.events, Event{corev1.EventTypeNormal, "Suspended", suspended.message})
	case !l.spec.suspended && c != nil && !says(c, corev1.ConditionFalse, resumed):
		l.setCondition(batchv1.JobSuspended, corev1.ConditionFalse, resumed)
		l.status.StartTime = new(metav1.NewTime(l.s.Now))
		l.events = append(l.events, Event{corev1.EventTypeNormal, "Resumed", resumed.message})
	}
}

func says(c *batchv1.JobCondition, value corev1.ConditionStatus, why cause) bool {
	return c != nil && c.Status == value && c.Reason == why.reason && c.Message == why.message
}
