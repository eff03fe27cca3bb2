package jobcontrol_test

import (
	"context"
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobwright/jobwright/fake"
	"github.com/jobwright/jobwright/jobcontrol"
)

var exampleTime = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// exampleJob runs three pods, two at a time.
func exampleJob() *batchv1.Job {
	return &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "render", UID: "a1"},
		Spec: batchv1.JobSpec{
			Parallelism: new(int32(2)),
			Completions: new(int32(3)),
			Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
				RestartPolicy: corev1.RestartPolicyNever,
				Containers:    []corev1.Container{{Name: "main", Image: "renderer"}},
			}},
		},
	}
}

// What would happen to a Job: one pod has succeeded, one has failed.
func ExamplePlan() {
	decision, err := jobcontrol.Plan(jobcontrol.Snapshot{
		Job: exampleJob(),
		Pods: []*corev1.Pod{
			ended("render-1", corev1.PodSucceeded, exampleTime.Add(-time.Minute)),
			ended("render-2", corev1.PodFailed, exampleTime),
		},
		Now:       exampleTime,
		Satisfied: true,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	outcome := decision.Settle(jobcontrol.AllDone(decision))
	fmt.Println("active", outcome.Status.Active, "succeeded", outcome.Status.Succeeded, "failed", outcome.Status.Failed)
	fmt.Println("pods to create:", len(decision.Create))
	fmt.Println("next:", outcome.Wake.After, outcome.Wake.Reason)
	// Output:
	// active 0 succeeded 1 failed 1
	// pods to create: 0
	// next: 10s the back-off after a failure ends
}

// ended is a pod that has ended and is not counted yet.
func ended(name string, phase corev1.PodPhase, at time.Time) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, UID: types.UID(name), CreationTimestamp: metav1.NewTime(at),
			Finalizers: []string{batchv1.JobTrackingFinalizer},
		},
		Status: corev1.PodStatus{Phase: phase},
	}
}

// A Controller on the in-memory cluster of package fake. On a real one, package
// kube does this wiring.
func ExampleController() {
	ctx := context.Background()
	clock := fake.NewClock(exampleTime)
	cluster := fake.NewCluster(clock)
	view, queue := cluster.View(), fake.NewQueue(clock)

	controller, err := jobcontrol.New(view, view, cluster, queue, jobcontrol.Config{Clock: clock})
	if err != nil {
		fmt.Println(err)
		return
	}
	view.Notify(controller) // hangs the event methods on the informers

	if _, err := cluster.CreateJob(ctx, exampleJob()); err != nil {
		fmt.Println(err)
		return
	}
	view.Deliver()
	if _, err := controller.Sync(ctx, "default/render"); err != nil {
		fmt.Println(err)
		return
	}
	for _, pod := range cluster.Pods("default") {
		fmt.Println(pod.GenerateName+"*", "owned by", pod.OwnerReferences[0].Kind, pod.OwnerReferences[0].Name)
	}
	// Output:
	// render-* owned by Job render
	// render-* owned by Job render
}

// A spec that cannot be honoured is refused by the name of the field.
func ExampleValidate() {
	job := exampleJob()
	job.Spec.Parallelism = new(int32(-2))
	fmt.Println(jobcontrol.Validate(job))
	// Output:
	// invalid: Job default/render: spec.parallelism: Invalid value: -2: must not be negative
}
