package jobcontrol_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobwright/jobwright/fake"
	"github.com/jobwright/jobwright/jobcontrol"
)

// quiet is a Job with this many pods at work, of which nothing was heard for a
// while.
func quiet(t *testing.T, pods int32) *harness {
	t.Helper()
	h := newHarness(t, epoch, jobcontrol.Config{})
	h.submit(parallel(pods, pods, 6))
	h.advance(10 * time.Second)
	return h
}

// endEach ends the pods one by one and lets the Job be synced whenever it is due.
func (h *harness) endEach(pods ...*corev1.Pod) (syncs int) {
	h.t.Helper()
	for _, pod := range pods {
		h.end(corev1.PodSucceeded, pod)
		h.view.Deliver()
		syncs += h.work()
	}
	return syncs
}

func TestTheLastPodIsNotWaitedFor(t *testing.T) {
	t.Run("nothing is waited for once the last pod has ended", func(t *testing.T) {
		h := quiet(t, 3)
		if syncs := h.endEach(h.pods()...); syncs != 2 {
			t.Errorf("%d syncs, want one for the first pod and one for the last", syncs)
		}
		h.wantStatus(0, 3, 0, batchv1.JobComplete)
	})
	t.Run("nor for longer than the Job's own status is unseen", func(t *testing.T) {
		h := newHarness(t, epoch, jobcontrol.Config{})
		if _, err := h.cluster.CreateJob(t.Context(), parallel(1, 1, 6)); err != nil {
			t.Fatal(err)
		}
		h.view.Deliver()
		h.work()
		h.end(corev1.PodSucceeded, h.pods()...)
		h.view.DeliverIf(fake.ForPod)
		h.work()
		h.wantStatus(1, 0, 0, "")
		h.view.Deliver()
		h.work()
		h.wantStatus(0, 1, 0, batchv1.JobComplete)
	})
	t.Run("unless it has not ended, for it may go on so with those that replace it", func(t *testing.T) {
		h := newHarness(t, epoch, jobcontrol.Config{Accounting: jobcontrol.Recount})
		h.submit(parallel(1, 1, 6))
		h.clock.Advance(100 * time.Millisecond)
		pod := h.pods()[0]
		h.delete(pod)
		if left := h.pods(); len(left) != 0 {
			h.remove(left[0])
		}
		h.view.Deliver()
		if syncs := h.work(); syncs != 0 {
			t.Errorf("%d syncs within the batch period, want none", syncs)
		}
	})
	t.Run("unless one that was asked for is still to be seen", func(t *testing.T) {
		h := newHarness(t, epoch, jobcontrol.Config{})
		if _, err := h.cluster.CreateJob(t.Context(), parallel(2, 2, 6)); err != nil {
			t.Fatal(err)
		}
		h.view.Deliver()
		h.work()
		first := h.pods()[0]
		h.end(corev1.PodSucceeded, first)
		h.view.DeliverIf(func(e fake.Event) bool { return e.Job != nil || e.Pod.Name == first.Name })
		if syncs := h.work(); syncs != 0 {
			t.Errorf("%d syncs while a pod is unseen, want none before the batch period ends", syncs)
		}
	})
}

// What becomes of the pods of a Job that has ended is nobody's business, unless
// one of them lives or is held.
func TestPodsOfAnEndedJobDoNotWakeIt(t *testing.T) {
	h := quiet(t, 3)
	h.end(corev1.PodSucceeded, h.pods()...)
	h.settle()
	h.wantStatus(0, 3, 0, batchv1.JobComplete)
	h.advance(10 * time.Second)
	for _, pod := range h.pods() {
		pod.Labels["looked-at"] = "yes"
		if _, err := h.cluster.UpdatePod(t.Context(), pod); err != nil {
			t.Fatal(err)
		}
		h.view.Deliver()
		h.delete(pod)
		h.view.Deliver()
	}
	if len(h.pods()) != 0 {
		t.Fatalf("%d pods are left", len(h.pods()))
	}
	if syncs := h.work(); syncs != 0 {
		t.Errorf("%d syncs, want none", syncs)
	}
}

// TestLivingCountsWhatTheCacheShows compares with a recount, whatever becomes of
// pods and in whatever steps it is told.
func TestLivingCountsWhatTheCacheShows(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	h := newHarness(t, epoch, jobcontrol.Config{})
	owners := []*batchv1.Job{h.submit(newJob(sized(0, 1, 6)))}
	for _, name := range []string{"k", "l"} {
		job := newJob(sized(0, 1, 6))
		job.Name = name
		owners = append(owners, h.submit(job))
	}
	own := func(pod *corev1.Pod) {
		pod.OwnerReferences = nil
		if i := random.IntN(len(owners) + 1); i < len(owners) {
			pod.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(owners[i], batchv1.SchemeGroupVersion.WithKind("Job"))}
		}
	}
	for range 3000 {
		pods := h.pods()
		var err error
		switch step := random.IntN(8); {
		case step == 0 || len(pods) == 0:
			pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", GenerateName: "p-"}}
			own(pod)
			_, err = h.cluster.Create(t.Context(), pod)
		case step < 3: // adopted, released, or handed over
			pod := pods[random.IntN(len(pods))]
			own(pod)
			_, err = h.cluster.UpdatePod(t.Context(), pod)
		case step < 5:
			h.end([]corev1.PodPhase{corev1.PodRunning, corev1.PodSucceeded, corev1.PodFailed}[random.IntN(3)], pods[random.IntN(len(pods))])
		case step < 6:
			h.remove(pods[random.IntN(len(pods))])
		case step < 7:
			h.view.DeliverNext()
		default:
			h.view.Relist()
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	h.view.Deliver()
	want := map[types.UID]int{}
	for _, pod := range h.pods() {
		ended := pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
		if ref := metav1.GetControllerOf(pod); ref != nil && !ended {
			want[ref.UID]++
		}
	}
	if diff := cmp.Diff(want, jobcontrol.Living(h.controller)); diff != "" {
		t.Errorf("living pods (-recounted +kept):\n%s", diff)
	}
	for _, pod := range h.pods() {
		h.remove(pod)
	}
	h.view.Deliver()
	if kept := jobcontrol.Living(h.controller); len(kept) != 0 {
		t.Errorf("%v is kept though no pod is left", kept)
	}
}
