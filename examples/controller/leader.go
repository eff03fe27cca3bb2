package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/klog/v2"
)

// unhealthyAfter is how long beyond its end a lease may stay unrenewed before
// /healthz fails: the leader should have ended long before.
const unhealthyAfter = 20 * time.Second

// handOver is how long a new leader waits before it looks at its caches. The one
// before may have written a moment before it released the lease, and what is not
// in the caches yet would be done a second time.
const handOver = time.Second

// errLost is the end of work that only the leader may do.
var errLost = errors.New("the lease was lost: it could not be renewed in time, so that another replica may have it; this one stops at once")

// leader works while it holds a lease.
type leader struct {
	lease   *lease
	health  *leaderelection.HealthzAdaptor
	leading func(bool)    // is told when work begins and has ended
	late    chan struct{} // work has tried to write beyond the end of the lease
	logger  *slog.Logger

	election election
}

func newLeader(client kubernetes.Interface, e election, leading func(bool), logger *slog.Logger) (*leader, error) {
	host, err := os.Hostname()
	if err != nil {
		return nil, fmt.Errorf("name for the holder of the lease: %w", err)
	}
	return &leader{
		lease: &lease{
			Interface: &resourcelock.LeaseLock{
				LeaseMeta:  metav1.ObjectMeta{Namespace: e.namespace, Name: e.name},
				Client:     client.CoordinationV1(),
				LockConfig: resourcelock.ResourceLockConfig{Identity: host + "_" + string(uuid.NewUUID())},
			},
			duration: e.duration,
		},
		health:   leaderelection.NewLeaderHealthzAdaptor(unhealthyAfter),
		leading:  leading,
		late:     make(chan struct{}, 1),
		logger:   logger.With("lease", e.namespace+"/"+e.name),
		election: e,
	}, nil
}

// run waits for the lease and calls work, whose context ends with ctx or with
// the lease. When ctx ends, the lease is kept until work has returned, then
// released. When the lease is lost, run returns errLost and waits for nothing:
// the end of the process cuts off what is under way.
func (l *leader) run(ctx context.Context, work func(context.Context) error) error {
	holding := make(chan struct{})
	elector, err := l.elector(func() { close(holding) })
	if err != nil {
		return fmt.Errorf("election: %w", err)
	}
	l.health.SetLeaderElection(elector)

	// What client-go says at every end of an election sounds like trouble.
	electing, stop := context.WithCancel(klog.NewContext(context.WithoutCancel(ctx), klog.Background().V(2)))
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		elector.Run(electing)
	}()
	l.logger.Info("waiting for the lease", "identity", l.lease.Identity())
	select {
	case <-ctx.Done():
	case <-holding:
		l.logger.Info("leading", "identity", l.lease.Identity())
		err = l.lead(ctx, ended, work)
	}
	stop()
	<-ended
	if !errors.Is(err, errLost) && l.lease.held() == nil {
		l.release()
	}
	return err
}

// release is the end of a drain, so it does not wait for long.
func (l *leader) release() {
	ctx, cancel := context.WithTimeout(context.Background(), l.election.renew)
	defer cancel()
	if err := l.lease.release(ctx); err != nil {
		l.logger.Warn("the lease is not released and has to expire", "error", err)
		return
	}
	l.logger.Info("lease released")
}

func (l *leader) elector(holding func()) (*leaderelection.LeaderElector, error) {
	return leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock:          l.lease,
		LeaseDuration: l.election.duration,
		RenewDeadline: l.election.renew,
		RetryPeriod:   l.election.retry,
		Name:          l.election.name,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(context.Context) { holding() },
			OnStoppedLeading: func() {},
			OnNewLeader: func(identity string) {
				if identity != "" && identity != l.lease.Identity() {
					l.logger.Info("standing by", "leader", identity)
				}
			},
		},
	})
}

// lead works until ctx ends, or returns errLost when the lease is lost.
func (l *leader) lead(ctx context.Context, lost <-chan struct{}, work func(context.Context) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	l.leading(true)
	select {
	case <-l.late: // of the time before
	default:
	}
	drained := make(chan error, 1)
	go func() {
		var err error
		if wait(ctx, handOver) {
			err = work(ctx)
		}
		drained <- err
	}()
	select {
	case err := <-drained:
		l.leading(false)
		return err
	case <-lost:
	case <-l.late: // the elector does not know yet: it counts anew after a stop
	}
	l.leading(false)
	return errLost
}

// mayWrite is an error when work must not write, which then ends.
func (l *leader) mayWrite() error {
	err := l.lease.held()
	if err != nil {
		select {
		case l.late <- struct{}{}:
		default:
		}
	}
	return err
}

// wait returns false if ctx ends before the time has passed.
func wait(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
