package fake_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobwright/jobwright/fake"
)

func noon() time.Time { return time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC) }

// realClock is a clock that runs by itself: in a synctest bubble, by its time.
type realClock struct{}

func (realClock) Now() time.Time { return time.Now() }

func newCluster() (*fake.Cluster, *fake.Clock) {
	clock := fake.NewClock(noon())
	return fake.NewCluster(clock), clock
}

func newJob(name string) *batchv1.Job {
	return &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}
}

func newPod(name string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}
}

// podOf is a pod on a node, controlled by the Job and blocking its deletion.
func podOf(job *batchv1.Job, name string) *corev1.Pod {
	pod := newPod(name)
	pod.Spec.NodeName = "node"
	pod.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(job, batchv1.SchemeGroupVersion.WithKind("Job"))}
	return pod
}

func must[T any](t *testing.T, value T, err error) T {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	return value
}

func createJob(t *testing.T, c *fake.Cluster, job *batchv1.Job) *batchv1.Job {
	t.Helper()
	created, err := c.CreateJob(t.Context(), job)
	return must(t, created, err)
}

func createPod(t *testing.T, c *fake.Cluster, pod *corev1.Pod) *corev1.Pod {
	t.Helper()
	created, err := c.Create(t.Context(), pod)
	return must(t, created, err)
}

func equal[T any](t *testing.T, what string, got, want T) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// names is what is stored, each object with a mark when it is deleting.
func names(c *fake.Cluster) []string {
	var all []string
	for _, job := range c.Jobs("") {
		all = append(all, "job "+job.Name+mark(job))
	}
	for _, pod := range c.Pods("") {
		all = append(all, "pod "+pod.Name+mark(pod))
	}
	return all
}

func mark(o metav1.Object) string {
	if o.GetDeletionTimestamp() != nil {
		return " deleting"
	}
	return ""
}

// log is a Handler that writes down what it is told.
type log []string

func (l *log) JobAdded(job *batchv1.Job)        { l.add("JobAdded", nil, job) }
func (l *log) JobUpdated(old, cur *batchv1.Job) { l.add("JobUpdated", old, cur) }
func (l *log) JobDeleted(job *batchv1.Job)      { l.add("JobDeleted", nil, job) }
func (l *log) PodAdded(pod *corev1.Pod)         { l.add("PodAdded", nil, pod) }
func (l *log) PodUpdated(old, cur *corev1.Pod)  { l.add("PodUpdated", old, cur) }
func (l *log) PodDeleted(pod *corev1.Pod)       { l.add("PodDeleted", nil, pod) }

func (l *log) add(what string, old, cur metav1.Object) {
	line := fmt.Sprintf("%s %s %s", what, cur.GetName(), cur.GetUID())
	if old != nil && old.GetUID() != cur.GetUID() {
		line = fmt.Sprintf("%s %s %s to %s", what, cur.GetName(), old.GetUID(), cur.GetUID())
	}
	*l = append(*l, line)
}

// since returns the lines added since it was last called.
func (l *log) since() []string {
	lines := *l
	*l = nil
	return lines
}
