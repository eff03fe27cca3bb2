package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// podRun is the life of one pod: init containers one after the other, then the
// containers at once, until all have ended or the pod is stopped.
type podRun struct {
	kubelet *kubelet
	pod     *corev1.Pod // as it was created; read-only

	stopping *latch // the containers are to end
	killed   *latch // and have no more time for it

	mu     sync.Mutex
	status corev1.PodStatus // guarded by mu
	killAt time.Time        // guarded by mu; set with stopping
	cause  podCause         // guarded by mu; set with stopping
}

// podCause is why a pod fails whatever its containers do, in the words of its
// status. The zero podCause is no such reason.
type podCause struct{ reason, message string }

func newPodRun(k *kubelet, pod *corev1.Pod) *podRun {
	return &podRun{kubelet: k, pod: pod, stopping: newLatch(), killed: newLatch()}
}

// stop asks the containers to end within the grace period. The first call
// counts.
func (r *podRun) stop(grace time.Duration, cause podCause) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.stopping.isSet() {
		r.killAt, r.cause = r.kubelet.clock.Now().Add(grace), cause
		r.stopping.set()
	}
}

// kill ends the containers at once.
func (r *podRun) kill() {
	r.killed.set()
	r.stop(0, podCause{})
}

// grace is how long the pod's containers may take to end when nobody says
// otherwise.
func (r *podRun) grace() time.Duration {
	if g := r.pod.Spec.TerminationGracePeriodSeconds; g != nil {
		return seconds(g)
	}
	return corev1.DefaultTerminationGracePeriodSeconds * time.Second
}

func (r *podRun) run() {
	switch deleted, err := r.bind(); {
	case err != nil:
		return // gone before it began
	case deleted:
		r.finish(false)
		return
	}
	if d := r.pod.Spec.ActiveDeadlineSeconds; d != nil {
		deadline := time.AfterFunc(seconds(d), func() {
			r.stop(r.grace(), podCause{"DeadlineExceeded", "the pod ran for longer than its activeDeadlineSeconds"})
		})
		defer deadline.Stop()
	}
	if err := r.makeVolumes(); err != nil {
		r.stop(0, podCause{"FailedMount", err.Error()})
	}
	r.finish(!r.stopping.isSet() && r.runContainers())
	if err := os.RemoveAll(r.dir()); err != nil {
		r.kubelet.report(err)
	}
}

// bind takes the pod to this machine, unless it is being deleted already: then
// a finalizer holds it, and nothing is to start any more. An error says that it
// is gone.
func (r *podRun) bind() (deleted bool, err error) {
	for {
		pod, err := r.kubelet.cluster.FetchPod(context.Background(), r.pod.Namespace, r.pod.Name)
		switch {
		case err != nil:
			return false, err
		case pod.UID != r.pod.UID:
			return false, fmt.Errorf("another pod has the name %s", pod.Name)
		case pod.DeletionTimestamp != nil:
			return true, nil
		}
		pod.Spec.NodeName = "localhost"
		_, err = r.kubelet.cluster.UpdatePod(context.Background(), pod)
		if err == nil {
			break
		}
		if !apierrors.IsConflict(err) {
			return false, err
		}
	}
	r.update(func() { r.status = initialStatus(&r.pod.Spec, metav1.NewTime(r.kubelet.clock.Now())) })
	return false, nil
}

// dir holds the pod's volumes.
func (r *podRun) dir() string { return filepath.Join(r.kubelet.volumes, string(r.pod.UID)) }

func (r *podRun) volumeDir(volume string) string { return filepath.Join(r.dir(), volume) }

func (r *podRun) makeVolumes() error {
	for _, v := range r.pod.Spec.Volumes {
		if err := os.MkdirAll(r.volumeDir(v.Name), 0o777); err != nil {
			return err
		}
	}
	return nil
}

// runContainers says whether every container that must succeed did.
func (r *podRun) runContainers() bool {
	var sidecars []*containerRun
	defer func() {
		// They serve the others, so they end after them, the last first.
		r.stop(r.grace(), podCause{})
		for _, c := range slices.Backward(sidecars) {
			c.stop.set()
			<-c.ended.c
		}
	}()
	for i := range r.pod.Spec.InitContainers {
		c := newContainerRun(r, &r.pod.Spec.InitContainers[i], &r.status.InitContainerStatuses[i])
		if !c.sidecar {
			if !c.run() {
				return false
			}
			continue
		}
		sidecars = append(sidecars, c)
		go c.run()
		select {
		case <-c.started.c:
		case <-r.stopping.c:
			return false
		}
	}
	succeeded := make([]bool, len(r.pod.Spec.Containers))
	var running sync.WaitGroup
	for i := range r.pod.Spec.Containers {
		c := newContainerRun(r, &r.pod.Spec.Containers[i], &r.status.ContainerStatuses[i])
		running.Go(func() { succeeded[i] = c.run() })
	}
	running.Wait()
	return !slices.Contains(succeeded, false)
}

// finish writes how the pod ended, and removes it if it is being deleted.
func (r *podRun) finish(succeeded bool) {
	pod := r.update(func() {
		r.status.Phase = corev1.PodFailed
		r.status.Reason, r.status.Message = r.cause.reason, r.cause.message
		if succeeded && r.cause == (podCause{}) {
			r.status.Phase = corev1.PodSucceeded
		}
	})
	if pod != nil && pod.DeletionTimestamp != nil {
		if err := r.kubelet.cluster.RemovePod(context.Background(), pod); err != nil {
			r.kubelet.report(err)
		}
	}
}

// update changes the status and writes it. It returns the pod as stored, or nil
// if there is none to write to: it was removed.
func (r *podRun) update(change func()) *corev1.Pod {
	r.mu.Lock()
	defer r.mu.Unlock()
	change()
	settleStatus(&r.pod.Spec, &r.status, metav1.NewTime(r.kubelet.clock.Now()))
	pod := r.pod.DeepCopy()
	pod.ResourceVersion = "" // nobody else writes the status of a pod that runs here
	pod.Status = r.status
	stored, err := r.kubelet.cluster.UpdatePodStatus(context.Background(), pod)
	if err != nil {
		if !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) { // conflict: another UID
			r.kubelet.report(err)
		}
		return nil
	}
	return stored
}
