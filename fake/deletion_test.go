package fake_test

import (
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobwright/jobwright/fake"
)

func TestClusterDeleteIsGraceful(t *testing.T) {
	seconds := func(n int64) *int64 { return &n }
	for _, c := range []struct {
		name  string
		node  string
		phase corev1.PodPhase
		grace *int64
		want  int64 // grace given, -1: gone
	}{
		{"unscheduled goes at once", "", corev1.PodPending, seconds(60), -1},
		{"on a node stays for its grace", "n", corev1.PodRunning, seconds(60), 60},
		{"B101: pending on a node stays too", "n", corev1.PodPending, seconds(60), 60},
		{"without a period it is 30 s", "n", corev1.PodRunning, nil, 30},
		{"a period of 0 goes at once", "n", corev1.PodRunning, seconds(0), -1},
		{"a negative period is the shortest", "n", corev1.PodRunning, seconds(-5), 1},
		{"succeeded goes at once", "n", corev1.PodSucceeded, seconds(60), -1},
		{"failed goes at once", "n", corev1.PodFailed, seconds(60), -1},
	} {
		t.Run(c.name, func(t *testing.T) {
			cluster, clock := newCluster()
			pod := newPod("a")
			pod.UID, pod.Spec.NodeName, pod.Spec.TerminationGracePeriodSeconds = "own", c.node, c.grace
			pod.Status.Phase = c.phase
			if err := cluster.Load(pod); err != nil {
				t.Fatal(err)
			}
			want := cluster.Pods("")
			for range 2 { // The second deletion changes nothing.
				if err := cluster.Delete(t.Context(), pod); err != nil {
					t.Fatal(err)
				}
				clock.Advance(time.Second)
			}
			if c.want < 0 {
				equal(t, "stored", names(cluster), nil)
				return
			}
			want[0].DeletionTimestamp = &metav1.Time{Time: noon().Add(time.Duration(c.want) * time.Second)}
			want[0].DeletionGracePeriodSeconds = &c.want
			want[0].Generation, want[0].ResourceVersion = 2, "2"
			equal(t, "stored", cluster.Pods(""), want)
			if err := cluster.RemovePod(t.Context(), pod); err != nil {
				t.Fatal(err)
			}
			equal(t, "stored once removed", names(cluster), nil)
		})
	}
}

func TestClusterFinalizerHoldsAPod(t *testing.T) {
	cluster, _ := newCluster()
	pod := newPod("a")
	pod.Finalizers = []string{"example.com/hold"}
	pod.Spec.NodeName = "n"
	pod = createPod(t, cluster, pod)
	release := []byte(`{"metadata":{"$deleteFromPrimitiveList/finalizers":["example.com/hold"]}}`)
	for _, step := range []struct {
		name string
		do   func() error
		want []string
	}{
		{"deleted", func() error { return cluster.Delete(t.Context(), pod) }, []string{"pod a deleting"}},
		{"stopped", func() error { return cluster.RemovePod(t.Context(), pod) }, []string{"pod a deleting"}},
		{"stopped again", func() error { return cluster.RemovePod(t.Context(), pod) }, []string{"pod a deleting"}},
		{"released", func() error { return cluster.Patch(t.Context(), pod, release) }, nil},
	} {
		if err := step.do(); err != nil {
			t.Fatalf("%s: %v", step.name, err)
		}
		equal(t, step.name, names(cluster), step.want)
	}
}

func TestClusterReleasedPodStaysForItsGrace(t *testing.T) {
	cluster, _ := newCluster()
	pod := newPod("a")
	pod.Finalizers = []string{"example.com/hold"}
	pod.Spec.NodeName = "n"
	pod = createPod(t, cluster, pod)
	if err := cluster.Delete(t.Context(), pod); err != nil {
		t.Fatal(err)
	}
	release := []byte(`{"metadata":{"$deleteFromPrimitiveList/finalizers":["example.com/hold"]}}`)
	if err := cluster.Patch(t.Context(), pod, release); err != nil {
		t.Fatal(err)
	}
	equal(t, "stored", names(cluster), []string{"pod a deleting"})
}

func TestClusterDeletingPodGetsNoNewFinalizer(t *testing.T) {
	cluster, _ := newCluster()
	pod := newPod("a")
	pod.Spec.NodeName = "n"
	pod = createPod(t, cluster, pod)
	if err := cluster.Delete(t.Context(), pod); err != nil {
		t.Fatal(err)
	}
	err := cluster.Patch(t.Context(), pod, []byte(`{"metadata":{"finalizers":["example.com/late"]}}`))
	if !apierrors.IsInvalid(err) {
		t.Errorf("error is %v, want Invalid", err)
	}
}

// family is a Job with two pods on a node, one of which does not block its
// deletion, and one pod of its own.
func family(t *testing.T) (*fake.Cluster, *batchv1.Job) {
	t.Helper()
	cluster, _ := newCluster()
	job := createJob(t, cluster, newJob("j"))
	createPod(t, cluster, podOf(job, "blocks"))
	lets := podOf(job, "lets")
	lets.OwnerReferences[0].BlockOwnerDeletion = nil
	createPod(t, cluster, lets)
	createPod(t, cluster, newPod("other"))
	return cluster, job
}

func TestClusterDeleteJobPropagation(t *testing.T) {
	for _, c := range []struct {
		propagation metav1.DeletionPropagation
		then        []string // once deleted
		removed     []string // once the pod that blocks is removed
	}{
		{"", []string{"pod blocks deleting", "pod lets deleting", "pod other"}, []string{"pod lets deleting", "pod other"}},
		{metav1.DeletePropagationBackground, []string{"pod blocks deleting", "pod lets deleting", "pod other"}, []string{"pod lets deleting", "pod other"}},
		{metav1.DeletePropagationForeground, []string{"job j deleting", "pod blocks deleting", "pod lets deleting", "pod other"}, []string{"pod lets deleting", "pod other"}},
		{metav1.DeletePropagationOrphan, []string{"pod blocks", "pod lets", "pod other"}, []string{"pod lets", "pod other"}},
	} {
		t.Run(string(c.propagation), func(t *testing.T) {
			cluster, _ := family(t)
			if err := cluster.DeleteJob(t.Context(), "default", "j", c.propagation); err != nil {
				t.Fatal(err)
			}
			equal(t, "stored", names(cluster), c.then)
			if err := cluster.RemovePod(t.Context(), newPod("blocks")); err != nil {
				t.Fatal(err)
			}
			equal(t, "stored once the pod is removed", names(cluster), c.removed)
		})
	}
}

func TestClusterOrphansLoseTheirOwner(t *testing.T) {
	cluster, _ := family(t)
	if err := cluster.DeleteJob(t.Context(), "default", "j", metav1.DeletePropagationOrphan); err != nil {
		t.Fatal(err)
	}
	for _, pod := range cluster.Pods("") {
		equal(t, "owners of "+pod.Name, len(pod.OwnerReferences), 0)
	}
}

func TestClusterForegroundDeletionWithoutPods(t *testing.T) {
	cluster, _ := newCluster()
	createJob(t, cluster, newJob("j"))
	if err := cluster.DeleteJob(t.Context(), "default", "j", metav1.DeletePropagationForeground); err != nil {
		t.Fatal(err)
	}
	equal(t, "stored", names(cluster), nil)
}

func TestClusterForegroundDeletionTwiceIsOne(t *testing.T) {
	cluster, _ := family(t)
	for range 2 {
		if err := cluster.DeleteJob(t.Context(), "default", "j", metav1.DeletePropagationForeground); err != nil {
			t.Fatal(err)
		}
		equal(t, "finalizers", cluster.Jobs("")[0].Finalizers, []string{metav1.FinalizerDeleteDependents})
	}
}

func TestClusterGarbageThatIsDeletingAlreadyIsLeftToItsNode(t *testing.T) {
	cluster, job := family(t)
	if err := cluster.Delete(t.Context(), newPod("blocks")); err != nil {
		t.Fatal(err)
	}
	pod, err := cluster.FetchPod(t.Context(), "default", "blocks")
	must(t, pod, err).Status.Phase = corev1.PodSucceeded
	pod, err = cluster.UpdatePodStatus(t.Context(), pod)
	must(t, pod, err)
	if err := cluster.DeleteJob(t.Context(), "default", job.Name, ""); err != nil {
		t.Fatal(err)
	}
	equal(t, "stored", names(cluster), []string{"pod blocks deleting", "pod lets deleting", "pod other"})
}

func TestClusterForegroundDeletionEndsWhenThePodIsReleased(t *testing.T) {
	cluster, job := family(t)
	if err := cluster.DeleteJob(t.Context(), "default", "j", metav1.DeletePropagationForeground); err != nil {
		t.Fatal(err)
	}
	disown := []byte(`{"metadata":{"ownerReferences":[{"$patch":"delete","uid":"` + string(job.UID) + `"}]}}`)
	if err := cluster.Patch(t.Context(), newPod("blocks"), disown); err != nil {
		t.Fatal(err)
	}
	equal(t, "stored", names(cluster), []string{"pod blocks deleting", "pod lets deleting", "pod other"})
}

func TestClusterFinalizerHoldsAJob(t *testing.T) {
	cluster, _ := newCluster()
	job := newJob("j")
	job.Finalizers = []string{"example.com/hold"}
	job = createJob(t, cluster, job)
	createPod(t, cluster, podOf(job, "p"))
	for range 2 {
		if err := cluster.DeleteJob(t.Context(), "default", "j", ""); err != nil {
			t.Fatal(err)
		}
	}
	equal(t, "stored", names(cluster), []string{"job j deleting", "pod p"})
	job = cluster.Jobs("")[0]
	equal(t, "version after two deletions", job.ResourceVersion, "3")
	job.Finalizers = nil
	updated, err := cluster.UpdateJob(t.Context(), job)
	must(t, updated, err)
	equal(t, "stored once released", names(cluster), []string{"pod p deleting"})
}

func TestClusterPodWithAnotherOwnerOnlyLosesTheReference(t *testing.T) {
	cluster, _ := newCluster()
	goes, stays := createJob(t, cluster, newJob("goes")), createJob(t, cluster, newJob("stays"))
	pod := podOf(goes, "p")
	second := podOf(stays, "p").OwnerReferences[0]
	second.Controller = nil
	pod.OwnerReferences = append(pod.OwnerReferences, second)
	createPod(t, cluster, pod)
	if err := cluster.DeleteJob(t.Context(), "default", "goes", ""); err != nil {
		t.Fatal(err)
	}
	equal(t, "stored", names(cluster), []string{"job stays", "pod p"})
	equal(t, "owners", cluster.Pods("")[0].OwnerReferences, []metav1.OwnerReference{second})
}

func TestB68_APodOfAnOwnerThatIsGoneIsGarbage(t *testing.T) {
	cluster, _ := newCluster()
	job := createJob(t, cluster, newJob("j"))
	if err := cluster.DeleteJob(t.Context(), "default", "j", ""); err != nil {
		t.Fatal(err)
	}
	recreated := createJob(t, cluster, newJob("j"))
	createPod(t, cluster, podOf(job, "of-the-dead"))
	createPod(t, cluster, podOf(recreated, "of-the-living"))
	ownedByPod := newPod("of-a-pod")
	ownedByPod.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: "of-the-living", UID: cluster.Pods("")[1].UID}}
	createPod(t, cluster, ownedByPod)
	equal(t, "stored", names(cluster), []string{"job j", "pod of-a-pod", "pod of-the-dead", "pod of-the-living"})
	cluster.CollectGarbage()
	equal(t, "stored once collected", names(cluster),
		[]string{"job j", "pod of-a-pod", "pod of-the-dead deleting", "pod of-the-living"})
}

func TestClusterDeleteOfANamesakeChangesNothing(t *testing.T) {
	cluster, _ := newCluster()
	createPod(t, cluster, newPod("a"))
	other := newPod("a")
	other.UID = "another"
	if err := cluster.Delete(t.Context(), other); err != nil {
		t.Error(err)
	}
	if err := cluster.RemovePod(t.Context(), other); err != nil {
		t.Error(err)
	}
	equal(t, "stored", names(cluster), []string{"pod a"})
}
