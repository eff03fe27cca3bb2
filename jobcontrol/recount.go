package jobcontrol

import (
	"fmt"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobwright/jobwright/podsort"
)

// recount are the accounts of Recount: what the pods of this sync say.
type recount struct {
	job   *batchv1.Job
	spec  jobSpec
	now   time.Time
	start time.Time
	wake  Wake // if the Job goes on

	active, succeeded, failed int32
	// verdict is why the Job fails, nil while it does not.
	verdict *cause
	// newFailure: more pods have failed than the status knows of.
	newFailure bool
}

func planRecount(s Snapshot, spec jobSpec) Decision {
	p := &recount{job: s.Job, spec: spec, now: s.Now, start: startTime(s.Job, s.Now)}
	for _, pod := range s.Pods {
		switch {
		case pod.Status.Phase == corev1.PodSucceeded:
			p.succeeded++
		case pod.Status.Phase == corev1.PodFailed:
			p.failed++
		case pod.DeletionTimestamp == nil:
			p.active++
		}
	}
	p.newFailure = p.failed > s.Job.Status.Failed
	p.verdict = p.judge(s.Retries)

	d := Decision{accounts: p}
	switch {
	case p.verdict != nil:
		d.Delete = deletions(s.Pods, int(p.active), "the Job fails: "+p.verdict.message)
		p.wake.Reason = "deletions that failed are retried"
	case !s.Satisfied:
		p.wake.Reason = "pods asked for or deleted earlier are seen"
	case s.Job.DeletionTimestamp != nil:
		p.wake.Reason = "the Job is gone"
	default:
		p.manage(&d, s.Pods)
		p.wake.Reason = "a pod changes, or the spec"
	}
	if spec.deadline < noDeadline && p.verdict == nil {
		p.wake = Wake{After: spec.deadline - p.now.Sub(p.start), Reason: "activeDeadlineSeconds end"}
	}
	return d
}

// judge decides whether the Job fails.
func (p *recount) judge(retries int) *cause {
	if c := trueCondition(&p.job.Status, batchv1.JobFailureTarget); c != nil {
		return &cause{c.Reason, c.Message} // it was decided, but not every pod could be deleted
	}
	limit := int64(p.spec.backoffLimit)
	switch {
	case p.newFailure && int64(retries)+1 > limit, int64(p.failed) > limit:
		return &cause{batchv1.JobReasonBackoffLimitExceeded, "Job has reached the specified backoff limit"}
	case p.spec.deadline < noDeadline && p.now.Sub(p.start) >= p.spec.deadline:
		return &cause{batchv1.JobReasonDeadlineExceeded, "Job was active longer than specified deadline"}
	}
	return nil
}

// manage brings the number of active pods to what the spec asks for.
func (p *recount) manage(d *Decision, pods []*corev1.Pod) {
	if surplus := p.active - p.spec.parallelism; surplus > 0 {
		d.Delete = deletions(pods, int(surplus), "more pods active than spec.parallelism")
		return
	}
	if missing := p.wanted() - p.active; missing > 0 {
		slot := Slot{Reason: fmt.Sprintf("%d pods active, %d wanted", p.active, p.wanted())}
		d.Create = slices.Repeat([]Slot{slot}, int(min(missing, maxCreations)))
	}
}

// wanted is how many pods should be active. A work queue starts no more pods
// after the first success: the queue is then empty, or those at work empty it.
func (p *recount) wanted() int32 {
	switch {
	case !p.spec.workQueue:
		return min(p.spec.completions-p.succeeded, p.spec.parallelism)
	case p.succeeded > 0:
		return p.active
	}
	return p.spec.parallelism
}

// deletions picks n of the active pods, those with the least progress first.
func deletions(pods []*corev1.Pod, n int, reason string) []Deletion {
	var active []*corev1.Pod
	for _, pod := range pods {
		if isActive(pod) {
			active = append(active, pod)
		}
	}
	slices.SortFunc(active, podsort.ForDeletion)
	chosen := make([]Deletion, n)
	for i := range chosen {
		chosen[i] = Deletion{Pod: active[i], Reason: reason}
	}
	return chosen
}

// interim: nothing comes before the one status.
func (p *recount) interim(Decision, Result) Interim { return Interim{} }

func (p *recount) settle(d Decision, r Result) Outcome {
	deleted := count(r.Deleted, Done)
	active := p.active - deleted + count(r.Created, Done, Unknown)
	failed := p.failed
	if p.verdict != nil {
		failed += deleted
	}
	out := Outcome{Wake: p.wake, Retry: r.Err}
	var end batchv1.JobConditionType
	switch {
	case p.verdict != nil && int(deleted) == len(d.Delete):
		end = batchv1.JobFailed
		out.Events = []Event{{corev1.EventTypeWarning, p.verdict.reason, p.verdict.message}}
	case p.verdict != nil:
		end = batchv1.JobFailureTarget
	case p.complete(active):
		end = batchv1.JobComplete
		out.Events = p.excess(active)
	}
	if end == batchv1.JobFailed || end == batchv1.JobComplete {
		out.Wake = Wake{Reason: "the Job has ended"}
	} else if p.newFailure && out.Retry == nil {
		out.Retry = ErrPodsFailed
	}
	out.Status = p.status(active, failed, end)
	out.Forget = out.Status != nil && out.Retry == nil
	return out
}

// complete says whether the Job is done, with this many pods still active.
func (p *recount) complete(active int32) bool {
	if p.spec.workQueue {
		return p.succeeded > 0 && active == 0
	}
	return p.succeeded >= p.spec.completions
}

// excess warns of a Job that completes with more than it asked for.
func (p *recount) excess(active int32) (events []Event) {
	if p.spec.workQueue {
		return nil
	}
	if active > 0 {
		events = append(events, Event{corev1.EventTypeWarning, "TooManyActivePods",
			"Too many active pods running after completion count reached"})
	}
	if p.succeeded > p.spec.completions {
		events = append(events, Event{corev1.EventTypeWarning, "TooManySucceededPods",
			"Too many succeeded pods running after completion count reached"})
	}
	return events
}

// status returns the status to write, or nil when it is the one that the Job has.
func (p *recount) status(active, failed int32, end batchv1.JobConditionType) *batchv1.JobStatus {
	old := &p.job.Status
	news := end != "" && !HasCondition(old, end)
	if !news && old.StartTime != nil && old.Active == active && old.Succeeded == p.succeeded && old.Failed == failed {
		return nil
	}
	status := old.DeepCopy()
	status.Active, status.Succeeded, status.Failed = active, p.succeeded, failed
	if status.StartTime == nil {
		status.StartTime = new(metav1.NewTime(p.start))
	}
	if !news {
		return status
	}
	var why cause // none for Complete, as the original has it
	if p.verdict != nil {
		why = *p.verdict
	}
	status.Conditions = withCondition(status.Conditions, end, corev1.ConditionTrue, why, p.now)
	if end == batchv1.JobComplete {
		status.CompletionTime = new(metav1.NewTime(latest(p.now, p.start)))
	}
	return status
}
