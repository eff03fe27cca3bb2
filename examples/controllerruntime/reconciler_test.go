package main

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/jobwright/jobwright/jobcontrol"
)

// recorder records what a reconciler asks of the queue.
type recorder struct {
	requestQueue
	asked []string
}

func (r *recorder) AddAfter(request reconcile.Request, d time.Duration) {
	r.asked = append(r.asked, fmt.Sprintf("%s after %v", request, d))
}

func (r *recorder) Forget(request reconcile.Request) {
	r.asked = append(r.asked, fmt.Sprintf("forget %s", request))
}

func TestReconcileSaysWhatASyncHasSaid(t *testing.T) {
	refused := errors.New("quota exceeded")
	invalid := fmt.Errorf("%w: no template", jobcontrol.ErrInvalid)
	tests := []struct {
		name     string
		next     jobcontrol.Next
		err      error
		result   reconcile.Result
		terminal bool
		asked    []string
	}{
		{name: "nothing more", next: jobcontrol.Next{Forget: true}},
		{name: "a time", next: jobcontrol.Next{After: time.Minute}, result: reconcile.Result{RequeueAfter: time.Minute}},
		{name: "an error", err: refused},
		{name: "an error beside a time", next: jobcontrol.Next{After: time.Minute}, err: refused, asked: []string{"ns/a after 1m0s"}},
		{name: "what no retry mends", next: jobcontrol.Next{Forget: true}, err: invalid, terminal: true, asked: []string{"forget ns/a"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			rec := &recorder{}
			r := reconciler{queue: queue{rec}, sync: func(_ context.Context, key string) (jobcontrol.Next, error) {
				if key != "ns/a" {
					t.Errorf("key %q", key)
				}
				return tt.next, tt.err
			}}
			result, err := r.Reconcile(context.Background(), requestOf("ns/a"))
			if !errors.Is(err, tt.err) || errors.Is(err, reconcile.TerminalError(nil)) != tt.terminal {
				t.Errorf("error %v, want %v, terminal %v", err, tt.err, tt.terminal)
			}
			if diff := cmp.Diff(tt.result, result); diff != "" {
				t.Errorf("result (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.asked, rec.asked); diff != "" {
				t.Errorf("asked of the queue (-want +got):\n%s", diff)
			}
		})
	}
}

func TestReconcileFinishesWhatItHasBegun(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	r := reconciler{sync: func(ctx context.Context, _ string) (jobcontrol.Next, error) { return jobcontrol.Next{}, ctx.Err() }}
	if _, err := r.Reconcile(ctx, requestOf("ns/a")); err != nil {
		t.Errorf("a sync was cut short when the manager stopped: %v", err)
	}
}
