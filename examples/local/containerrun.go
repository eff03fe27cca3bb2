package main

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// containerRun is the life of one container: one process after the other, as
// its restart policy has it.
type containerRun struct {
	pod     *podRun
	spec    *corev1.Container
	status  *corev1.ContainerStatus // in the pod's status, guarded by its mu
	sidecar bool                    // an init container that stays
	stop    *latch                  // it is to end
	started *latch
	ended   *latch
}

func newContainerRun(r *podRun, spec *corev1.Container, status *corev1.ContainerStatus) *containerRun {
	c := &containerRun{pod: r, spec: spec, status: status, stop: r.stopping, started: newLatch(), ended: newLatch()}
	if isSidecar(spec) {
		c.sidecar, c.stop = true, newLatch()
	}
	return c
}

// How restarts are delayed: a kubelet restarts the first time at once, then
// after a delay that doubles up to maxRestartDelay, and starts anew once a
// container has run for restartDelayReset.
const (
	maxRestartDelay   = 5 * time.Minute
	restartDelayReset = 10 * time.Minute
)

// run runs the container until it is not to be restarted, and says whether it
// ended well.
func (c *containerRun) run() bool {
	defer c.ended.set()
	clock := c.pod.kubelet.clock
	var delay time.Duration
	for !c.stop.isSet() {
		began := clock.Now()
		succeeded := c.runOnce()
		if c.stop.isSet() || !c.restarts(succeeded) {
			return succeeded
		}
		if clock.Now().Sub(began) >= restartDelayReset {
			delay = 0
		}
		c.pause(delay)
		delay = min(max(2*delay, c.pod.kubelet.backoff), maxRestartDelay)
	}
	return false
}

func (c *containerRun) restarts(succeeded bool) bool {
	return c.sidecar || !succeeded && c.pod.pod.Spec.RestartPolicy == corev1.RestartPolicyOnFailure
}

// pause waits before a restart, or until the container is stopped.
func (c *containerRun) pause(delay time.Duration) {
	c.pod.update(func() { backOffStatus(c.status, delay) })
	timer := time.NewTimer(delay)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-c.stop.c:
	}
}

// runOnce runs the container once and says whether it ended well.
func (c *containerRun) runOnce() bool {
	now := func() metav1.Time { return metav1.NewTime(c.pod.kubelet.clock.Now()) }
	began := now()
	p, err := c.pod.kubelet.start(c.command())
	if err != nil {
		c.pod.update(func() { startErrorStatus(c.status, began, err) })
		return false
	}
	c.pod.update(func() { runningStatus(c.status, began) })
	c.started.set()
	end := c.await(p)
	c.pod.update(func() { terminatedStatus(c.status, now(), end) })
	return end.code == 0
}

// await returns how the process ends, and sees to it that it does once the
// container is stopped.
func (c *containerRun) await(p process) exit {
	done := make(chan exit, 1)
	go func() { done <- p.Wait() }()
	select {
	case end := <-done:
		return end
	case <-c.stop.c:
	}
	p.Terminate()
	c.pod.mu.Lock()
	grace := time.NewTimer(c.pod.killAt.Sub(c.pod.kubelet.clock.Now()))
	c.pod.mu.Unlock()
	defer grace.Stop()
	select {
	case end := <-done:
		return end
	case <-grace.C:
	case <-c.pod.killed.c:
	}
	p.Kill()
	return <-done
}

// command is the container as a command, every reference in it resolved.
func (c *containerRun) command() command {
	pod := c.pod.pod
	vars := variables(pod, c.spec, c.pod.volumeDir)
	argv := slices.Concat(c.spec.Command, c.spec.Args)
	for i := range argv {
		argv[i] = expand(argv[i], vars)
	}
	name := pod.Name
	if len(pod.Spec.InitContainers)+len(pod.Spec.Containers) > 1 {
		name += "/" + c.spec.Name
	}
	return command{
		pod: pod.Name, container: c.spec.Name,
		argv: argv, env: environ(pod, vars), dir: c.spec.WorkingDir,
		prefix: "[" + name + "] ",
	}
}
