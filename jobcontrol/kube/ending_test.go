package kube_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	clienttesting "k8s.io/client-go/testing"

	"github.com/jobwright/jobwright/jobcontrol"
	"github.com/jobwright/jobwright/jobcontrol/kube"
)

// slowClient is a client whose server takes its time.
type slowClient struct {
	*server
	pods, events time.Duration // that a creation takes
}

func (c slowClient) CoreV1() corev1client.CoreV1Interface {
	return slowCore{c.server.CoreV1(), c}
}

type slowCore struct {
	corev1client.CoreV1Interface
	slowClient
}

func (c slowCore) Pods(namespace string) corev1client.PodInterface {
	return slowPods{c.CoreV1Interface.Pods(namespace), c.pods}
}

func (c slowCore) Events(namespace string) corev1client.EventInterface {
	return slowEvents{c.CoreV1Interface.Events(namespace), c.events}
}

type slowPods struct {
	corev1client.PodInterface
	takes time.Duration
}

func (c slowPods) Create(ctx context.Context, pod *corev1.Pod, opts metav1.CreateOptions) (*corev1.Pod, error) {
	select {
	case <-time.After(c.takes):
		return c.PodInterface.Create(ctx, pod, opts)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

type slowEvents struct {
	corev1client.EventInterface
	takes time.Duration
}

func (c slowEvents) CreateWithEventNamespaceWithContext(ctx context.Context, event *corev1.Event) (*corev1.Event, error) {
	select {
	case <-time.After(c.takes):
		return c.EventInterface.CreateWithEventNamespaceWithContext(ctx, event)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func TestRunEndsInOrder(t *testing.T) {
	tests := []struct {
		name         string
		pods, events time.Duration
		created      int
		written      int
		ends         time.Duration // after ctx
	}{
		{name: "calls under way are finished, and told", pods: 10 * time.Second, created: 1, written: 1, ends: 10 * time.Second},
		{name: "events are written", events: time.Second, created: 3, written: 3, ends: 3 * time.Second},
		{name: "unless the server does not answer", events: time.Hour, created: 3, written: 0, ends: 5 * time.Second},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newServer(t, newJob("j", int32(tt.created), 3))
				stop := start(t, slowClient{s, tt.pods, tt.events}, kube.Config{})
				since := time.Now()
				if err := stop(); err != nil {
					t.Errorf("Run: %v", err)
				}
				if took := time.Since(since); took != tt.ends {
					t.Errorf("Run took %v to end, want %v", took, tt.ends)
				}
				if got := s.pods(t); len(got) != tt.created {
					t.Errorf("%d pods, want %d", len(got), tt.created)
				}
				if got := s.events(t, "j"); len(got) != tt.written {
					t.Errorf("events %q, want %d", got, tt.written)
				}
			})
		})
	}
}

func TestRunStopsTheInformersAfterTheWorkers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, newJob("j", 1, 1))
		var watches []*watch.RaceFreeFakeWatcher
		s.PrependWatchReactor("*", func(clienttesting.Action) (bool, watch.Interface, error) {
			watches = append(watches, watch.NewRaceFreeFake())
			return true, watches[len(watches)-1], nil
		})
		stopped := func() (n int) {
			for _, w := range watches {
				if w.IsStopped() {
					n++
				}
			}
			return n
		}
		stop := start(t, slowClient{s, 10 * time.Second, 0}, kube.Config{Controller: jobcontrol.Config{Events: &sink{}}})
		ended := make(chan error, 1)
		go func() { ended <- stop() }()
		pass(5 * time.Second)
		if n := stopped(); n != 0 {
			t.Errorf("%d of %d watches stopped while a creation is under way", n, len(watches))
		}
		if err := <-ended; err != nil {
			t.Errorf("Run: %v", err)
		}
		if n := stopped(); n != 2 {
			t.Errorf("%d of %d watches stopped when Run returned, want both", n, len(watches))
		}
	})
}
