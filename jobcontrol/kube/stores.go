package kube

import (
	"context"
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	batchlisters "k8s.io/client-go/listers/batch/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/jobwright/jobwright/jobcontrol"
)

// JobStore is a jobcontrol.JobStore over a lister and a clientset. It keeps
// nothing of its own: the informer behind the lister is the only cache, and
// nothing but its watch changes it. Safe for concurrent use.
type JobStore struct {
	lister batchlisters.JobLister
	client kubernetes.Interface
}

var _ jobcontrol.JobStore = (*JobStore)(nil)

// NewJobStore returns a JobStore that reads cached Jobs from lister and goes
// to client for the rest.
func NewJobStore(lister batchlisters.JobLister, client kubernetes.Interface) *JobStore {
	return &JobStore{lister: lister, client: client}
}

// Job returns the cached Job, which is shared: it must not be changed.
func (s *JobStore) Job(namespace, name string) (*batchv1.Job, error) {
	return s.lister.Jobs(namespace).Get(name)
}

// Jobs returns the cached Jobs of a namespace, in no order. The slice is the
// caller's, the Jobs are shared.
func (s *JobStore) Jobs(namespace string) ([]*batchv1.Job, error) {
	return s.lister.Jobs(namespace).List(labels.Everything())
}

// FetchJob asks the API server, past every cache.
func (s *JobStore) FetchJob(ctx context.Context, namespace, name string) (*batchv1.Job, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return s.client.BatchV1().Jobs(namespace).Get(ctx, name, metav1.GetOptions{})
}

// UpdateJobStatus writes the status subresource and returns the Job as
// stored. The UID and resource version of job go with it, so the API server
// refuses with a conflict what was decided from another Job or an older one.
func (s *JobStore) UpdateJobStatus(ctx context.Context, job *batchv1.Job) (*batchv1.Job, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return s.client.BatchV1().Jobs(job.Namespace).UpdateStatus(ctx, job, metav1.UpdateOptions{})
}

// podOwnerIndex is the name of the index that PodStore adds to an indexer.
const podOwnerIndex = "jobwright/pod-owner"

// PodStore is a jobcontrol.PodStore over the indexer of a pod informer. It
// finds pods by an index, so that a sync costs the same in a namespace of ten
// pods and of a hundred thousand. Safe for concurrent use.
type PodStore struct {
	indexer cache.Indexer
}

var _ jobcontrol.PodStore = (*PodStore)(nil)

// NewPodStore adds an index of pods by controller to indexer, which is what
// GetIndexer of a pod informer returns, and returns a store that reads from
// it. An indexer that has the index already, from another Controller on the
// same informer, is used as it is. The informer may be running or not.
func NewPodStore(indexer cache.Indexer) (*PodStore, error) {
	if _, shared := indexer.GetIndexers()[podOwnerIndex]; !shared {
		if err := indexer.AddIndexers(cache.Indexers{podOwnerIndex: podOwnerKeys}); err != nil {
			return nil, fmt.Errorf("index pods by owner: %w", err)
		}
	}
	return &PodStore{indexer: indexer}, nil
}

// PodsOf returns the cached pods of a namespace whose controller reference has
// this UID, in no order. The slice is the caller's, the pods are shared.
func (s *PodStore) PodsOf(namespace string, owner types.UID) ([]*corev1.Pod, error) {
	return s.pods(ownedKey(namespace, owner))
}

// OrphanPods returns the cached pods of a namespace that nobody controls, in
// no order. The slice is the caller's, the pods are shared.
func (s *PodStore) OrphanPods(namespace string) ([]*corev1.Pod, error) {
	return s.pods(orphanKey(namespace))
}

func (s *PodStore) pods(key string) ([]*corev1.Pod, error) {
	objs, err := s.indexer.ByIndex(podOwnerIndex, key)
	if err != nil {
		return nil, fmt.Errorf("look up pods: %w", err)
	}
	pods := make([]*corev1.Pod, len(objs))
	for i, obj := range objs {
		pods[i] = obj.(*corev1.Pod) // podOwnerKeys gives nothing else a key
	}
	return pods, nil
}

// podOwnerKeys is the index function. What is not a pod has no key: an error
// here would bring the whole informer down.
func podOwnerKeys(obj any) ([]string, error) {
	pod, ok := obj.(*corev1.Pod)
	if !ok {
		return nil, nil
	}
	if owner := metav1.GetControllerOfNoCopy(pod); owner != nil {
		return []string{ownedKey(pod.Namespace, owner.UID)}, nil
	}
	return []string{orphanKey(pod.Namespace)}, nil
}

// ownedKey has the namespace in it because a reference never reaches across
// namespaces: a pod elsewhere that claims the owner is not its pod.
func ownedKey(namespace string, owner types.UID) string {
	return "owned/" + namespace + "/" + string(owner)
}

func orphanKey(namespace string) string { return "orphan/" + namespace }
