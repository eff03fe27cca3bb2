package fake

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobwright/jobwright/jobcontrol"
)

var _ jobcontrol.PodControl = (*PodControl)(nil)

// Verb is what a call asks for.
type Verb string

// The verbs of a PodControl and of a Cluster.
const (
	Create       Verb = "create"
	Update       Verb = "update"
	UpdateStatus Verb = "update status"
	Patch        Verb = "patch"
	Delete       Verb = "delete"
	Fetch        Verb = "fetch"
)

// Call is one call of a PodControl.
type Call struct {
	Verb  Verb
	Pod   *corev1.Pod // as it was passed
	Patch []byte      // of a Patch, else nil
}

// String is the call in the words of a failure message.
func (c Call) String() string {
	name := c.Pod.Name
	if name == "" {
		name = c.Pod.GenerateName + "*"
	}
	text := fmt.Sprintf("%s %s/%s", c.Verb, c.Pod.Namespace, name)
	if c.Patch != nil {
		text += " " + string(c.Patch)
	}
	return text
}

// PodControl records the calls made to it and lets chosen ones fail. Its zero
// value works: it stores the pods that it creates, with name and UID filled in,
// and takes a pod that it did not create, once it is passed to Delete or Patch,
// to exist as it was passed. It is safe for concurrent use and must not be
// copied once used.
//
// Every call is recorded, first. Then a call whose ctx has ended fails with
// ctx.Err, then those fail that FailCall, FailAll and OnCall say should, in this
// order; only then does anything change.
type PodControl struct {
	// Next, if not nil, receives the calls that do not fail. It puts faults
	// before a Cluster or any other PodControl.
	Next jobcontrol.PodControl

	// OnCall, if not nil, runs before a call changes anything, with a copy of
	// its own; an error that it returns is the answer to the call. It may call
	// back: one that creates the pod and then returns a timeout loses the answer
	// of a create that happened. It runs on the goroutine of the caller, so
	// several may run at once.
	OnCall func(Call) error

	mu      sync.Mutex
	calls   []Call
	fail    map[int]error
	failAll error
	memory  *Cluster
	seen    map[types.UID]bool // pods that were passed to Delete or Patch
}

// Create stores a copy of the pod and returns another one with name, UID and
// the rest of what an API fills in.
func (p *PodControl) Create(ctx context.Context, pod *corev1.Pod) (*corev1.Pod, error) {
	if err := p.call(ctx, Call{Verb: Create, Pod: pod}); err != nil {
		return nil, err
	}
	return p.next(nil).Create(ctx, pod)
}

// Delete deletes the pod if it is still the same by UID.
func (p *PodControl) Delete(ctx context.Context, pod *corev1.Pod) error {
	if err := p.call(ctx, Call{Verb: Delete, Pod: pod}); err != nil {
		return err
	}
	return p.next(pod).Delete(ctx, pod)
}

// Patch applies a strategic merge patch to the pod.
func (p *PodControl) Patch(ctx context.Context, pod *corev1.Pod, patch []byte) error {
	if err := p.call(ctx, Call{Verb: Patch, Pod: pod, Patch: patch}); err != nil {
		return err
	}
	return p.next(pod).Patch(ctx, pod, patch)
}

// FailCall makes call number k fail with err. Calls count from 1, whatever
// their verb and whether or not they fail.
func (p *PodControl) FailCall(k int, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.fail == nil {
		p.fail = map[int]error{}
	}
	p.fail[k] = err
}

// FailAll makes every call from now on fail with err, until FailAll(nil).
func (p *PodControl) FailAll(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.failAll = err
}

// Calls are the calls made so far, in the order in which they came in: those of
// the given verbs, or all when none is given.
func (p *PodControl) Calls(verbs ...Verb) []Call {
	p.mu.Lock()
	defer p.mu.Unlock()
	var calls []Call
	for _, call := range p.calls {
		if len(verbs) == 0 || slices.Contains(verbs, call.Verb) {
			calls = append(calls, call.copy())
		}
	}
	return calls
}

// Pods are the pods that the PodControl stores itself, by name: none when there
// is a Next.
func (p *PodControl) Pods(namespace string) []*corev1.Pod {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.memory == nil {
		return nil
	}
	return p.memory.Pods(namespace)
}

// call records a call and says whether it fails.
func (p *PodControl) call(ctx context.Context, call Call) error {
	p.mu.Lock()
	p.calls = append(p.calls, call.copy())
	fail := p.fail[len(p.calls)]
	if fail == nil {
		fail = p.failAll
	}
	p.mu.Unlock()

	if err := ctx.Err(); err != nil {
		return err
	}
	if fail == nil && p.OnCall != nil {
		fail = p.OnCall(call.copy())
	}
	return fail
}

// next is where a call goes on. A pod passed for the first time becomes one
// that exists; later, it does so only as long as it was not deleted.
func (p *PodControl) next(pod *corev1.Pod) jobcontrol.PodControl {
	if p.Next != nil {
		return p.Next
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.memory == nil {
		p.memory = NewCluster(NewClock(time.Unix(0, 0)))
		p.seen = map[types.UID]bool{}
	}
	if pod != nil && !p.seen[pod.UID] {
		p.seen[pod.UID] = pod.UID != ""
		// It fails for a namesake of a pod that is stored: that one stays.
		_ = p.memory.Load(pod)
	}
	return p.memory
}

func (c Call) copy() Call {
	c.Pod, c.Patch = c.Pod.DeepCopy(), slices.Clone(c.Patch)
	return c
}
