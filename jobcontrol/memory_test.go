package jobcontrol_test

import (
	"errors"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/jobwright/jobwright/fake"
	"github.com/jobwright/jobwright/jobcontrol"
)

func TestReadYourWrites(t *testing.T) {
	t.Run("B8 B45 B59 B84 a Job older than its last written status is left alone", func(t *testing.T) {
		h := newHarness(t, epoch, unbatched)
		h.submit(parallel(1, 1, 0))
		h.end(corev1.PodFailed, h.pods()[0])
		h.view.DeliverIf(fake.ForPod)
		h.work()
		h.wantStatus(0, 0, 1, batchv1.JobFailed)
		writes := len(h.statuses)
		if err := h.cluster.RemovePod(t.Context(), h.pods()[0]); err != nil {
			t.Fatal(err)
		}
		h.view.DeliverIf(fake.ForPod)
		h.queue.Add(jobKey)
		h.work()
		if n := len(h.pods()); n != 0 || len(h.statuses) != writes || len(h.errs) != 0 {
			t.Errorf("made %d pods, wrote %d more statuses, errors %v", n, len(h.statuses)-writes, h.errs)
		}
		h.settle()
		h.wantStatus(0, 0, 1, batchv1.JobFailed)
	})
	t.Run("a cache that never catches up is believed in the end", func(t *testing.T) {
		h := newHarness(t, epoch, unbatched)
		h.submit(parallel(2, 2, 6))
		h.end(corev1.PodSucceeded, h.pods()[0])
		h.view.DeliverIf(fake.ForPod)
		h.work()
		h.end(corev1.PodFailed, h.pods(corev1.PodPending)[0])
		h.view.DeliverIf(fake.ForPod)
		h.clock.Advance(6 * time.Minute)
		h.view.Drop(fake.ForJob)
		h.queue.Add(jobKey)
		h.work()
		if len(h.errs) != 1 || !apierrors.IsConflict(h.errs[0]) {
			t.Errorf("errors %v, want the conflict that a try gives", h.errs)
		}
	})
}

func TestStatusConflict(t *testing.T) {
	t.Run("B69 another writer: read and synced again, nothing lost", func(t *testing.T) {
		h := newHarness(t, epoch, unbatched)
		h.beforeSave = func() error {
			h.beforeSave = nil
			h.update(func(j *batchv1.Job) { j.Annotations = map[string]string{"by": "another"} })
			return nil
		}
		h.submit(parallel(2, 2, 6))
		h.advance(time.Second)
		h.wantStatus(2, 0, 0, "")
		if n := len(h.pods()); n != 2 {
			t.Errorf("%d pods, want 2", n)
		}
		if h.job().Annotations["by"] != "another" {
			t.Error("the other writer's change is gone")
		}
	})
	t.Run("events and metrics come only after the write that makes them true", func(t *testing.T) {
		var ends []string
		cfg := unbatched
		cfg.Metrics = &jobcontrol.Metrics{Ended: func(kind batchv1.JobConditionType, reason string) { ends = append(ends, string(kind)+reason) }}
		h := newHarness(t, epoch, cfg)
		h.submit(parallel(1, 1, 0))
		h.end(corev1.PodFailed, h.pods()[0])
		h.beforeSave = func() error {
			if len(h.events) > 0 || len(ends) > 0 {
				t.Errorf("before the write: events %v, ends %v", h.events, ends)
			}
			return apierrors.NewInternalError(errors.New("down"))
		}
		h.view.Deliver()
		h.work()
		if len(h.events) > 0 || len(ends) > 0 {
			t.Errorf("after a write that failed: events %v, ends %v", h.events, ends)
		}
		h.beforeSave = nil
		h.advance(time.Second)
		if len(h.events) != 1 || len(ends) != 1 || ends[0] != "FailedBackoffLimitExceeded" {
			t.Errorf("after the write: events %v, ends %v, want one of each", h.events, ends)
		}
	})
}
