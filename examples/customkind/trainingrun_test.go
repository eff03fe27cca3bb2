package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/jobwright/jobwright/jobcontrol"
)

// readYAML reads the only object of a file beside this one.
func readYAML(t *testing.T, file string) *unstructured.Unstructured {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	u := &unstructured.Unstructured{}
	if err := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(text), 4096).Decode(u); err != nil {
		t.Fatal(err)
	}
	return u
}

// sample is sample.yaml as an API server would store it.
func sample(t *testing.T) *unstructured.Unstructured {
	t.Helper()
	u := readYAML(t, "sample.yaml")
	u.SetNamespace("ns")
	u.SetUID("uid-1")
	u.SetGeneration(3)
	u.SetResourceVersion("7")
	return u
}

func TestASampleIsAnIndexedJob(t *testing.T) {
	want := &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Name: "mnist", Namespace: "ns", UID: "uid-1", Generation: 3, ResourceVersion: "7"},
		Spec: batchv1.JobSpec{
			CompletionMode: new(batchv1.IndexedCompletion),
			Completions:    new(int32(3)),
			Parallelism:    new(int32(3)),
			BackoffLimit:   new(int32(2)),
			Suspend:        new(true),
			Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
				RestartPolicy: corev1.RestartPolicyNever,
				Containers:    []corev1.Container{{Name: "trainer", Image: "busybox:1.37"}},
			}},
		},
	}
	run := sample(t)
	set(t, run, true, "spec", "suspend")
	got := jobOf(run)
	if command := got.Spec.Template.Spec.Containers[0].Command; len(command) != 3 {
		t.Errorf("command %q", command)
	}
	got.Spec.Template.Spec.Containers[0].Command = nil
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Job (-want +got):\n%s", diff)
	}
	if err := jobcontrol.Validate(got); err != nil {
		t.Error(err)
	}
}

func TestTheCacheHoldsJobs(t *testing.T) {
	run := sample(t)
	run.SetManagedFields([]metav1.ManagedFieldsEntry{{Manager: "kubectl"}})
	first, err := toJob(run)
	if err != nil {
		t.Fatal(err)
	}
	job, ok := first.(*batchv1.Job)
	if !ok || job.ManagedFields != nil {
		t.Errorf("got %T with managed fields %v", first, job.ManagedFields)
	}
	if again, err := toJob(first); err != nil || again != first {
		t.Errorf("a Job that comes again is %v, error %v", again, err)
	}
}

// TestABadRunIsRefusedWithItsReason: nothing panics, and what can be known is.
func TestABadRunIsRefusedWithItsReason(t *testing.T) {
	tests := []struct {
		name  string
		path  []string
		value any
		want  string
	}{
		{"a number that is a word", []string{"spec", "template", "spec", "terminationGracePeriodSeconds"}, "soon", "terminationGracePeriodSeconds"},
		{"a quantity that is none", []string{"spec", "template", "spec", "overhead"}, map[string]any{"cpu": "much"}, "quantities must match"},
		{"a template that is a word", []string{"spec", "template"}, "soon", "cannot unmarshal string"},
		{"no template", []string{"spec", "template"}, nil, "unreadable"},
		{"workers that are a word", []string{"spec", "workers"}, "many", "unreadable"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			run := sample(t)
			set(t, run, "2026-01-02T03:04:05Z", "status", "startTime")
			if tt.value == nil {
				unstructured.RemoveNestedField(run.Object, tt.path...)
			} else {
				set(t, run, tt.value, tt.path...)
			}
			job := jobOf(run)
			if err := jobcontrol.Validate(job); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want %q in it", err, tt.want)
			}
			if job.UID != "uid-1" {
				t.Errorf("UID %q", job.UID)
			}
			if badTemplate := tt.path[1] == "template"; badTemplate && job.Status.StartTime == nil {
				t.Error("the status is lost")
			}
		})
	}
}

func set(t *testing.T, run *unstructured.Unstructured, value any, path ...string) {
	t.Helper()
	if err := unstructured.SetNestedField(run.Object, value, path...); err != nil {
		t.Fatal(err)
	}
}

// fullStatus has something in every field.
func fullStatus() batchv1.JobStatus {
	at := metav1.NewTime(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC).Local()) // as JSON is read
	return batchv1.JobStatus{
		Conditions: []batchv1.JobCondition{{
			Type: batchv1.JobSuccessCriteriaMet, Status: corev1.ConditionTrue,
			LastProbeTime: at, LastTransitionTime: at, Reason: "SuccessPolicy", Message: "The chief has succeeded",
		}},
		StartTime:        &at,
		CompletionTime:   &at,
		Active:           1,
		Succeeded:        2,
		Failed:           3,
		Terminating:      new(int32(4)),
		CompletedIndexes: "0,2-4",
		FailedIndexes:    new("1"),
		UncountedTerminatedPods: &batchv1.UncountedTerminatedPods{
			Succeeded: []types.UID{"a"}, Failed: []types.UID{"b", "c"},
		},
		Ready: new(int32(5)),
	}
}

// TestTheStatusComesBackWhole: it is what the library remembers by.
func TestTheStatusComesBackWhole(t *testing.T) {
	status := fullStatus()
	for i, v := 0, reflect.ValueOf(status); i < v.NumField(); i++ {
		if v.Field(i).IsZero() {
			t.Errorf("nothing in %s, which proves nothing about it", v.Type().Field(i).Name)
		}
	}
	runs := newDynamicClient(sample(t))
	s := store{runs: runs.Resource(gvr())}
	job := jobOf(sample(t))
	job.Status = status
	written, err := s.UpdateJobStatus(context.Background(), job)
	if err != nil {
		t.Fatal(err)
	}
	fetched, err := s.FetchJob(context.Background(), "ns", "mnist")
	if err != nil {
		t.Fatal(err)
	}
	for name, got := range map[string]*batchv1.Job{"written": written, "fetched": fetched} {
		if diff := cmp.Diff(job, got); diff != "" {
			t.Errorf("the Job as %s (-want +got):\n%s", name, diff)
		}
	}
}

// TestTheSchemaKeepsTheStatus: an API server drops what the schema does not name.
func TestTheSchemaKeepsTheStatus(t *testing.T) {
	crd := readYAML(t, "crd.yaml")
	versions, _, err := unstructured.NestedSlice(crd.Object, "spec", "versions")
	if err != nil || len(versions) != 1 {
		t.Fatalf("%d versions, error %v", len(versions), err)
	}
	schema, _, err := unstructured.NestedMap(versions[0].(map[string]any), "schema", "openAPIV3Schema", "properties", "status")
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(fullStatus())
	if err != nil {
		t.Fatal(err)
	}
	var status any
	if err := json.Unmarshal(text, &status); err != nil {
		t.Fatal(err)
	}
	if dropped := undeclared("status", status, schema); len(dropped) > 0 {
		t.Errorf("crd.yaml does not know %q", dropped)
	}
}

// undeclared lists the fields of a value that a schema does not name.
func undeclared(path string, value any, schema map[string]any) (paths []string) {
	switch value := value.(type) {
	case map[string]any:
		properties, _ := schema["properties"].(map[string]any)
		for name, field := range value {
			sub, ok := properties[name].(map[string]any)
			if !ok {
				paths = append(paths, path+"."+name)
				continue
			}
			paths = append(paths, undeclared(path+"."+name, field, sub)...)
		}
	case []any:
		items, _ := schema["items"].(map[string]any)
		for _, item := range value {
			paths = append(paths, undeclared(path+"[]", item, items)...)
		}
	}
	slices.Sort(paths)
	return paths
}
