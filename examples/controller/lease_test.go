package main

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientfake "k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

func newLease(client *clientfake.Clientset, identity string) *lease {
	return &lease{
		Interface: &resourcelock.LeaseLock{
			LeaseMeta:  metav1.ObjectMeta{Namespace: "ns", Name: "l"},
			Client:     client.CoordinationV1(),
			LockConfig: resourcelock.ResourceLockConfig{Identity: identity},
		},
		duration: 15 * time.Second,
	}
}

// holder is who has the lease by what is stored.
func holder(t *testing.T, client *clientfake.Clientset) string {
	t.Helper()
	stored, err := client.CoordinationV1().Leases("ns").Get(t.Context(), "l", metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return ""
	}
	if err != nil {
		t.Fatal(err)
	}
	return valueOf(stored.Spec.HolderIdentity)
}

func valueOf(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

func TestLeaseIsHeldFromBeforeTheWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := clientfake.NewSimpleClientset()
		client.PrependReactor("*", "leases", func(clienttesting.Action) (bool, runtime.Object, error) {
			time.Sleep(5 * time.Second) // the server is slow
			return false, nil, nil
		})
		l := newLease(client, "me")
		if l.held() == nil {
			t.Error("held before it was taken")
		}
		if err := l.Create(t.Context(), resourcelock.LeaderElectionRecord{HolderIdentity: "me", LeaseDurationSeconds: 15}); err != nil {
			t.Fatal(err)
		}
		for _, step := range []struct {
			after time.Duration
			held  bool
		}{{0, true}, {10*time.Second - 1, true}, {1, false}} {
			time.Sleep(step.after)
			if err := l.held(); (err == nil) != step.held {
				t.Errorf("held: %v, want %v", err, step.held)
			}
		}
		if err := l.Update(t.Context(), resourcelock.LeaderElectionRecord{HolderIdentity: "me", LeaseDurationSeconds: 15}); err != nil || l.held() != nil {
			t.Errorf("renewed: %v, held: %v", err, l.held())
		}
		client.PrependReactor("update", "leases", func(clienttesting.Action) (bool, runtime.Object, error) {
			return true, nil, errors.New("no")
		})
		time.Sleep(10 * time.Second)
		if err := l.Update(t.Context(), resourcelock.LeaderElectionRecord{HolderIdentity: "me"}); err == nil || l.held() == nil {
			t.Errorf("not renewed: %v, held: %v", err, l.held())
		}
	})
}

func TestRelease(t *testing.T) {
	for name, tt := range map[string]struct {
		holder    string
		conflicts int
		want      string
	}{
		"its own":                   {"me", 0, ""},
		"its own, after a conflict": {"me", 1, ""},
		"another's since":           {"other", 0, "other"},
	} {
		t.Run(name, func(t *testing.T) {
			client := clientfake.NewSimpleClientset(&coordinationv1.Lease{
				ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "l"},
				Spec:       coordinationv1.LeaseSpec{HolderIdentity: &tt.holder, LeaseTransitions: new(int32(7))},
			})
			client.PrependReactor("update", "leases", func(clienttesting.Action) (bool, runtime.Object, error) {
				tt.conflicts--
				if tt.conflicts >= 0 {
					return true, nil, apierrors.NewConflict(coordinationv1.Resource("leases"), "l", errors.New("changed"))
				}
				return false, nil, nil
			})
			if err := newLease(client, "me").release(t.Context()); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, holder(t, client)); diff != "" {
				t.Errorf("holder (-want +got):\n%s", diff)
			}
			stored, err := client.CoordinationV1().Leases("ns").Get(t.Context(), "l", metav1.GetOptions{})
			if err != nil || *stored.Spec.LeaseTransitions != 7 {
				t.Errorf("transitions %v, %v, want 7 as before", stored.Spec.LeaseTransitions, err)
			}
		})
	}
}
