package kube

import (
	"cmp"
	"time"

	"k8s.io/client-go/util/workqueue"

	"github.com/jobwright/jobwright/jobcontrol"
)

// NewQueue returns a queue for the Controller that cfg configures. How long its
// retries wait depends on what they are for:
//
//   - in Tracked accounting, calls that the API server refused: 1 s, doubled with
//     each retry up to 1 min. The Controller itself sees to it that a failed pod
//     is not replaced before its time;
//   - in Recount accounting, failed pods too: cfg.Backoff.Base, doubled up to
//     cfg.Backoff.Limit. A retry that came sooner would find the failed pod and
//     replace it before its time.
//
// The queue reports to the metrics provider of workqueue under name; with an
// empty name it does not. It runs goroutines until it is shut down, which the
// Run of the Controller does.
func NewQueue(name string, cfg jobcontrol.Config) workqueue.TypedRateLimitingInterface[string] {
	base, limit := time.Second, time.Minute
	if cfg.Accounting == jobcontrol.Recount {
		// What zero means is said by the documentation of jobcontrol.Backoff.
		base, limit = cmp.Or(cfg.Backoff.Base, 10*time.Second), cmp.Or(cfg.Backoff.Limit, 10*time.Minute)
	}
	return workqueue.NewTypedRateLimitingQueueWithConfig(
		workqueue.NewTypedItemExponentialFailureRateLimiter[string](base, limit),
		workqueue.TypedRateLimitingQueueConfig[string]{Name: name},
	)
}
