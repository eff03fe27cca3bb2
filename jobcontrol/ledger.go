package jobcontrol

import (
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// ledger turns what was done into the two statuses of a sync: the one that
// lists the pods that ended, and the one that counts them.
type ledger struct {
	plan   *tracked
	status batchv1.JobStatus // its slices may be shared
	events []Event
	// verdict is why the Job ends. carried says that it was carried out: no
	// pod is active, so that every tracked pod may go.
	verdict *cause
	success bool
	carried bool
	// outgoing are the decision's own and those that go because the Job ends.
	outgoing outgoing
}

// newLedger writes the first status.
func (p *tracked) newLedger(d Decision, r Result) *ledger {
	l := &ledger{plan: p, status: p.s.Job.Status, verdict: p.verdict, success: p.success, outgoing: p.outgoing}
	deleted := l.countActions(d, r)
	l.decide(int(deleted) == len(d.Delete))
	l.startOrSuspend()
	l.countUnheld()
	if l.ends() {
		l.addUnended(d)
	}
	l.listOutgoing()
	l.setIndexes()
	return l
}

// countActions moves active, ready and terminating by what was done.
func (l *ledger) countActions(d Decision, r Result) (deleted int32) {
	ready := l.plan.seen.ready
	for i, call := range r.Deleted[:min(len(r.Deleted), len(d.Delete))] {
		if call != Done {
			continue
		}
		deleted++
		if isReady(d.Delete[i].Pod) {
			ready--
		}
	}
	l.status.Active = l.plan.seen.active - deleted + count(r.Created, Done, Unknown)
	l.status.Ready = new(ready)
	l.status.Terminating = new(l.plan.seen.terminating + deleted)
	return deleted
}

// decide finds whether the Job is complete, and stores why it ends.
func (l *ledger) decide(allDeleted bool) {
	isNew := l.plan.verdictNew
	if l.verdict == nil && l.plan.s.Satisfied && l.complete() {
		l.verdict = &cause{batchv1.JobReasonCompletionsReached, "Reached expected number of succeeded pods"}
		l.success, isNew = true, true
	}
	l.carried = l.verdict != nil && allDeleted && l.plan.s.Satisfied
	if !isNew {
		return
	}
	// What a pod tells is stored before the pod goes, for nobody could find it
	// again. All other causes stay to be found.
	toldByPods := l.verdict.reason == batchv1.JobReasonPodFailurePolicy || l.plan.tooManyRestarts()
	if !l.plan.s.Satisfied && !toldByPods {
		return
	}
	kind := batchv1.JobFailureTarget
	if l.success {
		kind = batchv1.JobSuccessCriteriaMet
	}
	l.setCondition(kind, corev1.ConditionTrue, *l.verdict)
}

// ends says whether the Job has ended or goes, so that every pod may go.
func (l *ledger) ends() bool { return l.carried || l.plan.s.Job.DeletionTimestamp != nil }

// complete says whether the Job has all that it asks for and nothing at work.
func (l *ledger) complete() bool {
	switch {
	case l.status.Active > 0:
		return false
	case l.plan.spec.workQueue:
		return l.plan.succeeded > 0
	}
	return l.plan.succeeded >= l.plan.spec.completions
}

func (l *ledger) setCondition(kind batchv1.JobConditionType, value corev1.ConditionStatus, why cause) {
	l.status.Conditions = withCondition(l.status.Conditions, kind, value, why, l.plan.s.Now)
}

// listOutgoing lists the pods to untrack where they will be counted.
func (l *ledger) listOutgoing() {
	u := l.status.UncountedTerminatedPods
	u.Succeeded = joined(u.Succeeded, l.outgoing.succeeded)
	u.Failed = joined(u.Failed, l.outgoing.failed)
}

// joined returns the UIDs of both lists, and leaves both as they are.
func joined(a, b []types.UID) []types.UID {
	if len(a) == 0 {
		return b
	}
	return slices.Concat(a, b)
}

// setIndexes writes the sets of indexes.
func (l *ledger) setIndexes() {
	if !l.plan.spec.indexed {
		return
	}
	completed := l.plan.completed
	if l.outgoing.full {
		completed = l.plan.completedBefore.Union(l.outgoing.completed)
	}
	l.status.CompletedIndexes = completed.String()
	l.status.Succeeded = int32(completed.Len())
	if old := l.plan.s.Job.Status.Succeeded; l.status.Succeeded < old && l.plan.spec.completions != l.plan.spec.parallelism {
		l.status.Succeeded = old // the API lets it go down only together with completions
	}
	l.status.FailedIndexes = nil
	if l.plan.spec.perIndex != nil {
		l.status.FailedIndexes = new(l.plan.failedIndexes.String())
	}
}

// changed says whether the status differs from another. A start time alone is
// not worth a write: whatever makes a Job active writes it.
func (l *ledger) changed(from *batchv1.JobStatus) bool {
	to := &l.status
	return to.Active != from.Active || to.Succeeded != from.Succeeded || to.Failed != from.Failed ||
		!equal(to.Ready, from.Ready) || !equal(to.Terminating, from.Terminating) ||
		to.CompletedIndexes != from.CompletedIndexes || !equal(to.FailedIndexes, from.FailedIndexes) ||
		!slices.Equal(to.Conditions, from.Conditions) || uncountedChanged(to, from)
}

func equal[T comparable](a, b *T) bool {
	return a == b || a != nil && b != nil && *a == *b
}

// countUntracked writes the second status: what was untracked is counted, and
// the terminal condition comes when nothing is left.
func (l *ledger) countUntracked(r Result) {
	stays := make(map[types.UID]bool)
	for i, out := range l.outgoing.untrack { // not every one of them is listed
		if i >= len(r.Untracked) || r.Untracked[i] != Done {
			stays[out.Pod.UID] = true
		}
	}
	allUntracked := len(stays) == 0
	for _, pod := range l.plan.seen.listed {
		if !l.ends() && l.plan.waits(pod) {
			stays[pod.UID] = true
		}
	}
	l.keepUncounted(stays)
	u := l.status.UncountedTerminatedPods
	if !l.carried || !allUntracked || l.outgoing.full || len(u.Succeeded)+len(u.Failed) > 0 || *l.status.Terminating > 0 {
		return
	}
	if l.status.StartTime == nil { // an end needs a start, also that of a suspended Job
		l.status.StartTime = new(metav1.NewTime(l.plan.s.Now))
	}
	kind := batchv1.JobFailed
	if l.success {
		kind = batchv1.JobComplete
		l.status.CompletionTime = new(metav1.NewTime(latest(l.plan.s.Now, l.status.StartTime.Time)))
	}
	l.setCondition(kind, corev1.ConditionTrue, *l.verdict)
	l.events = append(l.events, l.endEvents()...)
}

func (l *ledger) endEvents() (events []Event) {
	if !l.success {
		return []Event{{corev1.EventTypeWarning, l.verdict.reason, l.verdict.message}}
	}
	if !l.plan.spec.workQueue && l.status.Succeeded > l.plan.spec.completions {
		events = append(events, Event{corev1.EventTypeWarning, "TooManySucceededPods",
			"Too many succeeded pods running after completion count reached"})
	}
	return append(events, Event{corev1.EventTypeNormal, "Completed", "Job completed"})
}

// interim is the status to write before pods are untracked.
func (p *tracked) interim(d Decision, r Result) Interim {
	l := p.newLedger(d, r)
	out := Interim{Untrack: l.outgoing.untrack, Failures: p.s.Failures}
	if l.changed(&p.s.Job.Status) {
		out.Status, out.Events, out.Failures = l.status.DeepCopy(), l.events, p.failures
	}
	out.Failures.Ahead = p.ahead()
	return out
}

func (p *tracked) settle(d Decision, r Result) Outcome {
	l := p.newLedger(d, r)
	first := l.status
	l.events = nil
	l.countUntracked(r)
	out := Outcome{Wake: p.wake, Retry: r.Err, Forget: r.Err == nil}
	if l.changed(&first) {
		out.Status, out.Events = l.status.DeepCopy(), l.events
	}
	switch {
	case out.Wake.After > 0: // also of a Job that ends now, as upstream does
	case IsFinished(&batchv1.Job{Status: l.status}):
		out.Wake.Reason = "the Job has ended"
	case l.verdict != nil:
		out.Wake.Reason = "its pods have ended and are counted"
	}
	return out
}
