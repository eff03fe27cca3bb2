package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	clientfake "k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/jobwright/jobwright/jobcontrol"
)

func gvr() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: group, Version: version, Resource: resource}
}

// newDynamicClient is client-go's fake with what it leaves out: of an update of the
// status it takes the status alone, if UID and resource version are those stored.
func newDynamicClient(runs ...runtime.Object) *dynamicfake.FakeDynamicClient {
	client := dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(),
		map[schema.GroupVersionResource]string{gvr(): kind + "List"}, runs...)
	client.PrependReactor("update", resource, func(a clienttesting.Action) (bool, runtime.Object, error) {
		given := a.(clienttesting.UpdateAction).GetObject().(*unstructured.Unstructured)
		obj, err := client.Tracker().Get(gvr(), a.GetNamespace(), given.GetName())
		if err != nil || a.GetSubresource() != "status" {
			return true, nil, fmt.Errorf("update %q: %w", a.GetSubresource(), err)
		}
		stored := obj.(*unstructured.Unstructured).DeepCopy()
		if given.GetUID() != stored.GetUID() || given.GetResourceVersion() != stored.GetResourceVersion() {
			return true, nil, fmt.Errorf("another object, or another version of it: %v", given.Object["metadata"])
		}
		stored.Object["status"] = given.Object["status"]
		return true, stored, client.Tracker().Update(gvr(), stored, a.GetNamespace())
	})
	return client
}

// newClient is client-go's fake that names the pods that it stores.
func newClient() *clientfake.Clientset {
	client := clientfake.NewSimpleClientset()
	made := 0
	client.PrependReactor("create", "pods", func(a clienttesting.Action) (bool, runtime.Object, error) {
		pod := a.(clienttesting.CreateAction).GetObject().(*corev1.Pod)
		made++
		pod.Name = fmt.Sprintf("%s%d", pod.GenerateName, made)
		pod.UID = types.UID(pod.Name)
		return false, nil, nil
	})
	return client
}

// world is control at work.
type world struct {
	*testing.T
	client *clientfake.Clientset
	runs   *dynamicfake.FakeDynamicClient
	stop   func()
}

func newWorld(t *testing.T, runs ...runtime.Object) *world {
	w := &world{T: t, client: newClient(), runs: newDynamicClient(runs...)}
	w.start()
	return w
}

// start starts control. All happens by the clock of a bubble; pass lets it run.
func (w *world) start() {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- control(ctx, w.client, w.runs) }()
	w.stop = func() {
		cancel()
		if err := <-ended; err != nil {
			w.Errorf("control: %v", err)
		}
	}
	pass()
}

func pass() {
	time.Sleep(time.Minute)
	synctest.Wait()
}

// pods are the generated names of the pods there are.
func (w *world) pods() (names []string) {
	w.Helper()
	list, err := w.client.CoreV1().Pods("ns").List(context.Background(), metav1.ListOptions{})
	if err != nil {
		w.Fatal(err)
	}
	for _, pod := range list.Items {
		names = append(names, pod.GenerateName)
	}
	slices.Sort(names)
	return names
}

// end ends the pod of an index.
func (w *world) end(index string, phase corev1.PodPhase) {
	w.Helper()
	list, err := w.client.CoreV1().Pods("ns").List(context.Background(), metav1.ListOptions{})
	if err != nil {
		w.Fatal(err)
	}
	for _, pod := range list.Items {
		if pod.Labels[group+"/job-completion-index"] == index && pod.Status.Phase == "" {
			pod.Status.Phase = phase
			if _, err := w.client.CoreV1().Pods("ns").UpdateStatus(context.Background(), &pod, metav1.UpdateOptions{}); err != nil {
				w.Fatal(err)
			}
		}
	}
	pass()
}

// run is the TrainingRun as it is stored.
func (w *world) run(name string) *batchv1.Job {
	w.Helper()
	job, err := (store{runs: w.runs.Resource(gvr())}).FetchJob(context.Background(), "ns", name)
	if err != nil {
		w.Fatal(err)
	}
	return job
}

// warnings are the events that warn, as "name of the object: reason: message".
func (w *world) warnings() (warnings []string) {
	for _, a := range w.client.Actions() {
		if a, ok := a.(clienttesting.CreateAction); ok && a.GetResource().Resource == "events" {
			if e := a.GetObject().(*corev1.Event); e.Type == corev1.EventTypeWarning {
				warnings = append(warnings, fmt.Sprintf("%s %s: %s: %s", e.InvolvedObject.Kind, e.InvolvedObject.Name, e.Reason, e.Message))
			}
		}
	}
	return warnings
}

func TestTheChiefDecides(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, sample(t))
		defer w.stop()
		if diff := cmp.Diff([]string{"mnist-0-", "mnist-1-", "mnist-2-"}, w.pods()); diff != "" {
			t.Fatalf("pods (-want +got):\n%s", diff)
		}
		w.end("1", corev1.PodSucceeded)
		w.end("2", corev1.PodFailed)
		if diff := cmp.Diff([]string{"mnist-0-", "mnist-1-", "mnist-2-", "mnist-2-"}, w.pods()); diff != "" {
			t.Errorf("pods after a failure (-want +got):\n%s", diff)
		}
		if run := w.run("mnist"); jobcontrol.End(run) != nil || run.Status.Active != 2 || run.Status.CompletedIndexes != "1" || run.Status.Failed != 1 {
			t.Errorf("status before the chief's success: %+v", run.Status)
		}
		w.end("0", corev1.PodSucceeded)
		run := w.run("mnist")
		if end := jobcontrol.End(run); end == nil || end.Type != batchv1.JobComplete || end.Message != "The chief has succeeded" {
			t.Errorf("the run has ended by %+v", end)
		}
		if run.Status.CompletedIndexes != "0,1" {
			t.Errorf("completed indexes %q", run.Status.CompletedIndexes)
		}
		// The pod that had taken the place of the failed one is gone.
		if diff := cmp.Diff([]string{"mnist-0-", "mnist-1-", "mnist-2-"}, w.pods()); diff != "" {
			t.Errorf("pods after the end (-want +got):\n%s", diff)
		}
	})
}

func TestARunThatCannotBeReadDoesNotStopTheOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bad := sample(t)
		bad.SetName("bad")
		bad.SetUID("uid-2")
		set(t, bad, "soon", "spec", "template", "spec", "terminationGracePeriodSeconds")
		w := newWorld(t, sample(t), bad)
		defer w.stop()
		if diff := cmp.Diff([]string{"mnist-0-", "mnist-1-", "mnist-2-"}, w.pods()); diff != "" {
			t.Errorf("pods (-want +got):\n%s", diff)
		}
		got := w.warnings()
		if len(got) != 1 || !strings.HasPrefix(got[0], "TrainingRun bad: InvalidJob: ") || !strings.Contains(got[0], "terminationGracePeriodSeconds") {
			t.Errorf("warnings %q", got)
		}
	})
}

// TestARestartCountsNothingTwice: what happened meanwhile is counted, once.
func TestARestartCountsNothingTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, sample(t))
		w.end("1", corev1.PodFailed)
		w.stop()
		w.end("2", corev1.PodFailed)
		w.start()
		defer w.stop()
		if status := w.run("mnist").Status; status.Failed != 2 || status.Active != 3 {
			t.Errorf("status %+v, want 2 failed and 3 active", status)
		}
	})
}
