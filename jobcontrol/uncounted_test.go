package jobcontrol_test

import (
	"context"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/jobwright/jobwright/fake"
	"github.com/jobwright/jobwright/jobcontrol"
)

func TestB19AnIgnoredFailureDelaysOnce(t *testing.T) {
	h := newHarness(t, epoch, unbatched)
	h.submit(newJob(and(sized(2, 4, 6), func(s *batchv1.JobSpec) {
		s.PodFailurePolicy = &batchv1.PodFailurePolicy{Rules: []batchv1.PodFailurePolicyRule{{Action: batchv1.PodFailurePolicyActionIgnore,
			OnExitCodes: &batchv1.PodFailurePolicyOnExitCodesRequirement{Operator: "In", Values: []int32{1}}}}}
	})))
	h.run(h.pods()...)
	h.settle()
	h.refuse(func(c fake.Call) bool { return c.Verb == fake.Patch })
	h.endAt(corev1.PodFailed, 1, h.pods()[0])
	h.settle()
	other := h.live()[0]
	for i := range 6 { // something in the status changes meanwhile
		other, _ = h.cluster.FetchPod(t.Context(), "ns", other.Name)
		other.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: []corev1.ConditionStatus{"False", "True"}[i%2]}}
		h.end(corev1.PodRunning, other)
		h.view.Deliver()
		h.queue.Add(jobKey)
		h.work()
	}
	if f := jobcontrol.Remembers(h.controller, jobKey); f.SinceSuccess != 1 {
		t.Errorf("one failed pod, remembered as %d failures in a row", f.SinceSuccess)
	}
}

// A Job is not over before its pods are free, also one whose pods no list names.
func TestTheEndWaitsForEveryFinalizer(t *testing.T) {
	for name, spec := range map[string]func(*batchv1.JobSpec){"indexed": asIndexed, "not indexed": func(*batchv1.JobSpec) {}} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t, epoch, unbatched)
			h.submit(newJob(and(sized(2, 2, 6), spec)))
			h.refuse(func(c fake.Call) bool { return c.Verb == fake.Patch })
			h.endAt(corev1.PodSucceeded, 0, h.pods()...)
			h.settle()
			if end := jobcontrol.End(h.job()); end != nil {
				t.Errorf("ended as %s while its pods hold the finalizer", end.Type)
			}
			h.refuse(func(fake.Call) bool { return false })
			h.advance(time.Minute)
			h.wantStatus(0, 2, 0, batchv1.JobComplete)
		})
	}
}

func TestBeforeExpiryIsToldOnceADeletionIsOnItsWay(t *testing.T) {
	var told int
	cfg := unbatched
	h := newHarness(t, epoch, cfg)
	cfg.Expiry = h.view
	cfg.BeforeExpiry = func(context.Context, *batchv1.Job) error { told++; return nil }
	h.restart(cfg)
	job := newJob(and(sized(1, 1, 6), func(s *batchv1.JobSpec) { s.TTLSecondsAfterFinished = new(int32(10)) }))
	job.Spec.Template.Finalizers = []string{"example.com/hold"}
	h.submit(job)
	h.run(h.pods()...)
	h.endAt(corev1.PodSucceeded, 0, h.pods()...)
	h.settle()
	h.clock.Advance(11 * time.Second)
	h.work()
	h.queue.Add(jobKey) // before the event: the cache is behind
	h.work()
	if told != 1 {
		t.Errorf("told %d times", told)
	}
}

// TestMoreThanOneStatusListsIsNoEnd: what is left is counted before the Job is
// complete.
func TestMoreThanOneStatusListsIsNoEnd(t *testing.T) {
	got := turnOf(t, known(of(sized(600, 600, 6)), held(strings.Repeat("S", 600))))
	if got.end() != "" || got.status.Succeeded != 500 {
		t.Errorf("end %q, succeeded %d; want none and 500", got.end(), got.status.Succeeded)
	}
}
