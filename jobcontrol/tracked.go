package jobcontrol

import (
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobwright/jobwright/podsort"
)

// tracked are the accounts of Tracked: each pod is counted once, and held by a
// finalizer until it is (KEP-2307).
type tracked struct {
	s         Snapshot
	spec      jobSpec
	finalizer string
	indexer   indexer
	uncounted uncounted
	seen      observation
	// shownSucceeded holds the indexes of pods in phase Succeeded, once asked for.
	shownSucceeded map[int]bool

	// completedBefore and failedBefore are what the status says; completed and
	// failedIndexes hold what the pods add to it.
	completedBefore, completed  Indexes
	failedBefore, failedIndexes Indexes
	succeeded, failed           int32
	failures                    Failures

	// verdict is why the Job ends, nil while it does not. Whether it ends well
	// is said by success. It is new while the status does not have it.
	verdict    *cause
	success    bool
	verdictNew bool
	// waiting holds, by index, the failed pod that must stay until its
	// replacement has taken over its failure counts.
	waiting map[int]endedPod
	// outgoing are the pods to untrack, beside those that go if the Job ends.
	outgoing outgoing
	// managesPods says that this sync sees to the number of pods, and so may write
	// that the Job is suspended or resumed.
	managesPods bool
	wake        Wake
}

func planTracked(s Snapshot, spec jobSpec) (Decision, error) {
	p := &tracked{
		s: s, spec: spec,
		finalizer: s.Names.finalizer(),
		indexer:   indexer{s.Job.Name, s.Names.completionIndex()},
	}
	if err := p.readStatus(); err != nil {
		return Decision{}, fmt.Errorf("%w: Job %s/%s: %w", ErrInvalid, s.Job.Namespace, s.Job.Name, err)
	}
	var active, succeeded indexBits
	p.observe(s.Pods, &active, &succeeded)
	p.count(&succeeded)
	p.failIndexes(&active)
	p.findOutgoing()
	p.judge()

	d := Decision{accounts: p}
	switch {
	case p.verdict != nil:
		d.Delete = p.deleteAll("the Job ends: "+p.verdict.message, false)
		p.awaits("its pods have ended and are counted")
	case !s.Satisfied:
		p.awaits("pods asked for or deleted earlier are seen")
	case s.Job.DeletionTimestamp != nil:
		p.awaits("the Job is gone")
	default:
		p.managesPods = true
		p.awaits("a pod changes, or the spec")
		p.manage(&d, &active)
	}
	return d, nil
}

// readStatus reads the parts of the status that are text or lists.
func (p *tracked) readStatus() (err error) {
	status := &p.s.Job.Status
	p.uncounted = readUncounted(status.UncountedTerminatedPods)
	if !p.spec.indexed {
		return nil
	}
	if p.completedBefore, err = ParseIndexes(status.CompletedIndexes); err != nil {
		return fmt.Errorf("status.completedIndexes: %w", err)
	}
	p.completedBefore = p.completedBefore.Below(int(p.spec.completions))
	if p.spec.perIndex != nil && status.FailedIndexes != nil {
		if p.failedBefore, err = ParseIndexes(*status.FailedIndexes); err != nil {
			return fmt.Errorf("status.failedIndexes: %w", err)
		}
		p.failedBefore = p.failedBefore.Below(int(p.spec.completions))
	}
	return nil
}

// count adds to the counters of the status what is on its way into them.
func (p *tracked) count(succeeded *indexBits) {
	status := &p.s.Job.Status
	p.succeeded = status.Succeeded + p.seen.newSucceeded
	p.failed = status.Failed
	var delaying []*corev1.Pod
	var ignored map[types.UID]struct{}
	for _, pod := range p.seen.failed {
		if !pod.isOfJob(p.spec.indexed) {
			continue
		}
		if pod.counted {
			p.failed++
		} else {
			if ignored == nil {
				ignored = make(map[types.UID]struct{})
			}
			ignored[pod.UID] = struct{}{}
			if _, before := p.s.Failures.Ignored[pod.UID]; before {
				continue
			}
		}
		if delays := p.s.Judgement.Delays; delays == nil || delays(p.s.Job, pod.Pod) {
			delaying = append(delaying, pod.Pod)
		}
	}
	for _, failed := range p.uncounted {
		if failed {
			p.failed++
		} else {
			p.succeeded++
		}
	}
	p.failures = p.s.Failures
	if p.seen.newSucceeded > 0 || len(delaying) > 0 {
		p.failures = p.failures.after(p.lastSuccess(len(delaying) > 0), delaying, p.s.Now)
	}
	p.failures.Ignored = ignored
	if p.spec.indexed {
		p.completed = p.completedBefore.Union(succeeded.indexes())
		p.succeeded = int32(p.completed.Len())
	}
}

// lastSuccess is when the last of the pods that succeeded since ended, nil when
// none did. The time itself is looked for if it matters.
func (p *tracked) lastSuccess(matters bool) *time.Time {
	if p.seen.newSucceeded == 0 {
		return nil
	}
	var last time.Time
	if !matters {
		return &last
	}
	for _, pod := range p.s.Pods {
		if pod.Status.Phase != corev1.PodSucceeded || p.uncounted.has(pod.UID) || !p.isTracked(pod) {
			continue
		}
		if !p.spec.indexed || p.index(pod) != noIndex {
			last = latest(last, podsort.FinishTime(pod))
		}
	}
	return &last
}

// judge decides whether the Job ends, and why. What the status says already
// stays. A failure is looked for before a success.
func (p *tracked) judge() {
	status := &p.s.Job.Status
	if c := trueCondition(status, batchv1.JobSuccessCriteriaMet); c != nil {
		p.verdict, p.success = &cause{c.Reason, c.Message}, true
		return
	}
	if c := trueCondition(status, batchv1.JobFailureTarget); c != nil {
		p.verdict = &cause{c.Reason, c.Message}
		return
	}
	if p.verdict = p.judgeFailure(); p.verdict == nil {
		p.armDeadline()
		p.judgeIndexes()
	}
	p.verdictNew = p.verdict != nil
}

// judgeFailure returns why the Job fails, or nil.
func (p *tracked) judgeFailure() *cause {
	for _, pod := range p.seen.failed {
		if pod.ruling.action == batchv1.PodFailurePolicyActionFailJob {
			return &cause{batchv1.JobReasonPodFailurePolicy, pod.ruling.why}
		}
	}
	switch {
	case p.exceedsBackoffLimit():
		return &cause{batchv1.JobReasonBackoffLimitExceeded, "Job has reached the specified backoff limit"}
	case p.pastDeadline():
		return &cause{batchv1.JobReasonDeadlineExceeded, "Job was active longer than specified deadline"}
	}
	return nil
}

// judgeIndexes decides by what the indexes have come to, if anything.
func (p *tracked) judgeIndexes() {
	if !p.spec.indexed {
		return
	}
	if p.verdict = p.judgeFailedIndexes(); p.verdict == nil {
		p.verdict = p.judgeSuccess()
		p.success = p.verdict != nil
	}
}

func (p *tracked) judgeSuccess() *cause {
	if success := p.s.Judgement.Success; success != nil {
		message, ok := success(p.s.Job, p.completed)
		if !ok {
			return nil
		}
		return &cause{batchv1.JobReasonSuccessPolicy, message}
	}
	return judgeSuccess(p.spec.successRules, p.completed)
}

// awaits names the event that wakes the Job, if no time does.
func (p *tracked) awaits(event string) {
	if p.wake.After == 0 {
		p.wake.Reason = event
	}
}

// wakeAfter has the Job woken after d, or sooner.
func (p *tracked) wakeAfter(d time.Duration, reason string) {
	if p.wake.After == 0 || d < p.wake.After {
		p.wake = Wake{d, reason}
	}
}
