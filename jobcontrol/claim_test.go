package jobcontrol_test

import (
	"context"
	"errors"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobwright/jobwright/fake"
	"github.com/jobwright/jobwright/jobcontrol"
)

// brokenStores are stores of which one call fails.
type brokenStores struct {
	store
	call string
}

var errBroken = errors.New("broken")

func (b brokenStores) fail(call string) error {
	if b.call == call {
		return errBroken
	}
	return nil
}

func (b brokenStores) Job(namespace, name string) (*batchv1.Job, error) {
	if err := b.fail("Job"); err != nil {
		return nil, err
	}
	return b.View.Job(namespace, name)
}

func (b brokenStores) Jobs(namespace string) ([]*batchv1.Job, error) {
	if err := b.fail("Jobs"); err != nil {
		return nil, err
	}
	return b.View.Jobs(namespace)
}

func (b brokenStores) FetchJob(ctx context.Context, namespace, name string) (*batchv1.Job, error) {
	if err := b.fail("FetchJob"); err != nil {
		return nil, err
	}
	return b.View.FetchJob(ctx, namespace, name)
}

func (b brokenStores) PodsOf(namespace string, owner types.UID) ([]*corev1.Pod, error) {
	if err := b.fail("PodsOf"); err != nil {
		return nil, err
	}
	return b.View.PodsOf(namespace, owner)
}

func (b brokenStores) OrphanPods(namespace string) ([]*corev1.Pod, error) {
	if err := b.fail("OrphanPods"); err != nil {
		return nil, err
	}
	return b.View.OrphanPods(namespace)
}

// selecting is a Job that selects its pods by hand, by the label app=x.
func selecting() *batchv1.Job {
	job := parallel(1, 1, 6)
	job.Spec.ManualSelector = new(true)
	job.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "x"}}
	job.Spec.Template.Labels = map[string]string{"app": "x"}
	return job
}

// orphan stores a pod without owner that such a Job may adopt.
func (h *harness) orphan(name string) *corev1.Pod {
	h.t.Helper()
	pod, err := h.cluster.Create(h.t.Context(), &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, Labels: map[string]string{"app": "x"}},
	})
	if err != nil {
		h.t.Fatal(err)
	}
	return pod
}

func TestStoresThatFail(t *testing.T) {
	for _, call := range []string{"Job", "FetchJob", "PodsOf", "OrphanPods"} {
		t.Run(call, func(t *testing.T) {
			h := newHarness(t, epoch, unbatched)
			h.orphan("stray")
			broken := brokenStores{store{h.view, h}, call}
			controller, err := jobcontrol.New(broken, broken, h.control, h.queue, jobcontrol.Config{Clock: h.clock})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := h.cluster.CreateJob(t.Context(), selecting()); err != nil {
				t.Fatal(err)
			}
			h.view.Deliver()
			if _, err := controller.Sync(t.Context(), jobKey); !errors.Is(err, errBroken) {
				t.Errorf("Sync returns %v", err)
			}
			if calls := h.control.Calls(); len(calls) != 0 {
				t.Errorf("it calls %v", calls)
			}
		})
	}
	t.Run("Jobs", func(t *testing.T) {
		h := newHarness(t, epoch, unbatched)
		h.submit(selecting())
		broken := brokenStores{store{h.view, h}, "Jobs"}
		controller, err := jobcontrol.New(broken, broken, h.control, h.queue, jobcontrol.Config{Clock: h.clock})
		if err != nil {
			t.Fatal(err)
		}
		controller.PodAdded(h.orphan("stray"))
		if n := h.queue.Len(); n != 0 {
			t.Errorf("it wakes %v", h.queue.Items())
		}
	})
}

func TestPatchesOfPodsThatWentElsewhere(t *testing.T) {
	pods := schema.GroupResource{Resource: "pods"}
	for name, answer := range map[string]error{
		"gone":                   apierrors.NewNotFound(pods, "stray"),
		"adopted by another Job": apierrors.NewInvalid(schema.GroupKind{Kind: "Pod"}, "stray", nil),
	} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t, epoch, unbatched)
			h.orphan("stray")
			h.control.OnCall = func(call fake.Call) error {
				if call.Verb == fake.Patch {
					return answer
				}
				return nil
			}
			h.submit(selecting())
			if len(h.errs) != 0 || len(h.control.Calls(fake.Create)) != 1 {
				t.Errorf("errors %v, %d creations; want none and a pod of the Job's own", h.errs, len(h.control.Calls(fake.Create)))
			}
		})
	}
	t.Run("a patch that is refused fails the sync", func(t *testing.T) {
		for _, verb := range []string{"adopt", "release"} {
			h := newHarness(t, epoch, unbatched)
			if verb == "adopt" {
				h.orphan("stray")
			}
			h.submit(selecting())
			h.control.FailAll(forbidden)
			if verb == "release" {
				pod := h.pods()[0]
				pod.Labels = nil
				if _, err := h.cluster.UpdatePod(t.Context(), pod); err != nil {
					t.Fatal(err)
				}
			} else {
				h.orphan("another")
			}
			h.errs = nil
			h.view.Deliver()
			h.work()
			if !h.sawErr(forbidden) {
				t.Errorf("%s: errors %v", verb, h.errs)
			}
		}
	})
}

func TestJobsBeingDeletedNeitherAdoptNorRelease(t *testing.T) {
	h := newHarness(t, epoch, recounting)
	h.submit(selecting())
	pod := h.pods()[0]
	pod.Labels = nil
	if _, err := h.cluster.UpdatePod(t.Context(), pod); err != nil {
		t.Fatal(err)
	}
	h.orphan("stray")
	h.update(func(j *batchv1.Job) { j.Finalizers = []string{"example.com/hold"} })
	if err := h.cluster.DeleteJob(t.Context(), "ns", "j", metav1.DeletePropagationOrphan); err != nil {
		t.Fatal(err)
	}
	h.settle()
	if calls := h.control.Calls(fake.Patch); len(calls) != 0 {
		t.Errorf("it patches %v", calls)
	}
}
