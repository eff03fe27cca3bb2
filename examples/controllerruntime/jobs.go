package main

import (
	"context"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/jobwright/jobwright/examples/controllerruntime/api/v1alpha1"
	"github.com/jobwright/jobwright/jobcontrol"
)

// jobOf shows a TrainingRun to the library as an Indexed Job with a pod for each
// worker. They share memory, so that of a run in the cache the Job is read-only.
//
// What is wrong with a template that cannot be read stands in the place of its
// restart policy: the library refuses that, and quotes it in an event InvalidJob
// about the TrainingRun.
func jobOf(run *v1alpha1.TrainingRun) *batchv1.Job {
	job := &batchv1.Job{ObjectMeta: run.ObjectMeta, Status: run.Status, Spec: batchv1.JobSpec{
		CompletionMode: new(batchv1.IndexedCompletion),
		Completions:    &run.Spec.Workers,
		Parallelism:    &run.Spec.Workers,
		BackoffLimit:   run.Spec.MaxRestarts,
		Suspend:        run.Spec.Suspend,
		Template:       run.Spec.Template.PodTemplateSpec,
	}}
	if why := run.Spec.Template.Unreadable; why != "" {
		job.Spec.Template.Spec.RestartPolicy = corev1.RestartPolicy("unreadable: " + why)
	}
	return job
}

// chiefDecides is the success rule of the kind: index 0 is the chief.
func chiefDecides(_ *batchv1.Job, succeeded jobcontrol.Indexes) (message string, ok bool) {
	return "The chief has succeeded", succeeded.Has(0)
}

// jobStore is a jobcontrol.JobStore over TrainingRuns.
type jobStore struct {
	cached client.Reader // the manager's cache
	stored client.Reader // the API server
	status client.SubResourceWriter
}

func (s jobStore) Job(namespace, name string) (*batchv1.Job, error) {
	run := &v1alpha1.TrainingRun{}
	key := client.ObjectKey{Namespace: namespace, Name: name}
	if err := s.cached.Get(context.Background(), key, run, client.UnsafeDisableDeepCopy); err != nil {
		return nil, err
	}
	return jobOf(run), nil
}

func (s jobStore) Jobs(namespace string) ([]*batchv1.Job, error) {
	var runs v1alpha1.TrainingRunList
	if err := s.cached.List(context.Background(), &runs, client.InNamespace(namespace), client.UnsafeDisableDeepCopy); err != nil {
		return nil, err
	}
	jobs := make([]*batchv1.Job, len(runs.Items))
	for i := range runs.Items {
		jobs[i] = jobOf(&runs.Items[i])
	}
	return jobs, nil
}

func (s jobStore) FetchJob(ctx context.Context, namespace, name string) (*batchv1.Job, error) {
	run := &v1alpha1.TrainingRun{}
	if err := s.stored.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, run); err != nil {
		return nil, err
	}
	return jobOf(run), nil
}

// UpdateJobStatus sends the status and what says which version of which object it
// was decided from: of an update of the status subresource, the API server takes
// no more. So the spec, which may be one that could not be read, stays here.
func (s jobStore) UpdateJobStatus(ctx context.Context, job *batchv1.Job) (*batchv1.Job, error) {
	run := &v1alpha1.TrainingRun{
		ObjectMeta: metav1.ObjectMeta{Namespace: job.Namespace, Name: job.Name, UID: job.UID, ResourceVersion: job.ResourceVersion},
		Status:     job.Status,
	}
	if err := s.status.Update(ctx, run); err != nil {
		return nil, err
	}
	return jobOf(run), nil // the client has filled in the rest
}
