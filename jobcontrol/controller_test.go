package jobcontrol_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/jobwright/jobwright/fake"
	"github.com/jobwright/jobwright/jobcontrol"
)

// unbatched is a Controller that syncs at every event; recounting is one by the
// original algorithm.
var (
	unbatched  = jobcontrol.Config{BatchPeriod: -1}
	recounting = jobcontrol.Config{BatchPeriod: -1, Accounting: jobcontrol.Recount}
)

var forbidden = apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "", errors.New("exceeded quota"))

func parallel(parallelism, completions, backoffLimit int32) *batchv1.Job {
	return newJob(func(s *batchv1.JobSpec) {
		s.Parallelism, s.Completions, s.BackoffLimit = &parallelism, &completions, &backoffLimit
	})
}

func TestAJobRunsToItsEnd(t *testing.T) {
	h := newHarness(t, epoch, unbatched)
	h.submit(parallel(2, 3, 6))
	h.wantStatus(2, 0, 0, "")
	for range 3 {
		h.end(corev1.PodSucceeded, h.pods(corev1.PodPending)[0])
		h.settle()
	}
	h.wantStatus(0, 3, 0, batchv1.JobComplete)
	if n := len(h.pods()); n != 3 {
		t.Errorf("%d pods were made, want 3", n)
	}
	if len(h.errs) > 0 {
		t.Errorf("errors: %v", h.errs)
	}
	if n := jobcontrol.Remembered(h.controller); n != 0 {
		t.Errorf("B107 something is kept for %d ended Jobs", n)
	}
}

func TestRecreatedUnderItsName(t *testing.T) {
	t.Run("B1 B9 B103 delete and create are seen as one update, the old pods never", func(t *testing.T) {
		h := newHarness(t, epoch, unbatched)
		h.submit(parallel(1, 1, 6))
		h.control.FailAll(forbidden)
		h.queue.Requeued(jobKey, 3)
		jobcontrol.ExpectCreation(h.controller, h.job().UID) // its event never comes
		if err := h.cluster.DeleteJob(t.Context(), "ns", "j", metav1.DeletePropagationBackground); err != nil {
			t.Fatal(err)
		}
		h.control.FailAll(nil)
		again, err := h.cluster.CreateJob(t.Context(), parallel(1, 1, 6))
		if err != nil {
			t.Fatal(err)
		}
		h.view.Relist()
		h.settle()
		if made := h.podsOf(again); len(made) != 1 {
			t.Errorf("the new Job has %d pods, want 1", len(made))
		}
		if n := h.queue.NumRequeues(jobKey); n != 0 {
			t.Errorf("the new Job begins with %d retries", n)
		}
	})
	t.Run("B104 a worker is still inside the sync of the old one", func(t *testing.T) {
		h := newHarness(t, epoch, unbatched)
		var again *batchv1.Job
		h.control.OnCall = func(call fake.Call) error {
			h.control.OnCall = nil
			if err := h.cluster.DeleteJob(t.Context(), "ns", "j", metav1.DeletePropagationBackground); err != nil {
				t.Fatal(err)
			}
			var err error
			if again, err = h.cluster.CreateJob(t.Context(), parallel(1, 1, 6)); err != nil {
				t.Fatal(err)
			}
			h.view.Deliver()
			return forbidden
		}
		h.submit(parallel(1, 1, 6))
		h.advance(time.Second)
		if made := h.podsOf(again); len(made) != 1 {
			t.Errorf("the new Job has %d pods, want 1", len(made))
		}
		h.end(corev1.PodSucceeded, h.podsOf(again)...)
		h.settle()
		h.wantStatus(0, 1, 0, batchv1.JobComplete)
	})
	t.Run("late events of an old pod change nothing for the new Job", func(t *testing.T) {
		h := newHarness(t, epoch, unbatched)
		h.submit(parallel(1, 1, 6))
		old := h.pods()[0]
		if err := h.cluster.DeleteJob(t.Context(), "ns", "j", metav1.DeletePropagationBackground); err != nil {
			t.Fatal(err)
		}
		h.settle()
		again := h.submit(parallel(1, 1, 6))
		h.controller.PodAdded(old)
		h.controller.PodUpdated(old, old)
		h.controller.PodDeleted(old)
		h.settle()
		if made := h.podsOf(again); len(made) != 1 {
			t.Errorf("the new Job has %d pods, want 1", len(made))
		}
		h.wantStatus(1, 0, 0, "")
	})
}

// podsOf are the stored pods that a Job controls.
func (h *harness) podsOf(job *batchv1.Job) []*corev1.Pod {
	return slices.DeleteFunc(h.pods(), func(pod *corev1.Pod) bool {
		ref := metav1.GetControllerOf(pod)
		return ref == nil || ref.UID != job.UID
	})
}

func TestRefusedCreations(t *testing.T) {
	t.Run("B28 B32 quota: the batch stops, the error comes back, and the retry makes the rest", func(t *testing.T) {
		h := newHarness(t, epoch, unbatched)
		h.control.FailCall(2, forbidden)
		if _, err := h.cluster.CreateJob(t.Context(), parallel(5, 5, 6)); err != nil {
			t.Fatal(err)
		}
		h.view.Deliver()
		h.work()
		if n := len(h.control.Calls(fake.Create)); n != 3 {
			t.Errorf("%d creations were tried, want 1 and a batch of 2", n)
		}
		h.wantStatus(2, 0, 0, "")
		if !h.sawErr(forbidden) {
			t.Errorf("errors %v, want the refusal", h.errs)
		}
		h.advance(time.Second)
		if n := len(h.pods()); n != 5 {
			t.Errorf("%d pods in the end, want 5", n)
		}
		h.wantStatus(5, 0, 0, "")
	})
	t.Run("a namespace that terminates is not hammered", func(t *testing.T) {
		h := newHarness(t, epoch, unbatched)
		job, err := h.cluster.CreateJob(t.Context(), parallel(5, 5, 6))
		if err != nil {
			t.Fatal(err)
		}
		h.cluster.TerminateNamespace("ns")
		h.advance(time.Hour)
		if n := len(h.control.Calls(fake.Create)); n == 0 || n > 2 {
			t.Errorf("%d creations tried within an hour, want 1 for each event of the Job", n)
		}
		if len(h.errs) > 0 {
			t.Errorf("errors ask for retries: %v", h.errs)
		}
		if err := h.cluster.DeleteJob(t.Context(), job.Namespace, job.Name, metav1.DeletePropagationBackground); err != nil {
			t.Fatal(err)
		}
		h.settle()
		if n := jobcontrol.Remembered(h.controller); n != 0 {
			t.Errorf("something is kept for %d Jobs", n)
		}
	})
	t.Run("an answer that is lost: the pod may exist, and is waited for", func(t *testing.T) {
		h := newHarness(t, epoch, unbatched)
		h.control.OnCall = func(call fake.Call) error {
			h.control.OnCall = nil
			if _, err := h.cluster.Create(t.Context(), call.Pod); err != nil {
				t.Fatal(err)
			}
			return apierrors.NewTimeoutError("lost", 0)
		}
		if _, err := h.cluster.CreateJob(t.Context(), parallel(1, 1, 6)); err != nil {
			t.Fatal(err)
		}
		h.view.DeliverIf(fake.ForJob)
		h.work()
		h.wantStatus(1, 0, 0, "")
		h.view.DeliverIf(fake.ForJob)
		h.clock.Advance(time.Minute)
		h.work()
		if n := len(h.control.Calls(fake.Create)); n != 1 {
			t.Errorf("%d creations tried before the pod was seen, want 1", n)
		}
		h.settle()
		if n := len(h.pods()); n != 1 {
			t.Errorf("%d pods, want 1", n)
		}
	})
	t.Run("an answer that is lost and nothing happened: the wait ends by its age", func(t *testing.T) {
		h := newHarness(t, epoch, unbatched)
		h.control.FailCall(1, context.DeadlineExceeded)
		h.submit(parallel(1, 1, 6))
		h.advance(10 * time.Second)
		if n := len(h.pods()); n != 0 {
			t.Errorf("%d pods while the outcome is unknown, want 0", n)
		}
		h.clock.Advance(5 * time.Minute)
		h.queue.Add(jobKey)
		h.settle()
		if n := len(h.pods()); n != 1 {
			t.Errorf("%d pods, want 1", n)
		}
	})
}

func TestPodsUnseen(t *testing.T) {
	t.Run("B77 B79 B109 no second pod while the first is not in the cache", func(t *testing.T) {
		h := newHarness(t, epoch, unbatched)
		if _, err := h.cluster.CreateJob(t.Context(), parallel(1, 1, 6)); err != nil {
			t.Fatal(err)
		}
		for range 5 {
			h.view.DeliverIf(fake.ForJob)
			h.queue.Add(jobKey)
			h.work()
		}
		if n := len(h.pods()); n != 1 {
			t.Errorf("%d pods, want 1", n)
		}
	})
	t.Run("B27 a pod deleted by somebody is replaced at once", func(t *testing.T) {
		h := newHarness(t, epoch, recounting)
		h.submit(parallel(1, 1, 6))
		if err := h.cluster.Delete(t.Context(), h.pods()[0]); err != nil {
			t.Fatal(err)
		}
		h.settle()
		if n := len(h.pods()); n != 1 {
			t.Errorf("%d pods, want 1", n)
		}
		h.wantStatus(1, 0, 0, "")
	})
	t.Run("a pod seen first when it is being deleted counts as seen", func(t *testing.T) {
		h := newHarness(t, epoch, unbatched)
		if _, err := h.cluster.CreateJob(t.Context(), parallel(1, 1, 6)); err != nil {
			t.Fatal(err)
		}
		h.view.DeliverIf(fake.ForJob)
		h.work()
		pod := h.pods()[0]
		pod.DeletionTimestamp = &metav1.Time{Time: epoch}
		h.view.DeliverIf(fake.ForPod)
		jobcontrol.ExpectCreation(h.controller, h.job().UID)
		h.controller.PodAdded(pod)
		if n := jobcontrol.Expected(h.controller, h.job().UID); n != 0 {
			t.Errorf("%d pods are still waited for", n)
		}
	})
	t.Run("a deletion seen before it was expected is not waited for", func(t *testing.T) {
		h := newHarness(t, epoch, unbatched)
		h.submit(parallel(2, 2, 6))
		h.update(func(j *batchv1.Job) { j.Spec.Parallelism = new(int32(1)) })
		h.view.DeliverIf(fake.ForJob)
		h.control.OnCall = func(call fake.Call) error {
			h.control.OnCall = nil
			if err := h.cluster.Delete(t.Context(), call.Pod); err != nil {
				t.Fatal(err)
			}
			h.view.Deliver()
			jobcontrol.ExpectDeletion(h.controller, h.job().UID, call.Pod.UID) // as if its event had come before
			return nil
		}
		h.settle()
		if n := jobcontrol.Expected(h.controller, h.job().UID); n != 0 {
			t.Errorf("%d pods are still waited for", n)
		}
	})
}

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

func TestRecountedFailures(t *testing.T) {
	t.Run("B15 B40 B41 a Job that always fails stops at its limit, but for the pods in flight", func(t *testing.T) {
		h := newHarness(t, epoch, recounting)
		h.submit(parallel(2, 2, 3))
		for range 10 {
			h.end(corev1.PodFailed, h.pods(corev1.PodPending)...)
			h.advance(time.Hour)
		}
		if !jobcontrol.IsFinished(h.job()) {
			t.Fatalf("the Job goes on: %+v", h.job().Status)
		}
		if made := len(h.pods()); made < 4 || made > 5 {
			t.Errorf("%d pods were made with backoffLimit 3 and parallelism 2, want 4 or 5", made)
		}
	})
	t.Run("B33 a success is counted at once while a failure backs off", func(t *testing.T) {
		h := newHarness(t, epoch, recounting)
		h.submit(parallel(2, 3, 6))
		h.end(corev1.PodFailed, h.pods(corev1.PodPending)[0])
		h.settle()
		h.end(corev1.PodFailed, h.pods(corev1.PodPending)[0]) // this one waits
		h.view.Deliver()
		if h.work() != 0 {
			t.Error("a second failure in a row is acted on at once")
		}
		h.end(corev1.PodSucceeded, h.pods(corev1.PodPending)[0])
		h.settle()
		if got := h.job().Status.Succeeded; got != 1 {
			t.Errorf("succeeded is %d, want 1 at once", got)
		}
	})
	t.Run("the delay doubles with each failure in a row", func(t *testing.T) {
		h := newHarness(t, epoch, recounting)
		h.submit(parallel(1, 1, 6))
		for _, want := range []time.Duration{0, 10 * time.Second, 20 * time.Second, 40 * time.Second} {
			before := len(h.pods())
			h.end(corev1.PodFailed, h.pods(corev1.PodPending)...)
			began := h.clock.Now()
			h.settle()
			for len(h.pods()) == before && h.clock.Now().Sub(began) < time.Hour {
				h.advance(time.Second)
			}
			if got := h.clock.Now().Sub(began); got != want {
				t.Errorf("the replacement came after %v, want %v", got, want)
			}
			h.advance(time.Second) // the queue's own retry
		}
	})
	t.Run("B47 a restarted controller keeps the deadline", func(t *testing.T) {
		h := newHarness(t, epoch, unbatched)
		job := parallel(1, 1, 6)
		job.Spec.ActiveDeadlineSeconds = new(int64(300))
		h.submit(job)
		h.clock.Advance(100 * time.Second)
		h.queue = fake.NewQueue(h.clock)
		h.view = h.cluster.View()
		h.restart(unbatched)
		h.settle()
		h.advance(199 * time.Second)
		h.wantStatus(1, 0, 0, "")
		h.advance(time.Second)
		h.wantStatus(0, 0, 1, batchv1.JobFailed)
	})
}

func TestAdoption(t *testing.T) {
	t.Run("a matching orphan is adopted instead of a pod created", func(t *testing.T) {
		h := newHarness(t, epoch, unbatched)
		h.orphan("stray")
		job := h.submit(selecting())
		if n := len(h.pods()); n != 1 || len(h.podsOf(job)) != 1 {
			t.Errorf("%d pods, %d of the Job; want the adopted one alone", n, len(h.podsOf(job)))
		}
		patch := h.control.Calls(fake.Patch)[0]
		if !strings.Contains(string(patch.Patch), `"uid":"`+string(patch.Pod.UID)+`"`) {
			t.Errorf("patch %s carries no UID of the pod", patch.Patch)
		}
	})
	t.Run("an orphan that turns up later wakes the Job", func(t *testing.T) {
		h := newHarness(t, epoch, unbatched)
		job := h.submit(selecting())
		h.orphan("stray")
		h.settle()
		if n := len(h.podsOf(job)); n != 1 {
			t.Errorf("the Job has %d pods; want one of the two deleted as surplus", n)
		}
	})
	t.Run("a pod whose labels no longer match is released and replaced", func(t *testing.T) {
		h := newHarness(t, epoch, unbatched)
		job := h.submit(selecting())
		pod := h.pods()[0]
		pod.Labels = map[string]string{"app": "y"}
		if _, err := h.cluster.UpdatePod(t.Context(), pod); err != nil {
			t.Fatal(err)
		}
		h.settle()
		released, err := h.cluster.FetchPod(t.Context(), "ns", pod.Name)
		if err != nil || metav1.GetControllerOf(released) != nil {
			t.Errorf("the pod is still owned: %v, %v", released.OwnerReferences, err)
		}
		if n := len(h.podsOf(job)); n != 1 {
			t.Errorf("the Job has %d pods, want 1", n)
		}
	})
	t.Run("a Job that is gone from the API, though not from the cache, adopts nothing", func(t *testing.T) {
		for name, behind := range map[string]func(*harness){
			"deleted": func(h *harness) {},
			"recreated": func(h *harness) {
				if _, err := h.cluster.CreateJob(t.Context(), selecting()); err != nil {
					t.Fatal(err)
				}
			},
		} {
			t.Run(name, func(t *testing.T) {
				h := newHarness(t, epoch, unbatched)
				h.submit(selecting())
				h.orphan("stray")
				if err := h.cluster.DeleteJob(t.Context(), "ns", "j", metav1.DeletePropagationOrphan); err != nil {
					t.Fatal(err)
				}
				behind(h)
				h.view.DeliverIf(fake.ForPod)
				h.queue.Add(jobKey)
				h.work()
				if n := len(h.control.Calls(fake.Patch)); n != 0 || len(h.errs) == 0 {
					t.Errorf("%d patches, errors %v; want no patch and an error", n, h.errs)
				}
			})
		}
	})
	t.Run("B57 two Jobs whose selectors overlap act on their own pods alone", func(t *testing.T) {
		h := newHarness(t, epoch, unbatched)
		a := h.submit(selecting())
		other := selecting()
		other.Name = "k"
		other.Spec.Parallelism = new(int32(0))
		b := h.submit(other)
		h.settle()
		if len(h.podsOf(a)) != 1 || len(h.podsOf(b)) != 0 || len(h.control.Calls(fake.Delete)) != 0 {
			t.Errorf("pods %d and %d, deletions %v; want 1, 0 and none", len(h.podsOf(a)), len(h.podsOf(b)), h.control.Calls(fake.Delete))
		}
	})
}

func TestInvalidJobs(t *testing.T) {
	t.Run("a key that is not namespace/name", func(t *testing.T) {
		h := newHarness(t, epoch, unbatched)
		for _, key := range []string{"", "j", "/j", "ns/", "a/b/c"} {
			_, err := h.controller.Sync(t.Context(), key)
			if !errors.Is(err, jobcontrol.ErrInvalid) || !strings.Contains(err.Error(), fmt.Sprintf("%q", key)) {
				t.Errorf("key %q gives %v", key, err)
			}
			h.queue.Add(key)
		}
		h.settle()
		h.advance(time.Hour)
		if n := h.queue.Len(); n != 0 {
			t.Errorf("%d keys are still tried", n)
		}
	})
	t.Run("a spec that cannot be honoured touches nothing and says so", func(t *testing.T) {
		h := newHarness(t, epoch, unbatched)
		h.submit(newJob(func(s *batchv1.JobSpec) { s.Parallelism = new(int32(-1)) }))
		if len(h.control.Calls()) != 0 || len(h.statuses) != 0 {
			t.Errorf("calls %v, statuses %v", h.control.Calls(), h.statuses)
		}
		if len(h.events) != 1 || !strings.HasPrefix(h.events[0], "Warning InvalidSpec ") || !strings.Contains(h.events[0], "spec.parallelism") {
			t.Errorf("events %q", h.events)
		}
		h.advance(time.Hour)
		if len(h.errs) != 1 {
			t.Errorf("tried %d times without a change, want once", len(h.errs))
		}
		h.update(func(j *batchv1.Job) { j.Spec.Parallelism = new(int32(1)) })
		h.settle()
		if n := len(h.pods()); n != 1 {
			t.Errorf("mended, it has %d pods, want 1", n)
		}
	})
}

func TestOwnerIsConfiguration(t *testing.T) {
	kind := schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Batch"}
	h := newHarness(t, epoch, jobcontrol.Config{BatchPeriod: -1, Owner: kind})
	h.submit(parallel(1, 1, 6))
	ref := metav1.GetControllerOf(h.pods()[0])
	if ref.Kind != "Batch" || ref.APIVersion != "example.com/v1" {
		t.Errorf("owner is %+v", ref)
	}
	t.Run("B53 pods of another kind of that name are not its business", func(t *testing.T) {
		before := h.queue.Len()
		pod := h.pods()[0].DeepCopy()
		pod.OwnerReferences[0].APIVersion = "batch/v1"
		h.controller.PodAdded(pod)
		pod.OwnerReferences[0].APIVersion = "a/b/c"
		h.controller.PodDeleted(pod)
		if h.queue.Len() != before {
			t.Errorf("they wake %v", h.queue.Items())
		}
	})
}

func TestBatching(t *testing.T) {
	h := newHarness(t, epoch, jobcontrol.Config{})
	h.submit(parallel(3, 3, 6))
	h.advance(10 * time.Second)
	syncs := 0
	for _, pod := range h.pods() {
		h.end(corev1.PodSucceeded, pod)
		h.view.Deliver()
		syncs += h.work()
	}
	if syncs != 1 || h.job().Status.Succeeded != 1 {
		t.Errorf("after a burst: %d syncs, succeeded %d; want the first at once and the others to wait", syncs, h.job().Status.Succeeded)
	}
	h.advance(time.Second)
	h.wantStatus(0, 3, 0, batchv1.JobComplete)
}

func TestRun(t *testing.T) {
	t.Run("B92 calls in flight are bounded, and what is under way ends when it is stopped", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			h := newHarness(t, epoch, jobcontrol.Config{MaxInFlight: 4})
			var inFlight, most atomic.Int32
			ctx, stop := context.WithCancel(t.Context())
			h.control.OnCall = func(fake.Call) error {
				if n := inFlight.Add(1); n > most.Load() {
					most.Store(n)
				}
				defer inFlight.Add(-1)
				time.Sleep(time.Second) // virtual: how long the API takes
				stop()
				return nil
			}
			if _, err := h.cluster.CreateJob(ctx, parallel(40, 40, 6)); err != nil {
				t.Fatal(err)
			}
			h.view.Deliver()
			if err := h.controller.Run(ctx, 2); err != nil {
				t.Errorf("Run: %v", err)
			}
			if most.Load() != 4 {
				t.Errorf("%d calls at once, want 4", most.Load())
			}
			h.wantStatus(40, 0, 0, "")
			if _, shutdown := h.queue.Get(); !shutdown {
				t.Error("the queue is not shut down")
			}
		})
	})
	t.Run("stopped, it starts no sync of what is queued", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			h := newHarness(t, epoch, unbatched)
			if _, err := h.cluster.CreateJob(t.Context(), parallel(1, 1, 6)); err != nil {
				t.Fatal(err)
			}
			h.view.Deliver()
			ctx, stop := context.WithCancel(t.Context())
			stop()
			if err := h.controller.Run(ctx, 1); err != nil {
				t.Errorf("Run: %v", err)
			}
			if n := len(h.pods()); n != 0 {
				t.Errorf("%d pods were made", n)
			}
		})
	})
	t.Run("it needs a worker", func(t *testing.T) {
		if err := newHarness(t, epoch, unbatched).controller.Run(t.Context(), 0); err == nil {
			t.Error("Run with 0 workers returns nil")
		}
	})
}

func TestNewNeedsItsParts(t *testing.T) {
	if _, err := jobcontrol.New(nil, nil, nil, nil, jobcontrol.Config{}); err == nil {
		t.Error("New without parts returns no error")
	}
	h := newHarness(t, epoch, unbatched)
	if _, err := jobcontrol.New(h.view, h.view, h.control, h.queue, jobcontrol.Config{Accounting: 99}); !errors.Is(err, jobcontrol.ErrInvalid) {
		t.Errorf("New with an unknown mode returns %v", err)
	}
}

func TestMetricsCountEachCallOnce(t *testing.T) {
	got := map[string]int{}
	tally := func(verb string) func(jobcontrol.Call, int) {
		return func(result jobcontrol.Call, n int) { got[verb+" "+result.String()] += n }
	}
	synced := 0
	cfg := jobcontrol.Config{BatchPeriod: -1, Metrics: &jobcontrol.Metrics{
		Created: tally("create"), Deleted: tally("delete"),
		Synced: func(time.Duration, error) { synced++ },
	}}
	h := newHarness(t, epoch, cfg)
	h.control.FailCall(2, forbidden)
	h.control.FailCall(3, apierrors.NewTimeoutError("lost", 0))
	h.submit(parallel(5, 5, 6))
	want := map[string]int{"create done": 1, "create refused": 1, "create unknown": 1, "create skipped": 2}
	for key := range want {
		if got[key] != want[key] {
			t.Errorf("B55 %s: %d, want %d (all: %v)", key, got[key], want[key], got)
		}
	}
	if synced == 0 {
		t.Error("no sync was measured")
	}
}
