package jobcontrol

import (
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// living counts, by the UID of their Job, the pods that the cache shows and that
// have not ended. Handlers keep it: when the last pod of a Job has ended there is
// no burst left to wait for.
type living struct {
	mu   sync.Mutex
	pods map[types.UID]int
}

// seen notes that a pod of this owner has come into the cache.
func (l *living) seen(owner types.UID, pod *corev1.Pod) {
	if hasEnded(pod) {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.pods == nil {
		l.pods = make(map[types.UID]int)
	}
	l.pods[owner]++
}

// over notes that a pod of this owner, which is as it was before, has ended or
// left the cache, and says whether it was the last that had not.
func (l *living) over(owner types.UID, before *corev1.Pod) (last bool) {
	if hasEnded(before) {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	switch n := l.pods[owner]; n {
	case 0: // the cache was not shown to us from its beginning
		return false
	case 1:
		delete(l.pods, owner)
		return true
	default:
		l.pods[owner] = n - 1
		return false
	}
}
