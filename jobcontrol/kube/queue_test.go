package kube_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/jobwright/jobwright/jobcontrol"
	"github.com/jobwright/jobwright/jobcontrol/kube"
)

func TestQueueBacksOff(t *testing.T) {
	tests := []struct {
		cfg  jobcontrol.Config
		want []time.Duration
	}{
		{cfg: jobcontrol.Config{}, want: []time.Duration{10 * time.Second, 20 * time.Second, 40 * time.Second, 80 * time.Second,
			160 * time.Second, 320 * time.Second, 10 * time.Minute, 10 * time.Minute}},
		{cfg: jobcontrol.Config{Backoff: time.Second, MaxBackoff: 3 * time.Second}, want: []time.Duration{
			time.Second, 2 * time.Second, 3 * time.Second}},
	}
	for _, tt := range tests {
		t.Run(fmt.Sprintf("from %v to %v", tt.cfg.Backoff, tt.cfg.MaxBackoff), func(t *testing.T) {
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
	synctest.Test(t, func(t *testing.T) {
		s := newServer(newJob("j", 1, 1))
		stop := start(t, s, kube.Config{Controller: jobcontrol.Config{Backoff: time.Minute}})
		began := time.Now()
		var created []time.Duration
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
		for i, least := range []time.Duration{0, time.Minute, 2 * time.Minute, 4 * time.Minute} {
			if gap := created[i+1] - created[i]; gap < least || gap > least+3*time.Second {
				t.Errorf("pod %d was created %v after the one before, want about %v (all at %v)", i+2, gap, least, created)
			}
		}
	})
}
