package main

import (
	"context"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/client-go/dynamic"

	"github.com/jobwright/jobwright/jobcontrol"
)

// The kind, as crd.yaml defines it.
const group, version, kind, resource = "training.example.com", "v1alpha1", "TrainingRun", "trainingruns"

// trainingRun is an object of the kind. Its template, which the schema leaves open, is read apart.
type trainingRun struct {
	Metadata metav1.ObjectMeta `json:"metadata"`
	Spec     struct {
		Workers     int32                `json:"workers"`
		MaxRestarts *int32               `json:"maxRestarts"`
		Suspend     *bool                `json:"suspend"`
		Template    runtime.RawExtension `json:"template"`
	} `json:"spec"`
	Status batchv1.JobStatus `json:"status"`
}

// jobOf shows a TrainingRun to the library as an Indexed Job with a pod for each worker.
// What is wrong with one that cannot be read stands in the place of its restart policy:
// the library refuses that, and quotes it in an event InvalidJob about the TrainingRun.
func jobOf(u *unstructured.Unstructured) *batchv1.Job {
	var run trainingRun
	err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, &run)
	run.Metadata.ManagedFields = nil // nobody here reads them, and they would fill the cache
	job := &batchv1.Job{ObjectMeta: run.Metadata, Status: run.Status, Spec: batchv1.JobSpec{
		CompletionMode: new(batchv1.IndexedCompletion),
		Completions:    &run.Spec.Workers,
		Parallelism:    &run.Spec.Workers,
		BackoffLimit:   run.Spec.MaxRestarts,
		Suspend:        run.Spec.Suspend,
	}}
	if err == nil {
		err = json.Unmarshal(run.Spec.Template.Raw, &job.Spec.Template)
	}
	if err != nil {
		job.Spec.Template.Spec.RestartPolicy = corev1.RestartPolicy("unreadable: " + err.Error())
	}
	return job
}

// toJob is the transform of the informer, whose cache thus holds Jobs. It gives no error,
// for that would stop the whole informer, and leaves alone what it has seen before.
func toJob(obj any) (any, error) {
	if u, ok := obj.(*unstructured.Unstructured); ok {
		return jobOf(u), nil
	}
	return obj, nil
}

// chiefDecides is the success rule of the kind: index 0 is the chief.
func chiefDecides(_ *batchv1.Job, succeeded jobcontrol.Indexes) (message string, ok bool) {
	return "The chief has succeeded", succeeded.Has(0)
}

// store is a jobcontrol.JobStore of the TrainingRuns and of the Jobs cached for them.
type store struct {
	jobcontrol.JobCache
	runs dynamic.NamespaceableResourceInterface
}

func (s store) FetchJob(ctx context.Context, namespace, name string) (*batchv1.Job, error) {
	u, err := s.runs.Namespace(namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	return jobOf(u), nil
}

// UpdateJobStatus sends the status and what says which version of which object it was
// decided from: of an update of the status subresource, the API server takes no more.
func (s store) UpdateJobStatus(ctx context.Context, job *batchv1.Job) (*batchv1.Job, error) {
	status, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&job.Status)
	if err != nil {
		return nil, err
	}
	u := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": group + "/" + version, "kind": kind,
		"metadata": map[string]any{"name": job.Name, "uid": string(job.UID), "resourceVersion": job.ResourceVersion},
		"status":   status,
	}}
	u, err = s.runs.Namespace(job.Namespace).UpdateStatus(ctx, u, metav1.UpdateOptions{})
	if err != nil {
		return nil, err
	}
	return jobOf(u), nil
}
