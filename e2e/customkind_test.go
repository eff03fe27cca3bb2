package e2e

import (
	"context"
	"strconv"
	"syscall"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
)

var trainingRuns = schema.GroupVersionResource{Group: "training.example.com", Version: "v1alpha1", Resource: "trainingruns"}

// A kind of one's own, run as Jobs: by examples/customkind and by
// examples/controllerruntime, one after the other, for each takes all there are.
func TestCustomKind(t *testing.T) {
	ctx := t.Context()
	everything := func(*unstructured.Unstructured) bool { return true }
	if err := apply(ctx, "../examples/customkind/crd.yaml", everything); err != nil {
		t.Fatal(err)
	}
	if err := apply(ctx, "../examples/customkind/rbac.yaml", everything); err != nil {
		t.Fatal(err)
	}
	awaitEstablished(t, "trainingruns.training.example.com")
	for example, args := range map[string][]string{
		"customkind":        nil,
		"controllerruntime": {"-metrics-bind-address", "0", "-health-probe-bind-address", "0"},
	} {
		start := func(w *world) *program {
			w.requests.anyForm = true // another kind, and another client
			return w.run(example, "default/trainingrun-controller", args...)
		}
		t.Run(example+": the chief decides", func(t *testing.T) {
			w := newSerialWorld(t)
			start(w)
			w.train(t, 3)
			w.awaitWorkers(3)
			w.endWorker(1, fails)
			w.await("worker 1 runs again", func() bool { return w.worker(1) != nil })
			w.endWorker(0, succeeds)
			run := w.awaitTrained(t)
			if run.Status.CompletedIndexes != "0" || run.Status.Failed != 1 {
				t.Errorf("status %+v, want index 0 completed and one failure", run.Status)
			}
			w.await("no worker is left that holds a finalizer", func() bool {
				for _, pod := range w.pods {
					if len(pod.Finalizers) > 0 {
						return false
					}
				}
				return true
			})
		})
		t.Run(example+": is restarted in the middle", func(t *testing.T) {
			w := newSerialWorld(t)
			p := start(w)
			w.train(t, 3)
			w.awaitWorkers(3)
			p.signal(syscall.SIGKILL)
			p.wait()
			w.endWorker(2, succeeds)
			w.endWorker(0, succeeds)
			start(w)
			if run := w.awaitTrained(t); run.Status.CompletedIndexes != "0,2" || run.Status.Succeeded != 2 {
				t.Errorf("status %+v, want indexes 0 and 2 completed", run.Status)
			}
		})
	}
}

// train stores a TrainingRun with this many workers.
func (w *world) train(t *testing.T, workers int64) {
	t.Helper()
	objs, err := readObjects("../examples/customkind/sample.yaml")
	if err != nil {
		t.Fatal(err)
	}
	run := objs[0]
	if err := unstructured.SetNestedField(run.Object, workers, "spec", "workers"); err != nil {
		t.Fatal(err)
	}
	if _, err := w.runs(t).Create(t.Context(), run, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

func (w *world) runs(t *testing.T) dynamic.ResourceInterface {
	t.Helper()
	client, err := dynamic.NewForConfig(admin)
	if err != nil {
		t.Fatal(err)
	}
	return client.Resource(trainingRuns).Namespace(w.namespace)
}

// trained is as much of a TrainingRun as the test looks at.
type trained struct {
	Status batchv1.JobStatus `json:"status"`
}

// awaitTrained returns the TrainingRun when it is complete.
func (w *world) awaitTrained(t *testing.T) (run trained) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	watch, err := w.runs(t).Watch(ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer watch.Stop()
	for event := range watch.ResultChan() {
		u, ok := event.Object.(*unstructured.Unstructured)
		if !ok {
			t.Fatalf("watch: %v", event.Object)
		}
		run = trained{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, &run); err != nil {
			t.Fatal(err)
		}
		if has(&batchv1.Job{Status: run.Status}, batchv1.JobComplete) {
			return run
		}
	}
	t.Fatalf("the run is not complete: %+v\n%s", run.Status, w.dump())
	return run
}

// worker is the running pod of an index, or nil.
func (w *world) worker(index int) *corev1.Pod {
	for _, pod := range w.pods {
		if runs(pod) && pod.Annotations["training.example.com/job-completion-index"] == strconv.Itoa(index) {
			return pod
		}
	}
	return nil
}

func (w *world) awaitWorkers(n int) {
	w.t.Helper()
	w.await("the workers run", func() bool {
		for index := range n {
			if w.worker(index) == nil {
				return false
			}
		}
		return true
	})
}

func (w *world) endWorker(index int, f fate) {
	w.t.Helper()
	w.mu.Lock()
	pod := w.worker(index)
	w.mu.Unlock()
	w.kubelet.end(pod, f)
	w.await("the end of a worker", func() bool { return w.pods[pod.Name] == nil || ended(w.pods[pod.Name]) })
}

// awaitEstablished returns when the API server serves the kind.
func awaitEstablished(t *testing.T, name string) {
	t.Helper()
	client, err := dynamic.NewForConfig(admin)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	crds := schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
	watch, err := client.Resource(crds).Watch(ctx, metav1.ListOptions{FieldSelector: "metadata.name=" + name})
	if err != nil {
		t.Fatal(err)
	}
	defer watch.Stop()
	for event := range watch.ResultChan() {
		u, ok := event.Object.(*unstructured.Unstructured)
		if !ok {
			t.Fatalf("watch: %v", event.Object)
		}
		conditions, _, _ := unstructured.NestedSlice(u.Object, "status", "conditions")
		for _, c := range conditions {
			if c, ok := c.(map[string]any); ok && c["type"] == "Established" && c["status"] == "True" {
				return
			}
		}
	}
	t.Fatalf("%s is not served", name)
}
