package main

import (
	"sync"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobwright/jobwright/fake"
	"github.com/jobwright/jobwright/jobcontrol"
)

// kubelet runs the pods of a cluster on this machine: each that is added is
// started at once and moved through its phases, each that is deleted is stopped
// and then removed. It is told of pods by a fake.View.
type kubelet struct {
	cluster *fake.Cluster
	clock   jobcontrol.Clock
	start   func(command) (process, error)
	volumes string        // folder for the folders of emptyDir volumes
	backoff time.Duration // before the second restart of a container; it doubles
	report  func(error)   // of what the user should know and nothing can be done about

	mu      sync.Mutex
	pods    map[types.UID]*podRun // guarded by mu: those not yet at their end
	stopped bool                  // guarded by mu: no other pod is started
	running sync.WaitGroup
}

var _ fake.Handler = (*kubelet)(nil)

func (k *kubelet) JobAdded(*batchv1.Job)        {}
func (k *kubelet) JobUpdated(_, _ *batchv1.Job) {}
func (k *kubelet) JobDeleted(*batchv1.Job)      {}

// PodAdded starts the pod.
func (k *kubelet) PodAdded(pod *corev1.Pod) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.stopped {
		return
	}
	if k.pods == nil {
		k.pods = make(map[types.UID]*podRun)
	}
	r := newPodRun(k, pod)
	k.pods[pod.UID] = r
	k.running.Go(func() {
		r.run()
		k.mu.Lock()
		defer k.mu.Unlock()
		delete(k.pods, pod.UID)
	})
}

// PodUpdated stops a pod that is being deleted.
func (k *kubelet) PodUpdated(_, cur *corev1.Pod) {
	if r := k.run(cur.UID); r != nil && cur.DeletionTimestamp != nil {
		r.stop(seconds(cur.DeletionGracePeriodSeconds), podCause{})
	}
}

// PodDeleted ends what is left of a pod that was removed without grace.
func (k *kubelet) PodDeleted(pod *corev1.Pod) {
	if r := k.run(pod.UID); r != nil {
		r.kill()
	}
}

func (k *kubelet) run(uid types.UID) *podRun {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.pods[uid]
}

// stop stops every pod, with the grace that it has, and starts no other.
func (k *kubelet) stop() {
	k.mu.Lock()
	k.stopped = true
	k.mu.Unlock()
	k.each(func(r *podRun) { r.stop(r.grace(), podCause{reasonNodeStops, "the machine runs no pods any more"}) })
}

// reasonNodeStops is what a kubelet gives as the reason of pods that end with
// their node.
const reasonNodeStops = "Terminated"

// kill ends every pod at once.
func (k *kubelet) kill() {
	k.each((*podRun).kill)
}

func (k *kubelet) each(end func(*podRun)) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, r := range k.pods {
		end(r)
	}
}

// wait blocks until every pod has ended; stop must have been called.
func (k *kubelet) wait() { k.running.Wait() }

func seconds(n *int64) time.Duration {
	if n == nil {
		return 0
	}
	return time.Duration(*n) * time.Second
}

// latch is an event that happens once.
type latch struct {
	once sync.Once
	c    chan struct{} // closed when it has happened
}

func newLatch() *latch { return &latch{c: make(chan struct{})} }

func (l *latch) set() { l.once.Do(func() { close(l.c) }) }

func (l *latch) isSet() bool {
	select {
	case <-l.c:
		return true
	default:
		return false
	}
}
