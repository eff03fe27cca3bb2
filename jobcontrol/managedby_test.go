package jobcontrol_test

import (
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobwright/jobwright/jobcontrol"
)

func managedBy(name string) func(*batchv1.JobSpec) {
	return func(s *batchv1.JobSpec) { s.ManagedBy = &name }
}

func TestB71ManagedBy(t *testing.T) {
	own := jobcontrol.Config{BatchPeriod: -1, Name: "example.com/own"}
	tests := []struct {
		name string
		cfg  jobcontrol.Config
		spec func(*batchv1.JobSpec)
		ours bool
	}{
		{"nil belongs to the built-in name", unbatched, and(), true},
		{"the built-in name", unbatched, managedBy(batchv1.JobControllerName), true},
		{"another's, by the built-in", unbatched, managedBy("example.com/own"), false},
		{"empty is nobody's", unbatched, managedBy(""), false},
		{"nil is not a controller's with another name", own, and(), false},
		{"the built-in's, by another", own, managedBy(batchv1.JobControllerName), false},
		{"its own", own, managedBy("example.com/own"), true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			h := newHarness(t, epoch, tt.cfg)
			h.submit(newJob(and(sized(1, 1, 6), tt.spec)))
			h.queue.Add(jobKey) // whoever asks
			h.settle()
			if ours := len(h.pods()) == 1 && len(h.statuses) > 0; ours != tt.ours {
				t.Errorf("%d pods, %d statuses; want it to act: %v", len(h.pods()), len(h.statuses), tt.ours)
			}
			if !tt.ours && (len(h.control.Calls()) > 0 || len(h.statuses) > 0) {
				t.Errorf("calls %v, statuses %v", h.control.Calls(), h.statuses)
			}
		})
	}
}

func TestS35AJobOfAnothersIsNotQueued(t *testing.T) {
	h := newHarness(t, epoch, unbatched)
	if _, err := h.cluster.CreateJob(t.Context(), newJob(managedBy("example.com/own"))); err != nil {
		t.Fatal(err)
	}
	h.view.Deliver()
	h.update(func(j *batchv1.Job) { j.Spec.Parallelism = new(int32(4)) })
	h.view.Deliver()
	if n := h.queue.Len(); n != 0 {
		t.Errorf("queued: %v", h.queue.Items())
	}
}

func TestB71ARecreatedJobMayBeAnothers(t *testing.T) {
	for _, unseen := range []bool{false, true} {
		h := newHarness(t, epoch, unbatched)
		h.submit(parallel(1, 1, 6))
		h.deleteJob(metav1.DeletePropagationBackground)
		again, err := h.cluster.CreateJob(t.Context(), newJob(and(sized(2, 2, 6), managedBy("example.com/own"))))
		if err != nil {
			t.Fatal(err)
		}
		if unseen {
			h.view.Relist()
		}
		h.settle()
		if n := len(h.podsOf(again)); n != 0 || jobcontrol.Remembered(h.controller) != 0 {
			t.Errorf("relisted %v: %d pods, something kept for %d Jobs", unseen, n, jobcontrol.Remembered(h.controller))
		}
		if n := len(h.pods()); n != 0 {
			t.Errorf("relisted %v: %d pods of the old Job are held", unseen, n)
		}
	}
}

// TestB53PodsOfAJobManagedByOthersKeepTheFinalizer: the other controller uses
// the same finalizer, and counts with it.
func TestB53PodsOfAJobManagedByOthersKeepTheFinalizer(t *testing.T) {
	for _, ended := range []bool{false, true} {
		h := newHarness(t, epoch, unbatched)
		job := h.submit(newJob(and(sized(1, 1, 6), managedBy("example.com/own"))))
		pod := jobcontrol.NewPod(job, batchv1.SchemeGroupVersion.WithKind("Job"), jobcontrol.Names{}, jobcontrol.Slot{Tracked: true})
		if _, err := h.cluster.Create(t.Context(), pod); err != nil {
			t.Fatal(err)
		}
		if ended {
			job.Status = batchv1.JobStatus{StartTime: &metav1.Time{Time: epoch}, Conditions: []batchv1.JobCondition{
				{Type: batchv1.JobFailureTarget, Status: corev1.ConditionTrue}, {Type: batchv1.JobFailed, Status: corev1.ConditionTrue},
			}}
			if _, err := h.cluster.UpdateJobStatus(t.Context(), job); err != nil {
				t.Fatal(err)
			}
		}
		h.settle()
		h.endAt(corev1.PodFailed, 1, h.pods()...)
		h.settle()
		if n := len(h.finalized()); n != 1 || len(h.control.Calls()) != 0 {
			t.Errorf("ended %v: %d pods hold the finalizer, calls %v", ended, n, h.control.Calls())
		}
	}
}
