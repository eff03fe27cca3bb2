package fake_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobwright/jobwright/fake"
	"github.com/jobwright/jobwright/jobcontrol"
)

// start is code under test: it creates pods until one is refused.
func start(ctx context.Context, control jobcontrol.PodControl, n int) (started int, err error) {
	for started < n {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", GenerateName: "worker-"}}
		if _, err := control.Create(ctx, pod); err != nil {
			return started, err
		}
		started++
	}
	return started, nil
}

// The second create is refused. What was asked for and what became of it can be
// looked at afterwards.
func ExamplePodControl() {
	control := &fake.PodControl{}
	control.FailCall(2, errors.New("exceeded quota"))

	fmt.Println(start(context.Background(), control, 3))
	for _, call := range control.Calls() {
		fmt.Println("call:", call)
	}
	for _, pod := range control.Pods("default") {
		fmt.Println("pod:", pod.Name)
	}
	// Output:
	// 1 exceeded quota
	// call: create default/worker-*
	// call: create default/worker-*
	// pod: worker-00001
}

// The answer to a create is lost: the pod is there, and the caller was told of
// a timeout.
func ExamplePodControl_lostAnswer() {
	cluster := fake.NewCluster(fake.NewClock(time.Unix(0, 0)))
	control := &fake.PodControl{Next: cluster}
	control.OnCall = func(call fake.Call) error {
		if _, err := cluster.Create(context.Background(), call.Pod); err != nil {
			return err
		}
		return context.DeadlineExceeded
	}

	fmt.Println(start(context.Background(), control, 3))
	fmt.Println("pods:", len(cluster.Pods("default")))
	// Output:
	// 0 context deadline exceeded
	// pods: 1
}

// Time passes only when the test says so.
func ExampleQueue() {
	clock := fake.NewClock(time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC))
	queue := fake.NewQueue(clock)
	queue.AddAfter("default/late", time.Minute)
	queue.Add("default/now")

	for _, item := range queue.Items() {
		fmt.Println(item.Key, item.Due.Format(time.TimeOnly))
	}
	fmt.Println(queue.Take())
	fmt.Println(queue.Take())
	clock.Advance(time.Minute)
	fmt.Println(queue.Take())
	// Output:
	// default/now 12:00:00
	// default/late 12:01:00
	// default/now true
	//  false
	// default/late true
}

// A controller that has not seen its own pod yet does not create another one,
// however often it syncs.
func ExampleView() {
	ctx := context.Background()
	clock := fake.NewClock(time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC))
	cluster := fake.NewCluster(clock)
	view := cluster.View()
	controller, err := jobcontrol.New(view, view, cluster, fake.NewQueue(clock), jobcontrol.Config{
		Clock:      clock,
		Accounting: jobcontrol.Recount,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	view.Notify(controller)

	job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "render"}}
	job.Spec.Template.Spec.RestartPolicy = corev1.RestartPolicyNever
	if _, err := cluster.CreateJob(ctx, job); err != nil {
		fmt.Println(err)
		return
	}
	view.Deliver()
	for range 3 {
		_, err := controller.Sync(ctx, "default/render")
		view.DeliverIf(fake.ForJob) // What happens to pods comes late.
		fmt.Println("pods:", len(cluster.Pods("default")), "error:", err)
	}
	fmt.Println("not seen:", view.Pending())
	// Output:
	// pods: 1 error: <nil>
	// pods: 1 error: <nil>
	// pods: 1 error: <nil>
	// not seen: [ADDED Pod default/render-00001 at 2]
}
