package jobcontrol_test

import (
	"context"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobwright/jobwright/jobcontrol"
)

// reaper deletes Jobs, as an embedder does, and notes what it was asked.
type reaper struct {
	h     *harness
	asked []time.Duration // since the epoch
	err   error
}

func (r *reaper) DeleteJob(ctx context.Context, job *batchv1.Job) error {
	r.asked = append(r.asked, r.h.clock.Now().Sub(epoch))
	if r.err != nil {
		return r.err
	}
	return r.h.cluster.DeleteJob(ctx, job.Namespace, job.Name, metav1.DeletePropagationForeground)
}

// expiring is a harness with a Job that has such a time to live, and has ended.
func expiring(t *testing.T, cfg jobcontrol.Config, ttl int32) (*harness, *reaper) {
	r := &reaper{}
	cfg.BatchPeriod, cfg.Expiry = -1, r
	h := newHarness(t, epoch, cfg)
	r.h = h
	job := parallel(1, 1, 0)
	job.Spec.TTLSecondsAfterFinished = &ttl
	h.submit(job)
	h.endAt(corev1.PodFailed, 1, h.pods()...)
	h.settle()
	return h, r
}

func TestB63AnEndedJobIsDeletedWhenItsTimeHasCome(t *testing.T) {
	h, r := expiring(t, jobcontrol.Config{}, 600)
	items := h.queue.Items()
	if len(items) != 1 || !items[0].Due.Equal(epoch.Add(600*time.Second)) {
		t.Fatalf("queued %v, want it at exactly the rest of the time", items)
	}
	if n := h.queue.NumRequeues(jobKey); n != 0 {
		t.Errorf("%d retries", n)
	}
	h.advance(599 * time.Second)
	if len(r.asked) != 0 {
		t.Errorf("deleted at %v", r.asked)
	}
	h.advance(time.Second)
	if _, err := h.cluster.FetchJob(t.Context(), "ns", "j"); err == nil || len(r.asked) != 1 || len(h.pods()) != 0 {
		t.Errorf("asked %v, %d pods; want it gone once, with its pods", r.asked, len(h.pods()))
	}
}

func TestATimeToLiveOf0DeletesAtOnce(t *testing.T) {
	_, r := expiring(t, jobcontrol.Config{}, 0)
	if len(r.asked) != 1 {
		t.Errorf("asked %v", r.asked)
	}
}

func TestB64AFailedJobHasATimeToLiveToo(t *testing.T) {
	h, _ := expiring(t, jobcontrol.Config{}, 60)
	if at, ok := jobcontrol.ExpiresAt(h.job()); !ok || !at.Equal(epoch.Add(time.Minute)) {
		t.Errorf("expires at %v, %v; want a minute after its condition", at, ok)
	}
}

func TestTheTimeToLiveMayChange(t *testing.T) {
	h, r := expiring(t, jobcontrol.Config{}, 60)
	t.Run("prolonged, though the cache does not know", func(t *testing.T) {
		h.update(func(j *batchv1.Job) { j.Spec.TTLSecondsAfterFinished = new(int32(120)) })
		h.clock.Advance(60 * time.Second)
		h.work()
		if len(r.asked) != 0 {
			t.Errorf("deleted at %v", r.asked)
		}
	})
	t.Run("shortened", func(t *testing.T) {
		h.settle()
		h.update(func(j *batchv1.Job) { j.Spec.TTLSecondsAfterFinished = new(int32(1)) })
		h.settle()
		if len(r.asked) != 1 {
			t.Errorf("asked %v, want once", r.asked)
		}
	})
}

func TestB80TheEmbedderIsToldFirst(t *testing.T) {
	told, refuse := 0, errInternal
	cfg := jobcontrol.Config{BeforeExpiry: func(_ context.Context, job *batchv1.Job) error {
		told++
		if job.Name != "j" || !jobcontrol.IsFinished(job) {
			t.Errorf("told of %+v", job)
		}
		return refuse
	}}
	h, r := expiring(t, cfg, 1)
	h.advance(3 * time.Second)
	if told == 0 || len(r.asked) != 0 || !h.sawErr(errInternal) {
		t.Errorf("told %d times, asked %v, errors %v; want it put off with an error", told, r.asked, h.errs)
	}
	refuse = nil
	h.advance(time.Minute)
	if len(r.asked) != 1 {
		t.Errorf("asked %v, want once", r.asked)
	}
}

func TestExpiryIsTriedAgain(t *testing.T) {
	h, r := expiring(t, jobcontrol.Config{}, 10)
	r.err = errInternal
	h.advance(10 * time.Second)
	r.err = nil
	h.advance(time.Minute)
	if _, err := h.cluster.FetchJob(t.Context(), "ns", "j"); err == nil || len(r.asked) < 2 {
		t.Errorf("asked %v, want it gone at last", r.asked)
	}
}

func TestARecreatedJobDoesNotExpireForTheOldOne(t *testing.T) {
	h, r := expiring(t, jobcontrol.Config{}, 10)
	h.deleteJob(metav1.DeletePropagationBackground)
	again := parallel(1, 1, 0)
	again.Spec.TTLSecondsAfterFinished = new(int32(0))
	if _, err := h.cluster.CreateJob(t.Context(), again); err != nil {
		t.Fatal(err)
	}
	h.clock.Advance(10 * time.Second)
	h.work() // the cache still shows the old one
	if len(r.asked) != 0 {
		t.Error("the new Job is deleted")
	}
}

func TestNobodyExpiresWhat(t *testing.T) {
	ended := func(change func(*batchv1.Job)) *batchv1.Job {
		job := stored(func(j *batchv1.Job) {
			j.Spec.TTLSecondsAfterFinished = new(int32(10))
			j.Status.Conditions = []batchv1.JobCondition{{Type: batchv1.JobComplete, Status: corev1.ConditionTrue, LastTransitionTime: metav1.Time{Time: epoch}}}
		})
		change(job)
		return job
	}
	for name, tt := range map[string]struct {
		change func(*batchv1.Job)
		want   bool
	}{
		"has ended":       {func(*batchv1.Job) {}, true},
		"has no TTL":      {func(j *batchv1.Job) { j.Spec.TTLSecondsAfterFinished = nil }, false},
		"goes on":         {func(j *batchv1.Job) { j.Status.Conditions = nil }, false},
		"is only decided": {func(j *batchv1.Job) { j.Status.Conditions[0].Type = batchv1.JobSuccessCriteriaMet }, false},
		"says not when":   {func(j *batchv1.Job) { j.Status.Conditions[0].LastTransitionTime = metav1.Time{} }, false},
	} {
		if at, ok := jobcontrol.ExpiresAt(ended(tt.change)); ok != tt.want || ok && !at.Equal(epoch.Add(10*time.Second)) {
			t.Errorf("%s: expires at %v, %v", name, at, ok)
		}
	}
	t.Run("one of another's", func(t *testing.T) {
		r := &reaper{}
		h := newHarness(t, epoch.Add(time.Hour), jobcontrol.Config{Expiry: r})
		r.h = h
		job := ended(func(j *batchv1.Job) { j.Spec.ManagedBy = new("example.com/own") })
		h.cluster.AnyStatus = true
		if err := h.cluster.Load(job); err != nil {
			t.Fatal(err)
		}
		h.settle()
		h.queue.Add(jobKey)
		h.settle()
		if len(r.asked) != 0 {
			t.Error("it is deleted")
		}
	})
}
