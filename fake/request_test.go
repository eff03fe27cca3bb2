package fake_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/jobwright/jobwright/fake"
)

func TestClusterHookRunsBeforeTheStateChanges(t *testing.T) {
	cluster, _ := newCluster()
	pod := createPod(t, cluster, newPod("a"))
	job := createJob(t, cluster, newJob("a"))
	want := names(cluster)
	denied := errors.New("denied")
	var asked []string
	cluster.OnRequest = func(verb fake.Verb, object runtime.Object) error {
		_, isJob := object.(*batchv1.Job)
		asked = append(asked, string(verb)+map[bool]string{true: " job ", false: " pod "}[isJob]+object.(metav1.Object).GetName())
		return denied
	}
	pod.Status.Phase = corev1.PodRunning
	_, createErr := cluster.Create(t.Context(), newPod("b"))
	_, statusErr := cluster.UpdatePodStatus(t.Context(), pod)
	_, updateErr := cluster.UpdateJob(t.Context(), job)
	_, fetchErr := cluster.FetchJob(t.Context(), "default", "a")
	for _, err := range []error{
		createErr, statusErr, updateErr, fetchErr,
		cluster.Patch(t.Context(), pod, []byte(`{"metadata":{"labels":{"a":"b"}}}`)),
		cluster.Delete(t.Context(), pod),
		cluster.RemovePod(t.Context(), pod),
		cluster.DeleteJob(t.Context(), "default", "a", ""),
	} {
		if !errors.Is(err, denied) {
			t.Errorf("error is %v, want that of the hook", err)
		}
	}
	equal(t, "asked", asked, []string{
		"create pod b", "update status pod a", "update job a", "fetch job a",
		"patch pod a", "delete pod a", "delete pod a", "delete job a",
	})
	equal(t, "stored", names(cluster), want)
	equal(t, "version", cluster.Pods("")[0].ResourceVersion, "1")
}

func TestClusterHookMayChangeTheObjectUnderTheCaller(t *testing.T) {
	cluster, _ := newCluster()
	job := createJob(t, cluster, newJob("a"))
	cluster.OnRequest = func(verb fake.Verb, object runtime.Object) error {
		if verb != fake.UpdateStatus {
			return nil
		}
		other := object.(*batchv1.Job)
		other.Labels = map[string]string{"by": "another"}
		_, err := cluster.UpdateJob(context.Background(), other)
		return err
	}
	if _, err := cluster.UpdateJobStatus(t.Context(), job); !apierrors.IsConflict(err) {
		t.Errorf("UpdateJobStatus gives error %v, want a conflict", err)
	}
	equal(t, "labels at the caller's", job.Labels, nil)
	equal(t, "labels stored", cluster.Jobs("")[0].Labels, map[string]string{"by": "another"})
}

func TestClusterEndedContextChangesNothing(t *testing.T) {
	cluster, _ := newCluster()
	job := createJob(t, cluster, newJob("a"))
	cluster.OnRequest = func(fake.Verb, runtime.Object) error { t.Error("the hook ran"); return nil }
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, createErr := cluster.CreateJob(ctx, newJob("b"))
	_, updateErr := cluster.UpdateJobStatus(ctx, job)
	_, fetchErr := cluster.FetchJob(ctx, "default", "a")
	for _, err := range []error{createErr, updateErr, fetchErr, cluster.DeleteJob(ctx, "default", "a", "")} {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("error is %v, want that of the context", err)
		}
	}
	equal(t, "stored", cluster.Jobs(""), []*batchv1.Job{job})
}

func TestClusterCopiesInAndOut(t *testing.T) {
	cluster, _ := newCluster()
	given := newJob("a")
	given.Labels = map[string]string{"kept": "yes"}
	want := createJob(t, cluster, given).DeepCopy()
	given.Labels["given"] = "changed"
	fetched, err := cluster.FetchJob(t.Context(), "default", "a")
	must(t, fetched, err).Labels["fetched"] = "changed"
	cluster.Jobs("")[0].Labels["listed"] = "changed"
	equal(t, "stored", cluster.Jobs(""), []*batchv1.Job{want})
}

func TestClusterListsByNamespaceAndName(t *testing.T) {
	cluster, _ := newCluster()
	for _, at := range []string{"b/b", "a/b", "b/a", "a/a"} {
		namespace, name, _ := strings.Cut(at, "/")
		createPod(t, cluster, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}})
	}
	list := func(namespace string) (all []string) {
		for _, pod := range cluster.Pods(namespace) {
			all = append(all, pod.Namespace+"/"+pod.Name)
		}
		return all
	}
	equal(t, "all", list(""), []string{"a/a", "a/b", "b/a", "b/b"})
	equal(t, "one namespace", list("b"), []string{"b/a", "b/b"})
}

func TestClusterLoadKeepsWhatIsGiven(t *testing.T) {
	cluster, _ := newCluster()
	pod := newPod("a")
	pod.UID, pod.Generation = "own", 4
	pod.CreationTimestamp = metav1.NewTime(noon().Add(-time.Hour))
	pod.Status.Phase = corev1.PodFailed
	if err := cluster.Load(pod, newJob("a")); err != nil {
		t.Fatal(err)
	}
	pod.ResourceVersion = "1"
	equal(t, "pods", cluster.Pods(""), []*corev1.Pod{pod})
	equal(t, "UID of the job, which had none", cluster.Jobs("")[0].UID, "uid-00001")
	if err := cluster.Load(pod); !apierrors.IsAlreadyExists(err) {
		t.Errorf("second Load gives error %v, want AlreadyExists", err)
	}
	if err := cluster.Load(&corev1.Node{}); err == nil {
		t.Error("Load of a Node gives no error")
	}
}

func TestClusterLoadedDeletingObjectGoesWhenReleased(t *testing.T) {
	cluster, _ := newCluster()
	pod := newPod("a")
	pod.Finalizers = []string{"example.com/hold"}
	pod.DeletionTimestamp = &metav1.Time{Time: noon()}
	if err := cluster.Load(pod); err != nil {
		t.Fatal(err)
	}
	pod.Finalizers = nil
	updated, err := cluster.UpdatePod(t.Context(), pod)
	must(t, updated, err)
	equal(t, "stored", names(cluster), nil)
}
