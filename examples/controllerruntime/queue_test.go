package main

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/jobwright/jobwright/jobcontrol"
)

var _ jobcontrol.Queue = queue{}

func TestQueuePassesKeysOn(t *testing.T) {
	// due is when a key comes, and with how many requeues.
	type due struct {
		Key      string
		After    time.Duration
		Requeues int
	}
	tests := []struct {
		name string
		do   func(queue)
		want due
	}{
		{"at once", func(q queue) { q.Add("ns/a") }, due{"ns/a", 0, 0}},
		{"later", func(q queue) { q.AddAfter("ns/a", time.Hour) }, due{"ns/a", time.Hour, 0}},
		{"the earliest time wins", func(q queue) { q.AddAfter("ns/a", time.Hour); q.AddAfter("ns/a", time.Minute) }, due{"ns/a", time.Minute, 0}},
		{"after a failure", func(q queue) { q.AddRateLimited("ns/a") }, due{"ns/a", time.Second, 1}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				q := queue{newQueue("")}
				defer q.ShutDown()
				began := time.Now()
				tt.do(q)
				key, shutdown := q.Get()
				got := due{key, time.Since(began), q.NumRequeues("ns/a")}
				q.Forget(key)
				q.Done(key)
				if diff := cmp.Diff(tt.want, got); diff != "" || shutdown {
					t.Errorf("shutdown %v, due (-want +got):\n%s", shutdown, diff)
				}
				if n := q.NumRequeues("ns/a"); n != 0 {
					t.Errorf("%d requeues of a key that was forgotten", n)
				}
			})
		})
	}
}
