package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/yaml"
	clientscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/jobwright/jobwright/examples/controllerruntime/api/v1alpha1"
	"github.com/jobwright/jobwright/jobcontrol"
)

func newClient(t *testing.T, objs ...client.Object) client.Client {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := clientscheme.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	return fake.NewClientBuilder().WithScheme(scheme).WithObjects(objs...).
		WithStatusSubresource(&v1alpha1.TrainingRun{}).
		WithIndex(&corev1.Pod{}, ownerField, ownerValues).Build()
}

// sample is the run of ../customkind/sample.yaml.
func sample(t *testing.T) *v1alpha1.TrainingRun {
	t.Helper()
	text, err := os.ReadFile("../customkind/sample.yaml")
	if err != nil {
		t.Fatal(err)
	}
	run := &v1alpha1.TrainingRun{}
	if err := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(text), 4096).Decode(run); err != nil {
		t.Fatal(err)
	}
	run.Namespace, run.UID, run.Generation = "ns", "uid-1", 3
	return run
}

func TestASampleIsAnIndexedJob(t *testing.T) {
	run := sample(t)
	run.Spec.Suspend = new(true)
	want := &batchv1.Job{
		ObjectMeta: run.ObjectMeta,
		Spec: batchv1.JobSpec{
			CompletionMode: new(batchv1.IndexedCompletion),
			Completions:    new(int32(3)),
			Parallelism:    new(int32(3)),
			BackoffLimit:   new(int32(2)),
			Suspend:        new(true),
			Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
				RestartPolicy: corev1.RestartPolicyNever,
				Containers:    []corev1.Container{{Name: "trainer", Image: "busybox:1.37", Command: run.Spec.Template.Spec.Containers[0].Command}},
			}},
		},
	}
	if diff := cmp.Diff(want, jobOf(run)); diff != "" {
		t.Errorf("Job (-want +got):\n%s", diff)
	}
	if err := jobcontrol.Validate(want); err != nil {
		t.Error(err)
	}
}

// TestABadTemplateSpoilsNoList: the good run beside it is read, and the bad one is
// refused with what is wrong.
func TestABadTemplateSpoilsNoList(t *testing.T) {
	const text = `{"items": [
		{"metadata": {"name": "bad", "uid": "u"}, "spec": {"workers": 1, "template": {"spec": {"terminationGracePeriodSeconds": "soon"}}}, "status": {"failed": 1}},
		{"metadata": {"name": "good", "uid": "v"}, "spec": {"workers": 2, "template": {"spec": {"restartPolicy": "Never"}}}}]}`
	var runs v1alpha1.TrainingRunList
	if err := json.Unmarshal([]byte(text), &runs); err != nil {
		t.Fatal(err)
	}
	copied := runs.DeepCopyObject().(*v1alpha1.TrainingRunList)
	bad, good := jobOf(&copied.Items[0]), jobOf(&copied.Items[1])
	if err := jobcontrol.Validate(bad); err == nil || !strings.Contains(err.Error(), "terminationGracePeriodSeconds") {
		t.Errorf("error about the bad run: %v", err)
	}
	if bad.Status.Failed != 1 {
		t.Error("the status of the bad run is lost")
	}
	if err := jobcontrol.Validate(good); err != nil || *good.Spec.Completions != 2 {
		t.Errorf("the good run has %d completions, error %v", *good.Spec.Completions, err)
	}
}

func TestACopySharesNothing(t *testing.T) {
	run := sample(t)
	run.Spec.Suspend = new(false)
	run.Status = fullStatus()
	before, err := json.Marshal(run)
	if err != nil {
		t.Fatal(err)
	}
	out := run.DeepCopyObject().(*v1alpha1.TrainingRun)
	if diff := cmp.Diff(run, out); diff != "" {
		t.Errorf("copy (-want +got):\n%s", diff)
	}
	*out.Spec.MaxRestarts, *out.Spec.Suspend = 9, true
	out.Spec.Template.Spec.Containers[0].Name = "changed"
	*out.Status.Ready = 9
	out.Status.Conditions[0].Reason = "Changed"
	if after, err := json.Marshal(run); err != nil || string(after) != string(before) {
		t.Errorf("a change of the copy changed the run: %s, error %v", after, err)
	}
}

func fullStatus() batchv1.JobStatus {
	at := metav1.NewTime(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC).Local()) // as JSON is read
	return batchv1.JobStatus{
		Conditions:              []batchv1.JobCondition{{Type: batchv1.JobComplete, Status: corev1.ConditionTrue, LastTransitionTime: at, Reason: "SuccessPolicy"}},
		StartTime:               &at,
		Active:                  1,
		Succeeded:               2,
		Failed:                  3,
		CompletedIndexes:        "0,2-4",
		UncountedTerminatedPods: &batchv1.UncountedTerminatedPods{Succeeded: []types.UID{"a"}, Failed: []types.UID{"b"}},
		Ready:                   new(int32(5)),
	}
}

func TestTheStatusIsWrittenAndNothingElse(t *testing.T) {
	ctx := context.Background()
	c := newClient(t, sample(t))
	store := jobStore{cached: c, stored: c, status: c.Status()}
	cached, err := store.Job("ns", "mnist")
	if err != nil {
		t.Fatal(err)
	}
	update := *cached
	update.Status = fullStatus()
	written, err := store.UpdateJobStatus(ctx, &update)
	if err != nil {
		t.Fatal(err)
	}
	fetched, err := store.FetchJob(ctx, "ns", "mnist")
	if err != nil {
		t.Fatal(err)
	}
	want := update
	want.ResourceVersion = fetched.ResourceVersion
	if fetched.ResourceVersion == cached.ResourceVersion {
		t.Error("nothing was written")
	}
	for name, got := range map[string]*batchv1.Job{"written": written, "fetched": fetched} {
		if diff := cmp.Diff(&want, got); diff != "" {
			t.Errorf("the Job as %s (-want +got):\n%s", name, diff)
		}
	}
	if _, err := store.UpdateJobStatus(ctx, cached); !apierrors.IsConflict(err) {
		t.Errorf("a status decided from an older run: %v, want a conflict", err)
	}
	if _, err := store.Job("ns", "other"); !apierrors.IsNotFound(err) {
		t.Errorf("a run that is not there: %v", err)
	}
	if jobs, err := store.Jobs("other"); err != nil || len(jobs) != 0 {
		t.Errorf("Jobs of another namespace %v, error %v", jobs, err)
	}
	if jobs, err := store.Jobs("ns"); err != nil || len(jobs) != 1 || jobs[0].Name != "mnist" {
		t.Errorf("Jobs %v, error %v", jobs, err)
	}
}

func TestPodsAreFoundByTheirController(t *testing.T) {
	pod := func(namespace, name string, owner types.UID) *corev1.Pod {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
		if owner != "" {
			run := sample(t)
			run.UID = owner
			pod.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(run, v1alpha1.GroupVersion().WithKind("TrainingRun"))}
		}
		return pod
	}
	store := podStore{newClient(t, pod("ns", "a", "u"), pod("ns", "b", "u"), pod("ns", "c", "v"), pod("other", "d", "u"), pod("ns", "e", ""), pod("other", "f", ""))}
	names := func(pods []*corev1.Pod, err error) (names []string) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		for _, pod := range pods {
			names = append(names, pod.Name)
		}
		slices.Sort(names)
		return names
	}
	if diff := cmp.Diff([]string{"a", "b"}, names(store.PodsOf("ns", "u"))); diff != "" {
		t.Errorf("pods of u (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"e"}, names(store.OrphanPods("ns"))); diff != "" {
		t.Errorf("pods without owner (-want +got):\n%s", diff)
	}
}
