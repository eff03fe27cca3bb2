package kube

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/jobwright/jobwright/jobcontrol"
)

// Reasons of the events that a PodControl records on the owner of a pod.
const (
	ReasonSuccessfulCreate = "SuccessfulCreate"
	ReasonFailedCreate     = "FailedCreate"
	ReasonSuccessfulDelete = "SuccessfulDelete"
	ReasonFailedDelete     = "FailedDelete"
)

// PodControl is a jobcontrol.PodControl over a clientset. Pods are stored as
// they are given: name or generateName, labels, finalizers and owner
// references are the caller's affair.
//
// What was done to a pod is told by an event on its owner, which is whatever
// the controller reference of the pod names; a pod without one gets none.
// A PodControl holds no state and is safe for concurrent use.
type PodControl struct {
	client kubernetes.Interface
	events jobcontrol.EventSink
}

var (
	_ jobcontrol.PodControl = (*PodControl)(nil)
	_ jobcontrol.PodFetcher = (*PodControl)(nil)
)

// NewPodControl returns a PodControl that writes through client and tells
// events, for which a record.EventRecorder fits. With events nil there are
// none.
func NewPodControl(client kubernetes.Interface, events jobcontrol.EventSink) *PodControl {
	return &PodControl{client: client, events: events}
}

// Create stores the pod and returns it as stored.
//
// The owner gets the event SuccessfulCreate or FailedCreate. Two failures get
// none: in a namespace that is being deleted the event would be refused like
// the pod, and a call cut short by ctx says nothing about the Job.
func (p *PodControl) Create(ctx context.Context, pod *corev1.Pod) (*corev1.Pod, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	created, err := p.client.CoreV1().Pods(pod.Namespace).Create(ctx, pod, metav1.CreateOptions{})
	if err != nil {
		if ctx.Err() == nil && !apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) {
			p.warn(pod, ReasonFailedCreate, "Error creating: "+err.Error())
		}
		return nil, err
	}
	p.tell(pod, ReasonSuccessfulCreate, "Created pod: "+created.Name)
	return created, nil
}

// Delete asks for the deletion of the pod with this name and UID. That it is
// gone, or that its name is another pod's by now, is success.
//
// The owner gets the event SuccessfulDelete or FailedDelete; a pod that was
// gone before gets none, for it was not this call that deleted it.
func (p *PodControl) Delete(ctx context.Context, pod *corev1.Pod) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	// Without UID there is no telling the pod from a later one of its name.
	if pod.UID == "" {
		return fmt.Errorf("delete pod %s/%s: metadata.uid is empty", pod.Namespace, pod.Name)
	}
	err := p.client.CoreV1().Pods(pod.Namespace).Delete(ctx, pod.Name, metav1.DeleteOptions{
		Preconditions: metav1.NewUIDPreconditions(string(pod.UID)),
	})
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) && p.gone(ctx, pod) {
		return nil
	}
	if err != nil {
		if ctx.Err() == nil {
			p.warn(pod, ReasonFailedDelete, "Error deleting: "+err.Error())
		}
		return err
	}
	p.tell(pod, ReasonSuccessfulDelete, "Deleted pod: "+pod.Name)
	return nil
}

// Patch applies a strategic merge patch to the pod. That the pod is gone, or
// that its name is another pod's by now, is a NotFound: the API refuses a patch
// with the UID of another pod as a conflict or as invalid, and other patches too.
func (p *PodControl) Patch(ctx context.Context, pod *corev1.Pod, patch []byte) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	_, err := p.client.CoreV1().Pods(pod.Namespace).Patch(ctx, pod.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{})
	if (apierrors.IsConflict(err) || apierrors.IsInvalid(err)) && p.gone(ctx, pod) {
		return apierrors.NewNotFound(corev1.Resource("pods"), pod.Name)
	}
	return err
}

// FetchPods asks the API server, past every cache. A PodControl is a
// jobcontrol.PodFetcher by it.
func (p *PodControl) FetchPods(ctx context.Context, namespace string, selector labels.Selector) ([]*corev1.Pod, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	list, err := p.client.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{LabelSelector: selector.String()})
	if err != nil {
		return nil, err
	}
	pods := make([]*corev1.Pod, len(list.Items))
	for i := range list.Items {
		pods[i] = &list.Items[i]
	}
	return pods, nil
}

// gone reports whether the pod is known not to exist any more. A conflict
// alone does not say so: an admission webhook may answer a deletion with one,
// and a pod believed gone while it runs would be replaced.
func (p *PodControl) gone(ctx context.Context, pod *corev1.Pod) bool {
	current, err := p.client.CoreV1().Pods(pod.Namespace).Get(ctx, pod.Name, metav1.GetOptions{})
	if err != nil {
		return apierrors.IsNotFound(err)
	}
	return current.UID != pod.UID
}

func (p *PodControl) tell(pod *corev1.Pod, reason, message string) {
	p.record(pod, corev1.EventTypeNormal, reason, message)
}

func (p *PodControl) warn(pod *corev1.Pod, reason, message string) {
	p.record(pod, corev1.EventTypeWarning, reason, message)
}

// record sends an event about the owner. A reference is enough for it, so the
// owner may be of any kind, known to the client or not.
func (p *PodControl) record(pod *corev1.Pod, eventType, reason, message string) {
	owner := metav1.GetControllerOfNoCopy(pod)
	if owner == nil || p.events == nil {
		return
	}
	p.events.Event(&corev1.ObjectReference{
		APIVersion: owner.APIVersion,
		Kind:       owner.Kind,
		Namespace:  pod.Namespace,
		Name:       owner.Name,
		UID:        owner.UID,
	}, eventType, reason, message)
}
