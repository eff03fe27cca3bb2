package kube

import (
	"slices"
	"strings"
	"sync"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"github.com/jobwright/jobwright/jobcontrol"
)

// Trim returns a transform for informers that leaves of Jobs and pods what
// decisions read, so that the caches of a large cluster fit in memory. Run uses
// it; informers of your own take it by SetTransform or, for a whole factory,
// informers.WithTransform. The names are those of the Controller's Config.
//
// Of a pod it keeps:
//
//   - name, namespace, UID, resource version, the times of creation and deletion
//     and the grace period, owner references, finalizers;
//   - the labels, without that of the completion index where the annotation says
//     the same and the pod has the label of a generated selector;
//   - the annotations of the completion index, of the failures of its index, and
//     of the cost of deletion;
//   - the name of the node, and a hostname that is not that of its index;
//   - phase, and each condition's type and status; of Ready also the time of its
//     last transition, unless Ready is False and the containers tell when they
//     finished;
//   - name, restarts, exit code and time of the end of each container that failed
//     or was restarted and of the one that ended last; where one of these has
//     ended and others run, of all; and which of these are sidecars.
//
// All else is empty, so that it decides about the pods as if it were not there.
// What reads pods besides the API's own rules, such as a function of
// jobcontrol.Judgement or another user of the informer, finds no more than this.
//
// A Job loses its managedFields only: the rest goes back to the API server with
// its status, where what is missing would be erased, or is needed for its pods.
//
// What is equal in many pods is stored once: the objects share memory with each
// other and with those they were made from, and must not be changed. Objects
// given to the transform are not changed; those of other types, tombstones too,
// are returned as they are. Trimming twice is trimming once. Safe for concurrent
// use; one transform for all informers shares the most.
func Trim(names jobcontrol.Names) cache.TransformFunc {
	t := newTrimmer(names)
	return func(obj any) (any, error) {
		switch obj := obj.(type) {
		case *corev1.Pod:
			return t.pod(obj), nil
		case *batchv1.Job:
			return trimJob(obj), nil
		}
		return obj, nil
	}
}

func trimJob(job *batchv1.Job) *batchv1.Job {
	kept := *job
	kept.ManagedFields = nil
	return &kept
}

// keepPods is the transform for pods of which anything may be read.
func keepPods(obj any) (any, error) {
	switch obj := obj.(type) {
	case *corev1.Pod:
		kept := *obj
		kept.ManagedFields = nil
		return &kept, nil
	case *batchv1.Job:
		return trimJob(obj), nil
	}
	return obj, nil
}

// trimmer trims pods and remembers what they may share.
type trimmer struct {
	controllerUID, completionIndex string
	annotationsRead                []string

	mu          sync.Mutex
	key         []byte   // of what is looked for, built anew each time
	sorted      []string // the names of the labels at hand
	texts       shared[string]
	labels      shared[map[string]string]
	annotations shared[map[string]string]
	owners      shared[[]metav1.OwnerReference]
	finalizers  shared[[]string]
	conditions  shared[[]corev1.PodCondition]
	statuses    shared[containerStatuses]
}

func newTrimmer(names jobcontrol.Names) *trimmer {
	t := &trimmer{
		controllerUID:   names.Named(batchv1.ControllerUidLabel),
		completionIndex: names.Named(batchv1.JobCompletionIndexAnnotation),
	}
	t.annotationsRead = []string{
		t.completionIndex,
		names.Named(batchv1.JobIndexFailureCountAnnotation),
		names.Named(batchv1.JobIndexIgnoredFailureCountAnnotation),
		corev1.PodDeletionCost,
	}
	return t
}

func (t *trimmer) pod(pod *corev1.Pod) *corev1.Pod {
	t.mu.Lock()
	defer t.mu.Unlock()
	kept := &corev1.Pod{}
	finished := t.keepStatuses(kept, pod)
	// What is the pod's alone is stored in one piece, which wastes less.
	own := string(pod.UID) + pod.Name + pod.ResourceVersion
	name, version := len(pod.UID), len(pod.UID)+len(pod.Name)
	kept.ObjectMeta = metav1.ObjectMeta{
		UID:                        types.UID(own[:name]),
		Name:                       own[name:version],
		ResourceVersion:            own[version:],
		Namespace:                  t.text(pod.Namespace),
		CreationTimestamp:          pod.CreationTimestamp,
		DeletionTimestamp:          pod.DeletionTimestamp,
		DeletionGracePeriodSeconds: pod.DeletionGracePeriodSeconds,
		Labels:                     t.labelsOf(pod),
		Annotations:                t.annotationsOf(pod),
		OwnerReferences:            t.ownersOf(pod),
		Finalizers:                 t.finalizersOf(pod),
	}
	kept.Spec.NodeName = t.text(pod.Spec.NodeName)
	kept.Spec.Hostname = t.hostnameOf(pod)
	kept.Status.Phase = corev1.PodPhase(t.text(string(pod.Status.Phase)))
	kept.Status.Conditions = t.conditionsOf(pod, !finished.IsZero())
	return kept
}

// labelsOf: the label of the index would make the labels of every pod of a Job
// others. It is left out where nothing can ask for it: it says what the annotation
// says, and a generated selector asks for the UID of the Job.
func (t *trimmer) labelsOf(pod *corev1.Pod) map[string]string {
	skip := ""
	index, indexed := pod.Annotations[t.completionIndex]
	owner := metav1.GetControllerOfNoCopy(pod)
	if indexed && owner != nil && pod.Labels[t.completionIndex] == index && pod.Labels[t.controllerUID] == string(owner.UID) {
		skip = t.completionIndex
	}
	t.sorted = t.sorted[:0]
	for name := range pod.Labels {
		if name != skip {
			t.sorted = append(t.sorted, name)
		}
	}
	if len(t.sorted) == 0 {
		return nil
	}
	slices.Sort(t.sorted)
	t.key = t.key[:0]
	for _, name := range t.sorted {
		t.about(name, pod.Labels[name])
	}
	return t.labels.of(t.key, func() map[string]string {
		if len(t.sorted) == len(pod.Labels) {
			return pod.Labels
		}
		kept := make(map[string]string, len(t.sorted))
		for _, name := range t.sorted {
			kept[name] = pod.Labels[name]
		}
		return kept
	})
}

func (t *trimmer) annotationsOf(pod *corev1.Pod) map[string]string {
	t.key = t.key[:0]
	for _, name := range t.annotationsRead {
		if value, ok := pod.Annotations[name]; ok {
			t.about(name, value)
		}
	}
	if len(t.key) == 0 {
		return nil
	}
	return t.annotations.of(t.key, func() map[string]string {
		kept := make(map[string]string, len(t.annotationsRead))
		for _, name := range t.annotationsRead {
			if value, ok := pod.Annotations[name]; ok {
				kept[name] = value
			}
		}
		return kept
	})
}

func (t *trimmer) ownersOf(pod *corev1.Pod) []metav1.OwnerReference {
	if len(pod.OwnerReferences) == 0 {
		return nil
	}
	t.key = t.key[:0]
	for i := range pod.OwnerReferences {
		o := &pod.OwnerReferences[i]
		t.about(o.APIVersion, o.Kind, o.Name, string(o.UID))
		t.flag(o.Controller)
		t.flag(o.BlockOwnerDeletion)
	}
	return t.owners.of(t.key, func() []metav1.OwnerReference { return slices.Clone(pod.OwnerReferences) })
}

func (t *trimmer) finalizersOf(pod *corev1.Pod) []string {
	if len(pod.Finalizers) == 0 {
		return nil
	}
	t.key = t.key[:0]
	t.about(pod.Finalizers...)
	return t.finalizers.of(t.key, func() []string { return slices.Clone(pod.Finalizers) })
}

// hostnameOf: a hostname is asked whether it is that of another index than the
// annotation says. One that ends like the index is not.
func (t *trimmer) hostnameOf(pod *corev1.Pod) string {
	index, indexed := pod.Annotations[t.completionIndex]
	if head, ends := strings.CutSuffix(pod.Spec.Hostname, index); !indexed || ends && strings.HasSuffix(head, "-") {
		return ""
	}
	return pod.Spec.Hostname
}

func (t *trimmer) conditionsOf(pod *corev1.Pod, finished bool) []corev1.PodCondition {
	if len(pod.Status.Conditions) == 0 {
		return nil
	}
	timed := func(c *corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && (c.Status == corev1.ConditionTrue || !finished)
	}
	t.key = t.key[:0]
	for i := range pod.Status.Conditions {
		c := &pod.Status.Conditions[i]
		t.about(string(c.Type), string(c.Status))
		if timed(c) {
			t.time(c.LastTransitionTime.Time)
		}
	}
	return t.conditions.of(t.key, func() []corev1.PodCondition {
		kept := make([]corev1.PodCondition, len(pod.Status.Conditions))
		for i := range kept {
			c := &pod.Status.Conditions[i]
			kept[i].Type = corev1.PodConditionType(t.text(string(c.Type)))
			kept[i].Status = corev1.ConditionStatus(t.text(string(c.Status)))
			if timed(c) {
				kept[i].LastTransitionTime = c.LastTransitionTime
			}
		}
		return kept
	})
}
