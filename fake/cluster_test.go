package fake_test

import (
	"context"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobwright/jobwright/fake"
)

func TestClusterCreateFillsIn(t *testing.T) {
	cluster, clock := newCluster()
	clock.Advance(time.Second / 2)
	given := newJob("")
	given.GenerateName = "j-"
	given.UID, given.Generation = "own", 7
	given.Status.Succeeded = 3
	job := createJob(t, cluster, given)
	want := newJob("j-00001")
	want.GenerateName = "j-"
	want.UID, want.ResourceVersion, want.Generation = "uid-00001", "1", 1
	want.CreationTimestamp = metav1.NewTime(noon())
	equal(t, "job", job, want)

	pod := newPod("p")
	pod.Status.Phase = corev1.PodRunning
	pod = createPod(t, cluster, pod)
	equal(t, "pod's status", pod.Status, corev1.PodStatus{Phase: corev1.PodPending})
	equal(t, "pod's version", pod.ResourceVersion, "2")
}

func TestB89_ClusterTakesTimesFromItsClock(t *testing.T) {
	cluster, clock := newCluster()
	clock.Advance(time.Hour)
	equal(t, "created", createJob(t, cluster, newJob("a")).CreationTimestamp.Time, noon().Add(time.Hour))
}

func TestClusterGeneratedNames(t *testing.T) {
	cluster, _ := newCluster()
	createPod(t, cluster, newPod("p-00001"))
	pod := newPod("")
	pod.GenerateName = "p-"
	equal(t, "name, where the first is taken", createPod(t, cluster, pod).Name, "p-00002")
	pod.GenerateName = strings.Repeat("long", 20)
	equal(t, "length of a long name", len(createPod(t, cluster, pod).Name), 63)
}

func TestClusterRefusesToCreate(t *testing.T) {
	for name, c := range map[string]struct {
		pod  *corev1.Pod
		want func(error) bool
	}{
		"a taken name":              {newPod("taken"), apierrors.IsAlreadyExists},
		"no name":                   {newPod(""), apierrors.IsInvalid},
		"a name that is none":       {newPod("Not/A/Name"), apierrors.IsInvalid},
		"no namespace":              {&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "a"}}, apierrors.IsInvalid},
		"a resource version":        {&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "a", ResourceVersion: "1"}}, apierrors.IsBadRequest},
		"a terminating namespace":   {&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ending", Name: "a"}}, apierrors.IsForbidden},
		"two controller references": {twoControllers(), apierrors.IsInvalid},
	} {
		t.Run(name, func(t *testing.T) {
			cluster, _ := newCluster()
			createPod(t, cluster, newPod("taken"))
			cluster.TerminateNamespace("ending")
			_, err := cluster.Create(t.Context(), c.pod)
			if !c.want(err) {
				t.Errorf("error is %v", err)
			}
			equal(t, "stored", names(cluster), []string{"pod taken"})
		})
	}
}

func twoControllers() *corev1.Pod {
	pod := podOf(newJob("a"), "p")
	pod.OwnerReferences = append(pod.OwnerReferences, podOf(newJob("b"), "p").OwnerReferences...)
	pod.OwnerReferences[0].UID, pod.OwnerReferences[1].UID = "a", "b"
	return pod
}

func TestClusterTerminatingNamespaceIsTheCause(t *testing.T) {
	cluster, _ := newCluster()
	cluster.TerminateNamespace("default")
	_, err := cluster.Create(t.Context(), newPod("a"))
	if !apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) {
		t.Errorf("error %v lacks the cause %s", err, corev1.NamespaceTerminatingCause)
	}
}

func TestClusterErrorsNameTheResource(t *testing.T) {
	cluster, _ := newCluster()
	_, err := cluster.FetchJob(t.Context(), "default", "a")
	equal(t, "of a Job", err.Error(), `jobs.batch "a" not found`)
	_, err = cluster.FetchPod(t.Context(), "default", "a")
	equal(t, "of a Pod", err.Error(), `pods "a" not found`)
}

func TestClusterNotFound(t *testing.T) {
	cluster, _ := newCluster()
	for name, request := range map[string]func() error{
		"FetchJob":        func() error { _, err := cluster.FetchJob(t.Context(), "default", "a"); return err },
		"FetchPod":        func() error { _, err := cluster.FetchPod(t.Context(), "default", "a"); return err },
		"UpdateJob":       func() error { _, err := cluster.UpdateJob(t.Context(), newJob("a")); return err },
		"UpdateJobStatus": func() error { _, err := cluster.UpdateJobStatus(t.Context(), newJob("a")); return err },
		"UpdatePod":       func() error { _, err := cluster.UpdatePod(t.Context(), newPod("a")); return err },
		"UpdatePodStatus": func() error { _, err := cluster.UpdatePodStatus(t.Context(), newPod("a")); return err },
		"DeleteJob":       func() error { return cluster.DeleteJob(t.Context(), "default", "a", "") },
		"Patch":           func() error { return cluster.Patch(t.Context(), newPod("a"), []byte(`{}`)) },
	} {
		if err := request(); !apierrors.IsNotFound(err) {
			t.Errorf("%s gives error %v, want NotFound", name, err)
		}
	}
}

func TestClusterUpdate(t *testing.T) {
	parallelism := int32(3)
	for _, c := range []struct {
		name       string
		update     func(*fake.Cluster, context.Context, *batchv1.Job) (*batchv1.Job, error)
		generation int64
		labels     map[string]string
		spec       batchv1.JobSpec
		status     batchv1.JobStatus
	}{
		{"of spec and metadata", (*fake.Cluster).UpdateJob, 2, map[string]string{"a": "b"}, batchv1.JobSpec{Parallelism: &parallelism}, batchv1.JobStatus{}},
		{"of the status", (*fake.Cluster).UpdateJobStatus, 1, nil, batchv1.JobSpec{}, batchv1.JobStatus{Active: 2}},
	} {
		t.Run(c.name, func(t *testing.T) {
			cluster, _ := newCluster()
			job := createJob(t, cluster, newJob("a"))
			job.Labels = map[string]string{"a": "b"}
			job.Spec.Parallelism = &parallelism
			job.Status.Active = 2
			got, err := c.update(cluster, t.Context(), job)
			must(t, got, err)
			equal(t, "labels", got.Labels, c.labels)
			equal(t, "spec", got.Spec, c.spec)
			equal(t, "status", got.Status, c.status)
			equal(t, "generation", got.Generation, c.generation)
			equal(t, "version", got.ResourceVersion, "2")
			equal(t, "stored", cluster.Jobs("default"), []*batchv1.Job{got})
		})
	}
}

func TestClusterUpdateOfMetadataKeepsTheGeneration(t *testing.T) {
	cluster, _ := newCluster()
	pod := createPod(t, cluster, newPod("a"))
	pod.Labels = map[string]string{"a": "b"}
	got, err := cluster.UpdatePod(t.Context(), pod)
	equal(t, "generation", must(t, got, err).Generation, 1)
}

func TestClusterUpdateThatChangesNothingIsNoCommit(t *testing.T) {
	cluster, _ := newCluster()
	pod := createPod(t, cluster, newPod("a"))
	got, err := cluster.UpdatePodStatus(t.Context(), pod)
	equal(t, "pod", must(t, got, err), pod)
	if err := cluster.Patch(t.Context(), pod, []byte(`{"metadata":{"uid":"uid-00001"}}`)); err != nil {
		t.Fatal(err)
	}
	equal(t, "stored", cluster.Pods(""), []*corev1.Pod{pod})
}

func TestClusterStoresWholeSeconds(t *testing.T) {
	cluster, _ := newCluster()
	job := createJob(t, cluster, newJob("a"))
	job.Status.StartTime = &metav1.Time{Time: noon().Add(time.Second / 3)}
	got, err := cluster.UpdateJobStatus(t.Context(), job)
	equal(t, "start time", must(t, got, err).Status.StartTime, &metav1.Time{Time: noon()})
}

func TestClusterConflicts(t *testing.T) {
	for name, change := range map[string]func(*batchv1.Job){
		"another UID":            func(job *batchv1.Job) { job.UID = "another" },
		"stale resource version": func(job *batchv1.Job) { job.ResourceVersion = "1" },
	} {
		t.Run(name, func(t *testing.T) {
			cluster, _ := newCluster()
			job := createJob(t, cluster, newJob("a"))
			job.Status.Active = 1
			job, err := cluster.UpdateJobStatus(t.Context(), job)
			want := must(t, job, err).DeepCopy()
			change(job)
			job.Status.Active = 2
			if _, err := cluster.UpdateJobStatus(t.Context(), job); !apierrors.IsConflict(err) {
				t.Errorf("UpdateJobStatus gives error %v, want a conflict", err)
			}
			if _, err := cluster.UpdateJob(t.Context(), job); !apierrors.IsConflict(err) {
				t.Errorf("UpdateJob gives error %v, want a conflict", err)
			}
			equal(t, "stored", cluster.Jobs(""), []*batchv1.Job{want})
		})
	}
}
