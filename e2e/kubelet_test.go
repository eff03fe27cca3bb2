package e2e

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// nodeName is the node that pods are bound to. Pods of a node end gracefully.
const nodeName = "jobwright-e2e"

// fate is what becomes of a pod that runs.
type fate struct {
	after     time.Duration
	exit      int32
	condition corev1.PodConditionType // set as the pod ends, if not ""
}

// kubelet stands in for the one of a node: it binds each pod, runs it, ends it
// as the test says, and takes its time to terminate what is deleted.
type kubelet struct {
	w *world
	// fate decides as a pod begins to run; ok false: it runs until the test ends
	// it. nil: all do. Set it before the first Job.
	fate func(*corev1.Pod) (f fate, ok bool)
	// termination is how long a pod that is deleted goes on; its exit code is
	// then 143.
	termination time.Duration
	// unbound pods stay without a node: a call less, where many are run.
	unbound bool
	// ended is told of the Job of each pod that has ended, if not nil.
	ended func(job types.UID)

	mu    sync.Mutex
	lives map[types.UID]*life
	wg    sync.WaitGroup
}

// life is a pod that runs, or will.
type life struct {
	told     chan fate     // by the test
	deleting chan struct{} // closed once
	over     chan struct{} // closed when the pod is gone
	once     sync.Once
}

func newKubelet(w *world) *kubelet { return &kubelet{w: w, lives: map[types.UID]*life{}} }

// wait returns when nothing is under way.
func (k *kubelet) wait() {
	k.mu.Lock()
	for _, l := range k.lives {
		close(l.over)
	}
	clear(k.lives)
	k.mu.Unlock()
	k.wg.Wait()
}

// see takes a pod as the API server has it.
func (k *kubelet) see(pod *corev1.Pod) {
	if ended(pod) {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	l, known := k.lives[pod.UID]
	if !known {
		l = &life{told: make(chan fate, 1), deleting: make(chan struct{}), over: make(chan struct{})}
		k.lives[pod.UID] = l
		k.wg.Go(func() { k.live(pod, l) })
	}
	if pod.DeletionTimestamp != nil {
		l.once.Do(func() { close(l.deleting) })
	}
}

func (k *kubelet) gone(pod *corev1.Pod) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if l, known := k.lives[pod.UID]; known {
		close(l.over)
		delete(k.lives, pod.UID)
	}
}

// end ends a pod of the test.
func (k *kubelet) end(pod *corev1.Pod, f fate) {
	k.w.t.Helper()
	k.mu.Lock()
	l := k.lives[pod.UID]
	k.mu.Unlock()
	if l == nil {
		k.w.t.Fatalf("pod %s does not run", pod.Name)
	}
	l.told <- f
}

func (k *kubelet) live(pod *corev1.Pod, l *life) {
	if !k.unbound && pod.Spec.NodeName == "" {
		k.call(k.w.client.CoreV1().Pods(pod.Namespace).Bind(context.Background(), &corev1.Binding{
			ObjectMeta: metav1.ObjectMeta{Name: pod.Name, UID: pod.UID},
			Target:     corev1.ObjectReference{Kind: "Node", Name: nodeName},
		}, metav1.CreateOptions{}))
	}
	if pod.DeletionTimestamp == nil && pod.Status.Phase == corev1.PodPending {
		k.status(pod, running(pod))
	}
	var after <-chan time.Time
	var f fate
	if k.fate != nil {
		decided, ok := k.fate(pod)
		if ok {
			f, after = decided, time.After(decided.after)
		}
	}
	select {
	case <-after:
		k.status(pod, terminated(pod, f))
		if k.ended != nil {
			k.ended(metav1.GetControllerOf(pod).UID)
		}
	case f := <-l.told:
		k.status(pod, terminated(pod, f))
	case <-l.deleting:
		select {
		case <-time.After(k.termination):
		case f := <-l.told:
			k.status(pod, terminated(pod, f))
			k.delete(pod)
			return
		case <-l.over:
			return
		}
		k.status(pod, terminated(pod, fate{exit: 143}))
		k.delete(pod)
		return
	case <-l.over:
		return
	}
	select {
	case <-l.deleting:
		k.delete(pod)
	case <-l.over:
	}
}

func (k *kubelet) delete(pod *corev1.Pod) {
	k.call(k.w.client.CoreV1().Pods(pod.Namespace).Delete(context.Background(), pod.Name, metav1.DeleteOptions{
		GracePeriodSeconds: new(int64(0)), Preconditions: metav1.NewUIDPreconditions(string(pod.UID)),
	}))
}

func (k *kubelet) status(pod *corev1.Pod, status corev1.PodStatus) {
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"uid": pod.UID}, "status": status})
	if err == nil {
		_, err = k.w.client.CoreV1().Pods(pod.Namespace).Patch(context.Background(), pod.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status")
	}
	k.call(err)
}

// call takes what a call of the kubelet came to. That the pod is gone is the
// life of a pod.
func (k *kubelet) call(err error) {
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) && !apierrors.IsInvalid(err) {
		k.w.t.Errorf("kubelet: %v", err)
	}
}

func running(pod *corev1.Pod) corev1.PodStatus {
	now := metav1.Now()
	status := corev1.PodStatus{
		Phase: corev1.PodRunning, StartTime: &now,
		Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: now}},
	}
	for _, c := range pod.Spec.Containers {
		status.ContainerStatuses = append(status.ContainerStatuses, corev1.ContainerStatus{
			Name: c.Name, Ready: true, Started: new(true), State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: now}},
		})
	}
	return status
}

func terminated(pod *corev1.Pod, f fate) corev1.PodStatus {
	now := metav1.Now()
	status := corev1.PodStatus{
		Phase:      corev1.PodSucceeded,
		Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionFalse, Reason: "PodCompleted", LastTransitionTime: now}},
	}
	if f.exit != 0 {
		status.Phase = corev1.PodFailed
	}
	if f.condition != "" {
		status.Conditions = append(status.Conditions, corev1.PodCondition{Type: f.condition, Status: corev1.ConditionTrue, LastTransitionTime: now})
	}
	for _, c := range pod.Spec.Containers {
		status.ContainerStatuses = append(status.ContainerStatuses, corev1.ContainerStatus{
			Name: c.Name, State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: f.exit, FinishedAt: now, StartedAt: now}},
		})
	}
	return status
}

func ended(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}
