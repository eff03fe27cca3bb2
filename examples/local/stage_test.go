package main

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobwright/jobwright/fake"
)

// act is one run of a container in a test: how long it takes and how it ends.
type act struct {
	takes    time.Duration
	code     int32
	stubborn bool  // does not end when it is asked to
	fails    error // it does not even start
}

const forever = 1000 * time.Hour

// stage is a kubelet with scripted containers, and a log of what they do.
type stage struct {
	t       *testing.T
	cluster *fake.Cluster
	kubelet *kubelet
	began   time.Time

	mu     sync.Mutex
	script map[string][]act // guarded by mu: what each container does next
	log    []string         // guarded by mu
}

// newStage must be called in a synctest bubble.
func newStage(t *testing.T, script map[string][]act) *stage {
	t.Helper()
	s := &stage{t: t, began: time.Now(), script: script}
	s.cluster = fake.NewCluster(systemClock{})
	s.kubelet = &kubelet{
		cluster: s.cluster, clock: systemClock{}, start: s.start, volumes: t.TempDir(), backoff: 10 * time.Second,
		report: func(err error) { t.Errorf("reported: %v", err) },
	}
	view := s.cluster.View()
	view.Notify(s.kubelet)
	ctx, cancel := context.WithCancel(context.Background())
	go view.Follow(ctx)
	t.Cleanup(func() { // before the bubble ends
		s.kubelet.stop()
		s.kubelet.kill()
		s.kubelet.wait()
		cancel()
	})
	return s
}

func (s *stage) note(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.log = append(s.log, fmt.Sprintf("%v ", time.Since(s.began))+fmt.Sprintf(format, args...))
}

func (s *stage) start(c command) (process, error) {
	s.mu.Lock()
	next := s.script[c.container][0]
	s.script[c.container] = s.script[c.container][1:]
	s.mu.Unlock()
	if next.fails != nil {
		s.note("%s cannot start", c.container)
		return nil, next.fails
	}
	s.note("%s starts", c.container)
	a := &actor{stage: s, name: c.container, act: next, ends: make(chan exit, 10)}
	time.AfterFunc(next.takes, func() { a.ends <- exit{code: next.code} })
	return a, nil
}

// actor plays an act.
type actor struct {
	act
	stage *stage
	name  string
	ends  chan exit
}

func (a *actor) Wait() exit {
	end := <-a.ends
	a.stage.note("%s ends with %d", a.name, end.code)
	return end
}

func (a *actor) Terminate() {
	a.stage.note("%s is asked to end", a.name)
	if !a.stubborn {
		a.ends <- exit{code: a.code}
	}
}

func (a *actor) Kill() { a.ends <- exit{code: 137, signal: 9} }

// create creates a pod with these containers and waits for what follows at once.
func (s *stage) create(spec corev1.PodSpec) *corev1.Pod {
	s.t.Helper()
	pod, err := s.cluster.Create(context.Background(), &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "pod"}, Spec: spec})
	if err != nil {
		s.t.Fatal(err)
	}
	synctest.Wait()
	return pod
}

// pod returns the pod as it is stored after d, or nil.
func (s *stage) pod(d time.Duration) *corev1.Pod {
	time.Sleep(d)
	synctest.Wait()
	pods := s.cluster.Pods("default")
	if len(pods) == 0 {
		return nil
	}
	return pods[0]
}

func (s *stage) wantLog(want ...string) {
	s.t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if diff := cmp.Diff(want, s.log); diff != "" {
		s.t.Errorf("what the containers did (-want +got):\n%s", diff)
	}
}

// state is a pod in a line: phase, readiness, then each container.
func state(pod *corev1.Pod) string {
	if pod == nil {
		return "gone"
	}
	line := string(pod.Status.Phase)
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue {
			line += " ready"
		}
	}
	if pod.Status.Reason != "" {
		line += " " + pod.Status.Reason
	}
	for _, s := range containerStatuses(pod) {
		line += fmt.Sprintf("; %s ", s.Name)
		switch {
		case s.State.Running != nil:
			line += "running"
		case s.State.Waiting != nil:
			line += s.State.Waiting.Reason
		default:
			line += fmt.Sprintf("%s %d", s.State.Terminated.Reason, s.State.Terminated.ExitCode)
		}
		if s.RestartCount > 0 {
			line += fmt.Sprintf(" restarts %d", s.RestartCount)
		}
	}
	return line
}

func (s *stage) wantState(after time.Duration, want string) {
	s.t.Helper()
	if diff := cmp.Diff(want, state(s.pod(after))); diff != "" {
		s.t.Errorf("pod after %v (-want +got):\n%s", time.Since(s.began), diff)
	}
}

func containers(names ...string) (list []corev1.Container) {
	for _, name := range names {
		list = append(list, corev1.Container{Name: name, Command: []string{name}})
	}
	return list
}

func sidecar(name string) corev1.Container {
	return corev1.Container{Name: name, Command: []string{name}, RestartPolicy: new(corev1.ContainerRestartPolicyAlways)}
}
