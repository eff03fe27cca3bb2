package expectations_test

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/types"

	"github.com/jobwright/jobwright/expectations"
)

// lateAPI creates pods that show up in the cache some time later.
type lateAPI struct {
	created, observed int
	refuse            error
}

func (a *lateAPI) list() int { return a.observed }

func (a *lateAPI) create(context.Context) error {
	if a.refuse == nil {
		a.created++
	}
	return a.refuse
}

// reconciler keeps an owner at a number of pods.
type reconciler struct {
	tracker *expectations.Tracker[types.UID]
	api     *lateAPI
	want    int
}

func (r *reconciler) reconcile(ctx context.Context, owner types.UID) error {
	// Before the list: what is observed in between is then in the list.
	if !r.tracker.Satisfied(owner) {
		return nil // the event that is waited for brings us back
	}
	missing := r.want - r.api.list()
	r.tracker.ExpectCreations(owner, missing)
	for i := range missing {
		if err := r.api.create(ctx); err != nil {
			r.tracker.LowerCreations(owner, missing-i)
			return fmt.Errorf("create pod: %w", err)
		}
	}
	return nil
}

// podAdded and ownerDeleted are event handlers.
func (r *reconciler) podAdded(owner types.UID)     { r.tracker.CreationObserved(owner) }
func (r *reconciler) ownerDeleted(owner types.UID) { r.tracker.Forget(owner) }

// A reconcile function that runs twice before the cache shows the pods of its
// first run does not create them twice.
func ExampleTracker() {
	api := &lateAPI{}
	r := &reconciler{tracker: expectations.New[types.UID](expectations.Config{}), api: api, want: 2}
	report := func() {
		if err := r.reconcile(context.Background(), "owner-uid"); err != nil {
			fmt.Println(err)
		}
		fmt.Println("created:", api.created, "satisfied:", r.tracker.Satisfied("owner-uid"))
	}
	report()
	report()

	api.observed = 2
	r.podAdded("owner-uid")
	r.podAdded("owner-uid")
	report()

	r.ownerDeleted("owner-uid")
	// Output:
	// created: 2 satisfied: false
	// created: 2 satisfied: false
	// created: 2 satisfied: true
}
