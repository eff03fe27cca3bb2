package jobcontrol

import (
	"maps"
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// releases remembers the finalizers that were removed and that the cache may
// still show, by Job and pod. A pod among them is counted already.
type releases struct {
	mu   sync.Mutex
	pods map[types.UID]map[types.UID]struct{}
}

// expect notes that the pod's finalizer is about to be removed.
func (r *releases) expect(job, pod types.UID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.pods == nil {
		r.pods = make(map[types.UID]map[types.UID]struct{})
	}
	if r.pods[job] == nil {
		r.pods[job] = make(map[types.UID]struct{})
	}
	r.pods[job][pod] = struct{}{}
}

// observed notes that the cache shows the pod without finalizer or not at all,
// or that the removal failed.
func (r *releases) observed(job, pod types.UID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if delete(r.pods[job], pod); len(r.pods[job]) == 0 {
		delete(r.pods, job)
	}
}

// of returns the pods of the Job, the caller's own; nil when there are none.
func (r *releases) of(job types.UID) map[types.UID]struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.pods[job])
}

func (r *releases) forget(job types.UID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.pods, job)
}
