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

	"github.com/jobwright/jobwright/fake"
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
// resource versions that grow, preconditions, finalizers, and the rules about
// the status of a Job. A status that breaks one fails the test.
type server struct {
	*clientfake.Clientset
	t       *testing.T
	made    atomic.Int64 // pods, for names and UIDs
	told    atomic.Int64 // events, for names
	version atomic.Int64
}

func newServer(t *testing.T, objs ...runtime.Object) *server {
	s := &server{Clientset: clientfake.NewSimpleClientset(), t: t}
	for _, obj := range objs {
		s.stamp(obj)
		if err := s.Tracker().Add(obj); err != nil {
			panic(err)
		}
	}
	for verb, answer := range map[string]func(clienttesting.Action) (runtime.Object, error){
		"create": s.create, "update": s.update, "delete": s.delete, "patch": s.patch,
	} {
		s.PrependReactor(verb, "*", func(a clienttesting.Action) (bool, runtime.Object, error) {
			obj, err := answer(a)
			return true, obj, err
		})
	}
	return s
}

func (s *server) create(a clienttesting.Action) (runtime.Object, error) {
	obj := a.(clienttesting.CreateAction).GetObject()
	switch obj := obj.(type) {
	case *corev1.Pod:
		n := s.made.Add(1)
		if obj.Name == "" {
			obj.Name = fmt.Sprintf("%s%d", obj.GenerateName, n)
		}
		obj.UID = types.UID(fmt.Sprintf("pod-uid-%d", n))
		obj.CreationTimestamp = metav1.Now()
		obj.Status.Phase = corev1.PodPending
	case *corev1.Event:
		// The clientset would name events by the time, which stands still here.
		obj.Name = fmt.Sprintf("event-%d", s.told.Add(1))
		s.stamp(obj)
		return obj, s.Tracker().Create(a.GetResource(), obj, obj.Namespace)
	}
	s.stamp(obj)
	return obj, s.Tracker().Create(a.GetResource(), obj, a.GetNamespace())
}

func (s *server) update(a clienttesting.Action) (runtime.Object, error) {
	obj := a.(clienttesting.UpdateAction).GetObject()
	given := accessor(obj)
	stored, err := s.stored(a.GetResource(), a.GetNamespace(), given.GetName(), given.GetUID(), given.GetResourceVersion())
	if err != nil {
		return nil, err
	}
	if job, ok := obj.(*batchv1.Job); ok && a.GetSubresource() == "status" {
		next := stored.(*batchv1.Job).DeepCopy()
		if err := fake.CheckStatus(next, &job.Status); err != nil {
			s.t.Errorf("a status that the API server refuses: %v", err)
			return nil, err
		}
		job.Status.DeepCopyInto(&next.Status)
		obj = next
	}
	s.stamp(obj)
	return obj, s.Tracker().Update(a.GetResource(), obj, a.GetNamespace())
}

// delete removes at once what no finalizer holds. A pod that is held has no
// grace: its containers are dead and it has failed.
func (s *server) delete(a clienttesting.Action) (runtime.Object, error) {
	del := a.(clienttesting.DeleteActionImpl)
	var uid types.UID
	var version string
	if pre := del.DeleteOptions.Preconditions; pre != nil {
		uid, version = valueOf(pre.UID), valueOf(pre.ResourceVersion)
	}
	obj, err := s.stored(a.GetResource(), a.GetNamespace(), del.Name, uid, version)
	if err != nil {
		return nil, err
	}
	pod, ok := obj.(*corev1.Pod)
	if !ok || len(pod.Finalizers) == 0 {
		return nil, s.Tracker().Delete(a.GetResource(), a.GetNamespace(), del.Name)
	}
	pod = pod.DeepCopy()
	pod.DeletionTimestamp = new(metav1.Now())
	ended(pod, corev1.PodFailed)
	s.stamp(pod)
	return nil, s.Tracker().Update(podResource, pod, a.GetNamespace())
}

// patch patches a pod; one that is deleted goes with its last finalizer.
func (s *server) patch(a clienttesting.Action) (runtime.Object, error) {
	pod, err := s.patched(a.(clienttesting.PatchAction))
	if err != nil {
		return nil, err
	}
	s.stamp(pod)
	if pod.DeletionTimestamp != nil && len(pod.Finalizers) == 0 {
		return pod, s.Tracker().Delete(podResource, a.GetNamespace(), pod.Name)
	}
	return pod, s.Tracker().Update(podResource, pod, a.GetNamespace())
}

// stamp gives obj the next resource version.
func (s *server) stamp(obj runtime.Object) {
	accessor(obj).SetResourceVersion(strconv.FormatInt(s.version.Add(1), 10))
}

func accessor(obj runtime.Object) metav1.Object {
	m, err := meta.Accessor(obj)
	if err != nil {
		panic(err)
	}
	return m
}

func valueOf[T any](p *T) (value T) {
	if p != nil {
		value = *p
	}
	return value
}

// stored is what is stored, if it has the UID and the resource version, where
// these are given.
func (s *server) stored(resource schema.GroupVersionResource, namespace, name string, uid types.UID, version string) (runtime.Object, error) {
	obj, err := s.Tracker().Get(resource, namespace, name)
	if err != nil {
		return nil, err
	}
	m := accessor(obj)
	if uid != "" && uid != m.GetUID() || version != "" && version != m.GetResourceVersion() {
		return nil, apierrors.NewConflict(resource.GroupResource(), name, fmt.Errorf("UID %q or version %q is not that stored", uid, version))
	}
	return obj, nil
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
	_, err = s.stored(podResource, a.GetNamespace(), a.GetName(), pod.UID, "")
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
		ended(&pod, phase)
		if _, err := s.CoreV1().Pods("ns").UpdateStatus(context.Background(), &pod, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
}

// ended moves the pod to phase, and its container with it.
func ended(pod *corev1.Pod, phase corev1.PodPhase) {
	pod.Status.Phase = phase
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "main", State: corev1.ContainerState{
		Terminated: &corev1.ContainerStateTerminated{FinishedAt: metav1.Now()},
	}}}
}
