package kube_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"sync/atomic"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	clientfake "k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
)

// client-go reports errors to handlers of the process, one of which sleeps
// until a millisecond after the last error: by the clock of a bubble, decades.
func TestMain(m *testing.M) {
	utilruntime.ErrorHandlers = nil
	m.Run()
}

var (
	podResource = corev1.SchemeGroupVersion.WithResource("pods")
	jobResource = batchv1.SchemeGroupVersion.WithResource("jobs")
)

// server is client-go's fake clientset with what an API server does for
// everybody and the clientset leaves out: names from generateName, UIDs,
// resource versions that grow, and UID preconditions.
type server struct {
	*clientfake.Clientset
	made    atomic.Int64 // pods, for names and UIDs
	told    atomic.Int64 // events, for names
	version atomic.Int64
}

func newServer(objs ...runtime.Object) *server {
	s := &server{Clientset: clientfake.NewSimpleClientset()}
	for _, obj := range objs {
		s.stamp(obj)
		if err := s.Tracker().Add(obj); err != nil {
			panic(err)
		}
	}
	s.PrependReactor("create", "pods", func(a clienttesting.Action) (bool, runtime.Object, error) {
		pod := a.(clienttesting.CreateAction).GetObject().(*corev1.Pod)
		n := s.made.Add(1)
		if pod.Name == "" {
			pod.Name = fmt.Sprintf("%s%d", pod.GenerateName, n)
		}
		pod.UID = types.UID(fmt.Sprintf("pod-uid-%d", n))
		pod.Status.Phase = corev1.PodPending
		s.stamp(pod)
		return true, pod, s.Tracker().Create(podResource, pod, a.GetNamespace())
	})
	// The clientset would name events by the time, which stands still here.
	s.PrependReactor("create", "events", func(a clienttesting.Action) (bool, runtime.Object, error) {
		event := a.(clienttesting.CreateAction).GetObject().(*corev1.Event)
		event.Name = fmt.Sprintf("event-%d", s.told.Add(1))
		return true, event, s.Tracker().Create(a.GetResource(), event, event.Namespace)
	})
	s.PrependReactor("update", "*", func(a clienttesting.Action) (bool, runtime.Object, error) {
		obj := a.(clienttesting.UpdateAction).GetObject()
		s.stamp(obj)
		return true, obj, s.Tracker().Update(a.GetResource(), obj, a.GetNamespace())
	})
	s.PrependReactor("delete", "pods", func(a clienttesting.Action) (bool, runtime.Object, error) {
		del := a.(clienttesting.DeleteActionImpl)
		if pre := del.DeleteOptions.Preconditions; pre != nil && pre.UID != nil {
			return s.checkUID(a.GetResource(), a.GetNamespace(), del.Name, *pre.UID)
		}
		return false, nil, nil
	})
	s.PrependReactor("patch", "pods", func(a clienttesting.Action) (bool, runtime.Object, error) {
		pod, err := s.patched(a.(clienttesting.PatchAction))
		if err != nil {
			return true, nil, err
		}
		s.stamp(pod)
		return true, pod, s.Tracker().Update(podResource, pod, a.GetNamespace())
	})
	return s
}

// stamp gives obj the next resource version.
func (s *server) stamp(obj runtime.Object) {
	m, err := meta.Accessor(obj)
	if err != nil {
		panic(err)
	}
	m.SetResourceVersion(strconv.FormatInt(s.version.Add(1), 10))
}

// checkUID refuses a request for an object of another UID.
func (s *server) checkUID(resource schema.GroupVersionResource, namespace, name string, uid types.UID) (bool, runtime.Object, error) {
	obj, err := s.Tracker().Get(resource, namespace, name)
	if err != nil {
		return true, nil, err
	}
	if m, err := meta.Accessor(obj); err != nil || m.GetUID() != uid {
		return true, nil, apierrors.NewConflict(resource.GroupResource(), name, fmt.Errorf("UID in precondition: %s", uid))
	}
	return false, nil, nil
}

// patched is the pod with a strategic merge patch applied, which may name its
// UID but not change it.
func (s *server) patched(a clienttesting.PatchAction) (*corev1.Pod, error) {
	stored, err := s.Tracker().Get(podResource, a.GetNamespace(), a.GetName())
	if err != nil {
		return nil, err
	}
	before, err := json.Marshal(stored)
	if err != nil {
		return nil, err
	}
	after, err := strategicpatch.StrategicMergePatch(before, a.GetPatch(), corev1.Pod{})
	if err != nil {
		return nil, err
	}
	pod := &corev1.Pod{}
	if err := json.Unmarshal(after, pod); err != nil {
		return nil, err
	}
	_, _, err = s.checkUID(podResource, a.GetNamespace(), a.GetName(), pod.UID)
	return pod, err
}

// refuse makes every call of this kind fail while err gives an error.
func (s *server) refuse(verb, resource string, err func(clienttesting.Action) error) {
	s.PrependReactor(verb, resource, func(a clienttesting.Action) (bool, runtime.Object, error) {
		e := err(a)
		return e != nil, nil, e
	})
}

// calls lists what was asked of the server for a resource, as "verb" or
// "verb subresource", without reads.
func (s *server) calls(resource string) []string {
	var calls []string
	for _, a := range s.Actions() {
		switch {
		case a.GetResource().Resource != resource || a.GetVerb() == "list" || a.GetVerb() == "watch" || a.GetVerb() == "get":
		case a.GetSubresource() != "":
			calls = append(calls, a.GetVerb()+" "+a.GetSubresource())
		default:
			calls = append(calls, a.GetVerb())
		}
	}
	return calls
}

func (s *server) job(t *testing.T, name string) *batchv1.Job {
	t.Helper()
	job, err := s.BatchV1().Jobs("ns").Get(context.Background(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return job
}

func (s *server) pods(t *testing.T) []corev1.Pod {
	t.Helper()
	list, err := s.CoreV1().Pods("ns").List(context.Background(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return list.Items
}

// end moves every pod that has not ended to phase, as a kubelet would.
func (s *server) end(t *testing.T, phase corev1.PodPhase) {
	t.Helper()
	for _, pod := range s.pods(t) {
		if pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed {
			continue
		}
		pod.Status.Phase = phase
		if _, err := s.CoreV1().Pods("ns").UpdateStatus(context.Background(), &pod, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
}

// newJob returns a Job with UID "uid-NAME" that selects app=NAME.
func newJob(name string, parallelism, completions int32) *batchv1.Job {
	labels := map[string]string{"app": name}
	return &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: types.UID("uid-" + name)},
		Spec: batchv1.JobSpec{
			Parallelism: &parallelism,
			Completions: &completions,
			Selector:    &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec: corev1.PodSpec{
					RestartPolicy: corev1.RestartPolicyNever,
					Containers:    []corev1.Container{{Name: "main", Image: "work"}},
				},
			},
		},
	}
}

// newPod returns a running pod with UID "uid-NAME" and the label app=APP. With
// owner not nil it is controlled by it.
func newPod(name, app string, owner *metav1.OwnerReference) *corev1.Pod {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "ns",
			Name:      name,
			UID:       types.UID("uid-" + name),
			Labels:    map[string]string{"app": app},
		},
		Status: corev1.PodStatus{Phase: corev1.PodRunning},
	}
	if owner != nil {
		pod.OwnerReferences = []metav1.OwnerReference{*owner}
	}
	return pod
}

// controlledBy is the reference that a pod of job carries.
func controlledBy(job *batchv1.Job) *metav1.OwnerReference {
	return metav1.NewControllerRef(job, batchv1.SchemeGroupVersion.WithKind("Job"))
}
