package kube_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/jobwright/jobwright/jobcontrol"
	"github.com/jobwright/jobwright/jobcontrol/kube"
)

func TestQueueBacksOff(t *testing.T) {
	recount := jobcontrol.Config{Accounting: jobcontrol.Recount}
	quick := jobcontrol.Config{Accounting: jobcontrol.Recount, Backoff: jobcontrol.Backoff{Base: time.Second, Limit: 3 * time.Second}}
	tests := []struct {
		name string
		cfg  jobcontrol.Config
		want []time.Duration
	}{
		{"for refused calls in Tracked", jobcontrol.Config{Backoff: jobcontrol.Backoff{Base: time.Hour, Limit: time.Hour}}, []time.Duration{
			time.Second, 2 * time.Second, 4 * time.Second, 8 * time.Second, 16 * time.Second, 32 * time.Second, time.Minute, time.Minute}},
		{"for failed pods in Recount", recount, []time.Duration{10 * time.Second, 20 * time.Second, 40 * time.Second, 80 * time.Second,
			160 * time.Second, 320 * time.Second, 10 * time.Minute, 10 * time.Minute}},
		{"for failed pods in Recount, configured", quick, []time.Duration{time.Second, 2 * time.Second, 3 * time.Second}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				queue := kube.NewQueue("", tt.cfg)
				defer queue.ShutDown()
				var got []time.Duration
				for range tt.want {
					since := time.Now()
					queue.AddRateLimited("ns/j")
					key, _ := queue.Get()
					queue.Done(key)
					got = append(got, time.Since(since))
				}
				if diff := cmp.Diff(tt.want, got); diff != "" {
					t.Errorf("delays (-want +got):\n%s", diff)
				}
			})
		})
	}
}

func TestFailedPodsAreReplacedWithBackoff(t *testing.T) {
	for _, accounting := range []jobcontrol.Accounting{jobcontrol.Tracked, jobcontrol.Recount} {
		t.Run(accounting.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newServer(t, newJob("j", 1, 1))
				created := createdAt(t, s, jobcontrol.Config{Accounting: accounting, Backoff: jobcontrol.Backoff{Base: time.Minute}})
				for i, least := range []time.Duration{0, time.Minute, 2 * time.Minute, 4 * time.Minute} {
					if accounting == jobcontrol.Tracked {
						least = time.Minute << i // the first failure delays too
					}
					if gap := created[i+1] - created[i]; gap < least || gap > least+3*time.Second {
						t.Errorf("pod %d was created %v after the one before, want about %v (all at %v)", i+2, gap, least, created)
					}
				}
			})
		})
	}
}

// createdAt is when the first five pods are created, where each fails soon.
func createdAt(t *testing.T, s *server, cfg jobcontrol.Config) (created []time.Duration) {
	t.Helper()
	stop := start(t, s, kube.Config{Controller: cfg})
	began := time.Now()
	for len(created) < 5 {
		if len(s.pods(t)) > len(created) {
			created = append(created, time.Since(began).Round(time.Second))
			pass(1500 * time.Millisecond)
			s.end(t, corev1.PodFailed)
		}
		pass(100 * time.Millisecond)
	}
	if err := stop(); err != nil {
		t.Errorf("Run: %v", err)
	}
	return created
}
