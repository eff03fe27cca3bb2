package jobcontrol_test

import (
	"slices"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobwright/jobwright/fake"
	"github.com/jobwright/jobwright/jobcontrol"
)

func TestPodEvents(t *testing.T) {
	h := newHarness(t, epoch, recounting)
	h.submit(selecting())
	pod := h.pods()[0]
	wakes := func(event func()) []fake.Item {
		h.settle()
		event()
		return slices.DeleteFunc(h.queue.Items(), func(item fake.Item) bool { return item.Due.After(h.clock.Now()) })
	}
	t.Run("an update that repeats what is known wakes nobody", func(t *testing.T) {
		if got := wakes(func() { h.controller.PodUpdated(pod, pod) }); len(got) != 0 {
			t.Errorf("it wakes %v", got)
		}
	})
	t.Run("a pod that leaves wakes the Job it leaves", func(t *testing.T) {
		released := pod.DeepCopy()
		released.OwnerReferences, released.Labels, released.ResourceVersion = nil, nil, "later"
		if got := wakes(func() { h.controller.PodUpdated(pod, released) }); len(got) != 1 || got[0].Key != jobKey {
			t.Errorf("it wakes %v", got)
		}
	})
	t.Run("a namesake seen as an update is one pod gone and one come", func(t *testing.T) {
		namesake := pod.DeepCopy()
		namesake.UID, namesake.ResourceVersion = "another", "later"
		jobcontrol.ExpectDeletion(h.controller, h.job().UID, pod.UID)
		jobcontrol.ExpectCreation(h.controller, h.job().UID)
		h.controller.PodUpdated(pod, namesake)
		if n := jobcontrol.Expected(h.controller, h.job().UID); n != 0 {
			t.Errorf("%d pods are still waited for", n)
		}
	})
	t.Run("B56 a deletion is seen when it begins, and once", func(t *testing.T) {
		going := pod.DeepCopy()
		going.DeletionTimestamp, going.ResourceVersion = &metav1.Time{Time: epoch}, "later"
		jobcontrol.ExpectDeletion(h.controller, h.job().UID, pod.UID)
		jobcontrol.ExpectDeletion(h.controller, h.job().UID, "another")
		h.controller.PodUpdated(pod, going)
		h.controller.PodDeleted(going)
		if n := jobcontrol.Expected(h.controller, h.job().UID); n != 1 {
			t.Errorf("%d pods are waited for, want the other one", n)
		}
	})
	t.Run("B93 the end of a pod of nobody's costs nothing", func(t *testing.T) {
		stray := pod.DeepCopy()
		stray.OwnerReferences = nil
		if got := wakes(func() { h.controller.PodDeleted(stray) }); len(got) != 0 {
			t.Errorf("it wakes %v", got)
		}
	})
}

func TestPodEventsWake(t *testing.T) {
	h := newHarness(t, epoch, recounting)
	h.submit(selecting())
	pod := h.pods()[0]
	changed := func(change func(*corev1.Pod)) *corev1.Pod {
		c := pod.DeepCopy()
		c.ResourceVersion = "later"
		change(c)
		return c
	}
	going := changed(func(p *corev1.Pod) { p.DeletionTimestamp = &metav1.Time{Time: epoch} })
	orphan := changed(func(p *corev1.Pod) { p.OwnerReferences = nil })
	tests := map[string]struct {
		event func()
		wakes bool
	}{
		"a pod comes":                       {func() { h.controller.PodAdded(pod) }, true},
		"a pod changes":                     {func() { h.controller.PodUpdated(pod, changed(func(*corev1.Pod) {})) }, true},
		"a pod goes":                        {func() { h.controller.PodDeleted(pod) }, true},
		"an orphan comes that it may adopt": {func() { h.controller.PodAdded(orphan) }, true},
		"an orphan changes so that it may": {func() {
			h.controller.PodUpdated(changed(func(p *corev1.Pod) { p.OwnerReferences, p.Labels, p.ResourceVersion = nil, nil, "earlier" }), orphan)
		}, true},
		"an orphan changes in other ways": {func() {
			h.controller.PodUpdated(changed(func(p *corev1.Pod) { p.OwnerReferences, p.ResourceVersion = nil, "earlier" }), orphan)
		}, false},
		"an orphan comes with other labels": {func() {
			h.controller.PodAdded(changed(func(p *corev1.Pod) { p.OwnerReferences, p.Labels["app"] = nil, "y" }))
		}, false},
		"an orphan comes that is being deleted": {func() {
			h.controller.PodAdded(changed(func(p *corev1.Pod) { p.OwnerReferences, p.DeletionTimestamp = nil, &metav1.Time{Time: epoch} }))
		}, false},
		"an orphan goes":      {func() { h.controller.PodDeleted(orphan) }, false},
		"another's pod comes": {func() { h.controller.PodAdded(changed(func(p *corev1.Pod) { p.OwnerReferences[0].Kind = "Other" })) }, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			h.settle()
			tt.event()
			if woken := h.queue.Len() > 0; woken != tt.wakes {
				t.Errorf("it wakes %v", h.queue.Items())
			}
		})
	}
	t.Run("a deletion is seen by a timestamp, not by any update", func(t *testing.T) {
		job := h.job().UID
		jobcontrol.ExpectDeletion(h.controller, job, pod.UID)
		h.controller.PodUpdated(pod, changed(func(*corev1.Pod) {}))
		if n := jobcontrol.Expected(h.controller, job); n != 1 {
			t.Errorf("after an update %d pods are waited for, want 1", n)
		}
		h.controller.PodAdded(pod)
		if n := jobcontrol.Expected(h.controller, job); n != 1 {
			t.Errorf("after the pod was added %d pods are waited for, want 1", n)
		}
		h.controller.PodAdded(going)
		if n := jobcontrol.Expected(h.controller, job); n != 0 {
			t.Errorf("after it was added as going %d pods are waited for, want 0", n)
		}
	})
}

func TestJobEvents(t *testing.T) {
	h := newHarness(t, epoch, jobcontrol.Config{})
	h.submit(parallel(2, 2, 6))
	job := h.job()
	changed := func(change func(*batchv1.Job)) *batchv1.Job {
		c := job.DeepCopy()
		change(c)
		return c
	}
	waits := func(event func()) time.Duration {
		t.Helper()
		h.advance(10 * time.Second)
		h.queue.Add(jobKey)
		h.work() // a sync just now
		event()
		items := h.queue.Items()
		if len(items) != 1 || items[0].Key != jobKey {
			t.Fatalf("it wakes %v", items)
		}
		return items[0].Due.Sub(h.clock.Now())
	}
	tests := map[string]struct {
		event func()
		want  time.Duration
	}{
		"a Job that comes is synced at once": {func() { h.controller.JobAdded(job) }, 0},
		"a spec that changes at once":        {func() { h.controller.JobUpdated(job, changed(func(j *batchv1.Job) { j.Generation++ })) }, 0},
		"a Job that is to be deleted at once": {func() {
			h.controller.JobUpdated(job, changed(func(j *batchv1.Job) { j.DeletionTimestamp = &metav1.Time{Time: epoch} }))
		}, 0},
		"another Job of that name at once":        {func() { h.controller.JobUpdated(job, changed(func(j *batchv1.Job) { j.UID = "another" })) }, 0},
		"a status that changes with the batch":    {func() { h.controller.JobUpdated(job, job) }, time.Second},
		"a Job that is gone is forgotten at once": {func() { h.controller.JobDeleted(job) }, 0},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := waits(tt.event); got != tt.want {
				t.Errorf("it waits %v, want %v", got, tt.want)
			}
		})
	}
}

func TestDeletions(t *testing.T) {
	t.Run("a deletion asked for and not yet seen is not asked for again", func(t *testing.T) {
		for _, cfg := range []jobcontrol.Config{unbatched, recounting} {
			h := newHarness(t, epoch, cfg)
			h.submit(parallel(3, 3, 6))
			h.update(func(j *batchv1.Job) { j.Spec.Parallelism = new(int32(1)) })
			for range 3 {
				h.view.DeliverIf(fake.ForJob)
				h.queue.Add(jobKey)
				h.work()
			}
			if n := len(h.control.Calls(fake.Delete)); n != 2 {
				t.Errorf("%v: %d deletions asked for, want 2", cfg.Accounting, n)
			}
		}
	})
	t.Run("a deletion that was refused is tried again", func(t *testing.T) {
		deleted := map[jobcontrol.Call]int{}
		cfg := recounting
		cfg.Metrics = &jobcontrol.Metrics{Deleted: func(result jobcontrol.Call, n int) { deleted[result] += n }}
		h := newHarness(t, epoch, cfg)
		h.submit(parallel(3, 3, 6))
		h.update(func(j *batchv1.Job) { j.Spec.Parallelism = new(int32(1)) })
		h.control.FailCall(len(h.control.Calls())+1, forbidden)
		h.view.Deliver()
		h.work()
		h.wantStatus(2, 0, 0, "")
		h.advance(time.Second)
		h.wantStatus(1, 0, 0, "")
		if deleted[jobcontrol.Refused] != 1 || deleted[jobcontrol.Done] != 2 {
			t.Errorf("deletions measured: %v, want 1 refused and 2 done", deleted)
		}
	})
}
