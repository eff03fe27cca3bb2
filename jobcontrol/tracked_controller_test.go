package jobcontrol_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/jobwright/jobwright/fake"
	"github.com/jobwright/jobwright/jobcontrol"
)

// TestNamesAreConfiguration leads a Job of a kind of its own, with names of its
// own, through index, failure, suspension and end.
func TestNamesAreConfiguration(t *testing.T) {
	const finalizer, prefix = "example.com/counted", "example.com/"
	cfg := jobcontrol.Config{
		BatchPeriod: -1, Name: "example.com/own",
		Owner: schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Batch"},
		Names: jobcontrol.Names{Finalizer: finalizer, LabelPrefix: prefix},
	}
	h := newHarness(t, epoch, cfg)
	job := h.submit(newJob(and(sized(2, 2, 99), perIndex(2), managedBy("example.com/own"))))
	for i, pod := range h.pods() {
		if !slices.Equal(pod.Finalizers, []string{finalizer}) {
			t.Errorf("finalizers %v", pod.Finalizers)
		}
		if pod.Labels[prefix+"job-name"] != "j" || pod.Labels[prefix+"controller-uid"] != string(job.UID) {
			t.Errorf("labels %v", pod.Labels)
		}
		for _, m := range []map[string]string{pod.Labels, pod.Annotations} {
			for name := range m {
				if strings.HasPrefix(name, "batch.kubernetes.io/") || name == "job-name" || name == "controller-uid" {
					t.Errorf("pod %d has %s of batch/v1", i, name)
				}
			}
		}
	}
	h.endAt(corev1.PodFailed, 1, h.pods()[0])
	h.advance(11 * time.Second)
	replacement := h.live()[0] // by name: of index 0
	if got := replacement.Annotations[prefix+"job-index-failure-count"]; got != "1" {
		t.Errorf("failure count %q of %s", got, replacement.Name)
	}
	h.suspend(true)
	h.settle()
	h.suspend(false)
	h.settle()
	h.endAt(corev1.PodSucceeded, 0, h.live()...)
	h.settle()
	h.wantStatus(0, 2, 1, batchv1.JobComplete)
	for _, pod := range h.pods() {
		if len(pod.Finalizers) != 0 {
			t.Errorf("pod %s is held by %v", pod.Name, pod.Finalizers)
		}
	}
	t.Run("pods of batch/v1 are not its business", func(t *testing.T) {
		stray := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "other", Finalizers: []string{batchv1.JobTrackingFinalizer}}}
		if _, err := h.cluster.Create(t.Context(), stray); err != nil {
			t.Fatal(err)
		}
		h.settle()
		if n := len(h.finalized()); n != 1 {
			t.Error("it took the finalizer of another controller")
		}
	})
}

// TestTheOrderOfASync is a contract: list, untrack, count, end.
func TestTheOrderOfASync(t *testing.T) {
	h := newHarness(t, epoch, unbatched)
	h.submit(parallel(2, 2, 6))
	var order []string
	note := func(what string) { order = append(order, what) }
	h.control.OnCall = func(call fake.Call) error {
		if u := h.job().Status.UncountedTerminatedPods; !slices.Contains(u.Succeeded, call.Pod.UID) {
			t.Errorf("S2 pod %s is untracked before it is listed", call.Pod.Name)
		}
		note(string(call.Verb))
		return nil
	}
	h.beforeSave = func() error {
		if n := len(h.events); n != 0 {
			t.Errorf("events %v before the write", h.events)
		}
		note("write")
		return nil
	}
	h.endAt(corev1.PodSucceeded, 0, h.pods()...)
	h.settle()
	if diff := cmp.Diff([]string{"write", "patch", "patch", "write"}, order); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	first, last := h.statuses[len(h.statuses)-2], h.statuses[len(h.statuses)-1]
	if first.Succeeded != 0 || len(first.UncountedTerminatedPods.Succeeded) != 2 || jobcontrol.Condition(&first, batchv1.JobSuccessCriteriaMet) == nil {
		t.Errorf("first %+v", first)
	}
	if last.Succeeded != 2 || len(last.UncountedTerminatedPods.Succeeded) != 0 || jobcontrol.Condition(&last, batchv1.JobComplete) == nil {
		t.Errorf("last %+v", last)
	}
}

// TestB5TheCacheMayLag: whatever arrives first, each pod is counted once.
func TestB5TheCacheMayLag(t *testing.T) {
	late := map[string]func(fake.Event) bool{"pods": fake.ForPod, "Jobs": fake.ForJob}
	for name, lags := range late {
		t.Run(name+" late", func(t *testing.T) {
			h := newHarness(t, epoch, unbatched)
			h.submit(newJob(sized(2, 4, 9)))
			for range 4 {
				for _, pod := range h.live() {
					h.endAt(corev1.PodSucceeded, 0, pod)
					h.view.Deliver()
					h.work()
					for range 3 {
						h.view.DeliverIf(func(e fake.Event) bool { return !lags(e) })
						h.queue.Add(jobKey)
						h.work()
					}
				}
				h.settle()
			}
			h.wantStatus(0, 4, 0, batchv1.JobComplete)
			if h.made() != 4 {
				t.Errorf("%d pods made, want 4", h.made())
			}
		})
	}
}

// TestB37PodsMayBeCollected as soon as they are counted, and not before.
func TestB36B37PodsMayBeCollected(t *testing.T) {
	h := newHarness(t, epoch, unbatched)
	h.submit(parallel(2, 6, 6))
	for range 10 {
		h.endAt(corev1.PodSucceeded, 0, h.live()...)
		for _, pod := range h.pods() {
			if pod.Status.Phase == corev1.PodSucceeded {
				h.remove(pod) // before the controller has seen it end
			}
		}
		h.settle()
	}
	h.wantStatus(0, 6, 0, batchv1.JobComplete)
	if h.made() != 6 || len(h.pods()) != 0 {
		t.Errorf("%d pods made, %d left", h.made(), len(h.pods()))
	}
}

// TestB52ADeletedPodIsCountedBeforeItGoes.
func TestB52ADeletedPodIsCountedBeforeItGoes(t *testing.T) {
	h := running(t, parallel(1, 1, 0))
	pod := h.pods()[0]
	h.delete(pod)
	h.remove(pod) // the node is gone: it never reaches a terminal phase
	h.settle()
	h.wantStatus(0, 0, 1, batchv1.JobFailed)
	if h.made() != 1 || len(h.pods()) != 0 {
		t.Errorf("%d pods made, %d left; want 1 and 0", h.made(), len(h.pods()))
	}
}

// TestB20NeverTwoAtATime with podReplacementPolicy Failed.
func TestB20NeverTwoAtATime(t *testing.T) {
	for name, spec := range map[string]func(*batchv1.JobSpec){"non-Indexed": replaceFailed, "Indexed": and(asIndexed, replaceFailed)} {
		t.Run(name, func(t *testing.T) {
			h := running(t, newJob(and(sized(1, 1, 6), spec)))
			h.delete(h.pods()[0])
			h.advance(time.Hour)
			if h.made() != 1 || h.job().Status.Failed != 0 || *h.job().Status.Terminating != 1 {
				t.Errorf("B101 %d pods made, status %+v; want it to wait, and to say so", h.made(), h.job().Status)
			}
			h.endAt(corev1.PodFailed, 137, h.pods()...)
			h.advance(time.Minute)
			h.wantStatus(1, 0, 1, "")
		})
	}
}

// TestB59NothingIsWrittenAfterTheEnd, and nothing made.
func TestB59NothingIsWrittenAfterTheEnd(t *testing.T) {
	h := newHarness(t, epoch, unbatched)
	h.submit(parallel(2, 2, 0))
	h.endAt(corev1.PodFailed, 1, h.pods()[0])
	h.settle()
	h.wantStatus(0, 0, 2, batchv1.JobFailed)
	writes := len(h.statuses)
	h.update(func(j *batchv1.Job) { j.Spec.BackoffLimit, j.Spec.Parallelism = new(int32(9)), new(int32(9)) })
	h.view.Resync()
	h.advance(time.Hour)
	h.reborn(unbatched)
	h.advance(time.Minute)
	if len(h.statuses) != writes || h.made() != 2 {
		t.Errorf("%d writes more, %d pods made", len(h.statuses)-writes, h.made())
	}
}

// TestL1ARestNeedsNoWrites: an idle Job costs nothing.
func TestL1AJobAtRestCostsNoWrite(t *testing.T) {
	h := running(t, parallel(3, 3, 6))
	writes, calls := len(h.statuses), len(h.control.Calls())
	for range 5 {
		h.view.Resync()
		h.queue.Add(jobKey)
		h.advance(time.Minute)
	}
	h.reborn(unbatched)
	h.settle()
	if len(h.statuses) != writes || len(h.control.Calls()) != calls {
		t.Errorf("%d writes, %d calls more", len(h.statuses)-writes, len(h.control.Calls())-calls)
	}
}

// TestB23AdoptedPodsOfForeignIndexes are neither counted nor kept.
func TestB23AdoptedPodsOfForeignIndexes(t *testing.T) {
	h := newHarness(t, epoch, unbatched)
	for name, index := range map[string]string{"own": "1", "foreign": "3", "negative": "-1", "none": ""} {
		pod := h.orphan(name)
		if index != "" {
			pod.Annotations = map[string]string{batchv1.JobCompletionIndexAnnotation: index}
		}
		if _, err := h.cluster.UpdatePod(t.Context(), pod); err != nil {
			t.Fatal(err)
		}
	}
	job := selecting()
	and(sized(3, 3, 6), asIndexed)(&job.Spec)
	h.submit(job)
	h.settle()
	var names []string
	for _, pod := range h.live() {
		names = append(names, strings.SplitN(pod.Name, "-0", 2)[0])
	}
	if len(names) != 3 || !slices.Contains(names, "own") || slices.Contains(names, "foreign") {
		t.Errorf("live pods %v, want the one of index 1 and two of the Job's own", names)
	}
	h.endAt(corev1.PodSucceeded, 0, h.live()...)
	h.settle()
	h.wantStatus(0, 3, 0, batchv1.JobComplete)
}

// TestB93TheEndOfAJobIsNotTheHandlersWork: events only ask for a sync.
func TestB93EventsMakeNoCall(t *testing.T) {
	h := newHarness(t, epoch, unbatched)
	h.submit(parallel(3, 3, 6))
	h.deleteJob(metav1.DeletePropagationBackground)
	calls := len(h.control.Calls())
	h.view.Deliver()
	if n := len(h.control.Calls()); n != calls {
		t.Errorf("%d calls made by the events", n-calls)
	}
	if items := h.queue.Items(); len(items) != 1 || items[0].Key != jobKey {
		t.Errorf("queued %v, want the Job once", items)
	}
}
