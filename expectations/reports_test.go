package expectations_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobwright/jobwright/expectations"
)

// namedOwner is a key that holds the UID beside the name.
type namedOwner struct {
	types.NamespacedName
	UID types.UID
}

func ownerOf(uid types.UID) namedOwner {
	return namedOwner{types.NamespacedName{Namespace: "default", Name: "job"}, uid}
}

func TestB1_RecreatedUnderItsNameStartsClean(t *testing.T) {
	tr := expectations.New[namedOwner](expectations.Config{})
	tr.ExpectCreations(ownerOf("a"), 1)
	checkPending(t, tr, ownerOf("b"), pending{})

	t.Run("the late event of the first does not count for the second", func(t *testing.T) {
		tr.ExpectCreations(ownerOf("b"), 1)
		tr.CreationObserved(ownerOf("a"))
		checkPending(t, tr, ownerOf("b"), pending{1, 0})
	})
}

func TestB27_DeletionOutsideTheControllerLeavesNoDebt(t *testing.T) {
	tr := expectations.New[string](expectations.Config{})
	tr.DeletionObserved("k", "pod")
	tr.CreationObserved("k")
	checkLen(t, tr, 0)
	tr.ExpectCreations("k", 1)
	tr.ExpectDeletions("k", "pod")
	checkPending(t, tr, "k", pending{1, 1})
	tr.CreationObserved("k")
	tr.DeletionObserved("k", "pod")
	checkPending(t, tr, "k", pending{})
}

func TestB28_FailedCreationIsTakenBack(t *testing.T) {
	tr := expectations.New[string](expectations.Config{})
	tr.ExpectCreations("k", 1)
	tr.LowerCreations("k", 1)
	checkPending(t, tr, "k", pending{})
}

func TestB56_DeletionsAreExpectedByUID(t *testing.T) {
	tests := []struct {
		name     string
		expected []types.UID
		observed []types.UID
		want     pending
	}{
		{"somebody else's does not count", uids("a"), uids("b"), pending{0, 1}},
		{"seen twice counts once", uids("a", "b"), uids("a", "a"), pending{0, 1}},
		{"expected twice is expected once", uids("a", "a"), uids("a"), pending{}},
		{"more than expected", uids("a"), uids("a", "b", "a"), pending{}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			tr := expectations.New[string](expectations.Config{})
			tr.ExpectDeletions("k", test.expected...)
			for _, uid := range test.observed {
				tr.DeletionObserved("k", uid)
			}
			checkPending(t, tr, "k", test.want)
		})
	}
}

// Pods of generated names are unknown before they exist, the slots they are to
// fill are not.
func TestB67_SlotIsPartOfTheKey(t *testing.T) {
	type slot struct {
		owner types.UID
		node  string
	}
	tr := expectations.New[slot](expectations.Config{})
	tr.ExpectCreations(slot{"job", "node-1"}, 1)
	checkPending(t, tr, slot{"job", "node-1"}, pending{1, 0})
	checkPending(t, tr, slot{"job", "node-2"}, pending{})
}

func TestB79_BurstOfEvents(t *testing.T) {
	const pods = 500
	tr := expectations.New[string](expectations.Config{})
	tr.ExpectCreations("k", 2*pods)
	var handlers sync.WaitGroup
	for range 2 {
		handlers.Go(func() {
			for i := range pods {
				tr.CreationObserved("k")
				if tr.Satisfied("k") && i < pods-1 {
					t.Error("satisfied before the last event of the burst")
				}
				tr.ExpectCreations("gang", 1)
				tr.LowerCreations("gang", 1)
				tr.ExpectDeletions("gang", types.UID(rune(i)))
				tr.DeletionObserved("gang", types.UID(rune(i)))
			}
		})
	}
	handlers.Wait()
	checkPending(t, tr, "k", pending{})
	checkLen(t, tr, 0)
}

func TestB83_PlainReconcileFunction(t *testing.T) {
	var api lateAPI
	r := reconciler{tracker: expectations.New[types.UID](expectations.Config{}), api: &api, want: 2}
	reconcile := func(wantCreated int) {
		t.Helper()
		if err := r.reconcile(context.Background(), "owner"); err != nil {
			t.Error(err)
		}
		if api.created != wantCreated {
			t.Errorf("%d pods created, want %d", api.created, wantCreated)
		}
	}
	reconcile(2)
	reconcile(2) // before the events came

	api.observed = 1
	r.podAdded("owner")
	reconcile(2)

	api.observed = 2
	r.podAdded("owner")
	reconcile(2)

	api.observed, api.refuse = 1, errors.New("quota")
	if err := r.reconcile(context.Background(), "owner"); !errors.Is(err, api.refuse) {
		t.Errorf("reconcile = %v, want the refusal", err)
	}
	api.refuse = nil
	reconcile(3) // the refused creation is not waited for

	r.ownerDeleted("owner")
	checkLen(t, r.tracker, 0)
}

func TestB89_ClockIsAnInput(t *testing.T) {
	c := newClock()
	c.now = time.Time{}
	tr := expectations.New[string](expectations.Config{Clock: c})
	tr.ExpectCreations("k", 1)
	checkPending(t, tr, "k", pending{1, 0})
	c.step(5*time.Minute + 1)
	checkPending(t, tr, "k", pending{})
}

func TestB91_AnyKindOfOwner(t *testing.T) {
	type owner struct {
		kind schema.GroupVersionKind
		uid  types.UID
	}
	tr := expectations.New[owner](expectations.Config{})
	job := owner{schema.GroupVersionKind{Group: "batch", Version: "v1", Kind: "Job"}, "1"}
	train := owner{schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Train"}, "1"}
	tr.ExpectCreations(job, 1)
	tr.ExpectCreations(train, 2)
	tr.CreationObserved(job)
	checkPending(t, tr, job, pending{})
	checkPending(t, tr, train, pending{2, 0})
}

// A controller that only knows names still starts clean if it forgets the key
// of what was deleted.
func TestB103_DeletedOwnerIsForgotten(t *testing.T) {
	tr := expectations.New[string](expectations.Config{})
	tr.ExpectCreations("default/job", 1) // denied, and never taken back
	tr.Forget("default/job")
	checkPending(t, tr, "default/job", pending{})
}

func TestB107_OneOwnerAfterTheOther(t *testing.T) {
	tr := expectations.New[types.UID](expectations.Config{})
	for _, uid := range uids("first", "second", "third") {
		tr.ExpectCreations(uid, 2)
		checkPending(t, tr, uid, pending{2, 0})
		tr.CreationObserved(uid)
		tr.CreationObserved(uid)
		checkPending(t, tr, uid, pending{})
		checkLen(t, tr, 0)
	}
}
