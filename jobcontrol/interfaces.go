package jobcontrol

import (
	"context"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
)

// PodControl changes pods. A Controller calls it from several goroutines at
// once, each sync from no more than Config.MaxInFlight. Errors keep the type the API
// gave them: a Controller tells a refusal from a lost answer by it.
type PodControl interface {
	// Create stores the pod and returns it as stored. The argument stays the
	// caller's and is not changed.
	Create(ctx context.Context, pod *corev1.Pod) (*corev1.Pod, error)

	// Delete asks for the deletion of exactly this pod: one of the same name
	// with another UID is left alone. That the pod is gone already is success.
	Delete(ctx context.Context, pod *corev1.Pod) error

	// Patch applies a strategic merge patch to the pod. The patches of this
	// library carry metadata.uid, so that they cannot hit a namesake. A pod that
	// is gone is an error that apierrors.IsNotFound recognises; so should be one
	// whose name another pod has by now, else the patch is tried again until the
	// cache has seen it.
	Patch(ctx context.Context, pod *corev1.Pod, patch []byte) error
}

// PodFetcher reads pods where they are stored now, past every cache. What it
// returns is read-only.
type PodFetcher interface {
	// FetchPods returns the pods of a namespace that the selector matches, in
	// any order.
	FetchPods(ctx context.Context, namespace string, selector labels.Selector) ([]*corev1.Pod, error)
}

// JobStore reads Jobs and writes their status.
type JobStore interface {
	JobCache
	JobClient
}

// JobCache is the part of a JobStore that reads from a cache, which may lag
// behind what is stored. What it returns is shared and read-only.
type JobCache interface {
	// Job returns an error that apierrors.IsNotFound recognises when there is
	// no such Job.
	Job(namespace, name string) (*batchv1.Job, error)
	// Jobs returns the Jobs of a namespace, in any order. It is asked when a
	// pod without owner turns up that one of them may adopt.
	Jobs(namespace string) ([]*batchv1.Job, error)
}

// JobClient is the part of a JobStore that talks to where the Jobs are stored.
type JobClient interface {
	// FetchJob reads the Job as it is stored now. A Job that does not exist is
	// an error that apierrors.IsNotFound recognises.
	FetchJob(ctx context.Context, namespace, name string) (*batchv1.Job, error)
	// UpdateJobStatus writes job.Status and nothing else, and returns the Job
	// as stored. It fails with a conflict when the stored Job has another UID
	// or resource version. The argument stays the caller's.
	UpdateJobStatus(ctx context.Context, job *batchv1.Job) (*batchv1.Job, error)
}

// PodStore reads pods from the cache that the pod event methods of a
// Controller are fed from. What it returns is shared and read-only; the order
// of the pods does not matter.
type PodStore interface {
	// PodsOf returns the pods whose controller reference has this UID.
	PodsOf(namespace string, owner types.UID) ([]*corev1.Pod, error)

	// OrphanPods returns the pods of a namespace without controller
	// reference: those that a Job may adopt.
	OrphanPods(namespace string) ([]*corev1.Pod, error)
}

// Queue is a queue of Job keys ("namespace/name"), of which each is worked on
// by one worker at a time. workqueue.TypedRateLimitingInterface[string] of
// client-go is one.
type Queue interface {
	Scheduler
	Retrier
	Source
}

// Scheduler is the part of a Queue that asks for syncs.
type Scheduler interface {
	// Add asks for a sync now.
	Add(key string)
	// AddAfter asks for a sync after d. The earliest time asked for wins.
	AddAfter(key string, d time.Duration)
}

// Retrier is the part of a Queue that counts failures of a key.
type Retrier interface {
	// AddRateLimited asks for a sync after a delay that grows with the
	// failures of the key, and counts one more.
	AddRateLimited(key string)
	// Forget sets the failures of the key to none.
	Forget(key string)
	// NumRequeues is the number of failures since the key was forgotten.
	NumRequeues(key string) int
}

// Source is the part of a Queue that workers take keys from.
type Source interface {
	// Get blocks until a key is due or the queue is shut down.
	Get() (key string, shutdown bool)
	// Done says that the work on a key taken by Get has ended.
	Done(key string)
	// ShutDown makes every Get return once the keys already due are worked off.
	ShutDown()
}

// Clock tells the time. clock.PassiveClock of k8s.io/utils is one.
type Clock interface {
	Now() time.Time
}

// EventSink takes events about a Job. record.EventRecorder of client-go is one.
type EventSink interface {
	Event(object runtime.Object, eventType, reason, message string)
}
