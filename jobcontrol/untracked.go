package jobcontrol

import (
	"maps"
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// untracked remembers the pods whose finalizer was removed and that the cache may
// still show with it, by Job. A pod among them is counted already.
type untracked struct {
	mu   sync.Mutex
	pods map[types.UID]map[types.UID]struct{}
}

// expect notes that the pod's finalizer is about to be removed.
func (u *untracked) expect(job, pod types.UID) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.pods == nil {
		u.pods = make(map[types.UID]map[types.UID]struct{})
	}
	if u.pods[job] == nil {
		u.pods[job] = make(map[types.UID]struct{})
	}
	u.pods[job][pod] = struct{}{}
}

// observed notes that the cache shows the pod without finalizer or not at all,
// or that the removal failed.
func (u *untracked) observed(job, pod types.UID) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if delete(u.pods[job], pod); len(u.pods[job]) == 0 {
		delete(u.pods, job)
	}
}

// of returns the pods of the Job, the caller's own; nil when there are none.
func (u *untracked) of(job types.UID) map[types.UID]struct{} {
	u.mu.Lock()
	defer u.mu.Unlock()
	return maps.Clone(u.pods[job])
}

func (u *untracked) forget(job types.UID) {
	u.mu.Lock()
	defer u.mu.Unlock()
	delete(u.pods, job)
}
