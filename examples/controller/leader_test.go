package main

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientfake "k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
)

// campaign is a leader under way in a bubble.
type campaign struct {
	*leader
	client  *clientfake.Clientset
	worked  context.Context // of the work; nil before it begins
	drain   chan struct{}   // the work ends, once told to, when this is closed
	stop    context.CancelFunc
	ended   chan error
	leading bool
	fault   atomic.Pointer[func(verb string) error] // of calls about leases; a reactor cannot be added later
}

func newCampaign(t *testing.T, client *clientfake.Clientset) *campaign {
	t.Helper()
	c := &campaign{client: client, drain: make(chan struct{}), ended: make(chan error, 1)}
	client.PrependReactor("*", "leases", func(a clienttesting.Action) (bool, runtime.Object, error) {
		if fault := c.fault.Load(); fault != nil {
			err := (*fault)(a.GetVerb())
			return err != nil, nil, err
		}
		return false, nil, nil
	})
	e := election{namespace: "ns", name: "l", duration: 15 * time.Second, renew: 10 * time.Second, retry: 2 * time.Second}
	var err error
	c.leader, err = newLeader(client, e, func(leads bool) { c.leading = leads }, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	c.stop = cancel
	go func() {
		c.ended <- c.run(ctx, func(ctx context.Context) error {
			c.worked = ctx
			<-ctx.Done()
			<-c.drain
			return nil
		})
	}()
	time.Sleep(time.Minute) // of the bubble: no time passes
	synctest.Wait()
	return c
}

func TestLeaseIsReleasedAfterTheDrain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCampaign(t, clientfake.NewSimpleClientset())
		me := c.lease.Identity()
		if c.worked == nil || holder(t, c.client) != me || !c.leading {
			t.Fatalf("works: %v, holder %q, leading %v", c.worked != nil, holder(t, c.client), c.leading)
		}
		c.stop()
		time.Sleep(time.Minute) // longer than the lease is valid without renewal
		synctest.Wait()
		if c.worked.Err() == nil || holder(t, c.client) != me || c.lease.held() != nil {
			t.Errorf("while work drains: context %v, holder %q, %v, want an ended one and the lease kept", c.worked.Err(), holder(t, c.client), c.lease.held())
		}
		close(c.drain)
		if err := <-c.ended; err != nil || holder(t, c.client) != "" || c.leading {
			t.Errorf("after the drain: %v, holder %q, leading %v, want none", err, holder(t, c.client), c.leading)
		}
	})
}

func noUpdates(verb string) error {
	if verb == "update" {
		return errors.New("no updates")
	}
	return nil
}

func TestLostLease(t *testing.T) {
	for name, lose := range map[string]func(*campaign){
		"nobody answers": func(c *campaign) {
			c.fault.Store(new(func(string) error { return errors.New("no answer") }))
		},
		"nobody takes a renewal": func(c *campaign) { c.fault.Store(new(noUpdates)) },
		"another has taken it": func(c *campaign) {
			other, now := "other", metav1.NowMicro()
			err := c.client.Tracker().Update(coordinationv1.SchemeGroupVersion.WithResource("leases"), &coordinationv1.Lease{
				ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "l"},
				Spec:       coordinationv1.LeaseSpec{HolderIdentity: &other, LeaseDurationSeconds: new(int32(3600)), RenewTime: &now},
			}, "ns")
			if err != nil {
				panic(err)
			}
			c.fault.Store(new(noUpdates))
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newCampaign(t, clientfake.NewSimpleClientset())
				lose(c)
				before := time.Now()
				if err := <-c.ended; !errors.Is(err, errLost) {
					t.Errorf("ended with %v, want %v", err, errLost)
				}
				if took := time.Since(before); took > c.election.duration {
					t.Errorf("ended after %v, when another may lead", took)
				}
				synctest.Wait()
				if c.worked.Err() == nil {
					t.Error("work was not told to end")
				}
				for _, a := range c.client.Actions() {
					if update, ok := a.(clienttesting.UpdateAction); ok {
						if l := update.GetObject().(*coordinationv1.Lease); valueOf(l.Spec.HolderIdentity) == "" {
							t.Errorf("released: %v", l.Spec)
						}
					}
				}
				close(c.drain)
			})
		})
	}
}

// A process that was stopped finds the lease expired before its elector does,
// which counts the time to renew anew.
func TestWriteBeyondTheLeaseEndsTheWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCampaign(t, clientfake.NewSimpleClientset())
		if err := c.mayWrite(); err != nil {
			t.Fatal(err)
		}
		c.lease.mu.Lock()
		c.lease.until = time.Now()
		c.lease.mu.Unlock()
		before := time.Now()
		if err := c.mayWrite(); err == nil {
			t.Error("a write beyond the end of the lease is let through")
		}
		if err := <-c.ended; !errors.Is(err, errLost) || time.Since(before) > 0 || c.leading {
			t.Errorf("ended with %v after %v, leading %v, want %v at once", err, time.Since(before), c.leading, errLost)
		}
		close(c.drain)
	})
}

func TestStandby(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := clientfake.NewSimpleClientset()
		first := newCampaign(t, client)
		second := newCampaign(t, client)
		if second.worked != nil || second.leading {
			t.Fatal("two lead")
		}
		first.stop()
		close(first.drain)
		if err := <-first.ended; err != nil {
			t.Error(err)
		}
		time.Sleep(5 * time.Second)
		synctest.Wait()
		if second.worked == nil || !second.leading {
			t.Error("nobody leads 5 s after the release")
		}
		third := newCampaign(t, client)
		third.stop()
		if err := <-third.ended; err != nil || third.worked != nil || holder(t, client) != second.lease.Identity() {
			t.Errorf("a standby that is told to end: %v, worked %v, holder %s", err, third.worked != nil, holder(t, client))
		}
		second.stop()
		close(second.drain)
		<-second.ended
	})
}
