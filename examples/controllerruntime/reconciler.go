package main

import (
	"context"
	"errors"

	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/jobwright/jobwright/jobcontrol"
)

// reconciler is a Controller as controller-runtime calls it.
type reconciler struct {
	// sync is the Controller's Sync.
	sync  func(ctx context.Context, key string) (jobcontrol.Next, error)
	queue queue
}

// Reconcile brings the run one step on. The step is taken to its end when the
// manager stops meanwhile, which waits for it (manager.Options.GracefulShutdownTimeout).
//
// A request that comes to no error is forgotten by controller-runtime, whatever
// Next says. In Tracked accounting that makes no difference; Recount, which
// counts the retries of a queue, needs a queue and workers of its own.
func (r reconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	key := request.String()
	next, err := r.sync(context.WithoutCancel(ctx), key)
	if err == nil {
		return reconcile.Result{RequeueAfter: next.After}, nil
	}
	if next.After > 0 {
		r.queue.AddAfter(key, next.After) // beside an error, controller-runtime drops what a Result says
	}
	if errors.Is(err, jobcontrol.ErrInvalid) {
		r.queue.Forget(key)
		return reconcile.Result{}, reconcile.TerminalError(err) // no retry: a change of the run brings the next
	}
	return reconcile.Result{}, err
}
