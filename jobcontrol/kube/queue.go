package kube

import (
	"cmp"
	"time"

	"k8s.io/client-go/util/workqueue"

	"github.com/jobwright/jobwright/jobcontrol"
)

// NewQueue returns a queue for the Controller that cfg configures. Its retries
// wait as long as the Controller lets the replacement of a failed pod wait,
// cfg.Backoff doubled with each retry up to cfg.MaxBackoff: a retry that came
// sooner would find the failed pod and replace it before its time.
//
// The queue reports to the metrics provider of workqueue under name; with an
// empty name it does not. It runs goroutines until it is shut down, which the
// Run of the Controller does.
func NewQueue(name string, cfg jobcontrol.Config) workqueue.TypedRateLimitingInterface[string] {
	// What zero means is said by the documentation of jobcontrol.Config.
	base := cmp.Or(cfg.Backoff, 10*time.Second)
	limit := cmp.Or(cfg.MaxBackoff, 10*time.Minute)
	return workqueue.NewTypedRateLimitingQueueWithConfig(
		workqueue.NewTypedItemExponentialFailureRateLimiter[string](base, limit),
		workqueue.TypedRateLimitingQueueConfig[string]{Name: name},
	)
}
