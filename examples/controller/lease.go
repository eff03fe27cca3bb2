package main

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/client-go/util/retry"
)

// lease is the lock of the election. It knows until when the lease is surely held,
// whatever else has stopped.
type lease struct {
	resourcelock.Interface
	duration time.Duration

	mu    sync.Mutex
	until time.Time
}

// Create takes a lease that nobody has held yet.
func (l *lease) Create(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	return l.write(ctx, record, l.Interface.Create)
}

// Update takes or renews the lease.
func (l *lease) Update(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	return l.write(ctx, record, l.Interface.Update)
}

func (l *lease) write(ctx context.Context, record resourcelock.LeaderElectionRecord, call func(context.Context, resourcelock.LeaderElectionRecord) error) error {
	began := time.Now() // others count from when they see the write, which is later
	if err := call(ctx, record); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.until = began.Add(l.duration)
	return nil
}

// held is an error when the lease is not surely held, or no more.
func (l *lease) held() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if time.Now().Before(l.until) {
		return nil
	}
	return fmt.Errorf("the lease %s is not held", l.Describe())
}

// release lets another replica take the lease at once, if it is still held here.
// It is for when nothing is done any more that only the holder may do, and the
// elector has ended. That of client-go releases the lease also when it could not
// be renewed, with the work still going on, and does not look whose it has become.
func (l *lease) release(ctx context.Context) error {
	// The last renewal may have been cut short and still be on its way.
	return retry.RetryOnConflict(retry.DefaultRetry, func() error {
		record, _, err := l.Get(ctx)
		if err != nil || record.HolderIdentity != l.Identity() {
			return err
		}
		now := metav1.Now()
		return l.Interface.Update(ctx, resourcelock.LeaderElectionRecord{
			LeaseDurationSeconds: 1, // none is not valid
			LeaderTransitions:    record.LeaderTransitions,
			AcquireTime:          now,
			RenewTime:            now,
		})
	})
}

// fenced returns a wrapper of transports that lets only reads through while
// mayWrite returns an error. A process that was stopped may go on in the middle
// of a sync, long after another has taken over.
func fenced(mayWrite func() error) func(http.RoundTripper) http.RoundTripper {
	return func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			if r.Method != http.MethodGet {
				if err := mayWrite(); err != nil {
					return nil, fmt.Errorf("not sent: %w", err)
				}
			}
			return next.RoundTrip(r)
		})
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
