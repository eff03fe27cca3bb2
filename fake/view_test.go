package fake_test

import (
	"cmp"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobwright/jobwright/fake"
)

// watched is a cluster with one view that writes down what it hears.
func watched() (*fake.Cluster, *fake.View, *log) {
	cluster, _ := newCluster()
	view, heard := cluster.View(), &log{}
	view.Notify(heard)
	return cluster, view, heard
}

func run(t *testing.T, c *fake.Cluster, name string) {
	t.Helper()
	pod, err := c.FetchPod(t.Context(), "default", name)
	must(t, pod, err).Status.Phase = corev1.PodRunning
	pod, err = c.UpdatePodStatus(t.Context(), pod)
	must(t, pod, err)
}

func remove(t *testing.T, c *fake.Cluster, name string) {
	t.Helper()
	if err := c.RemovePod(t.Context(), newPod(name)); err != nil {
		t.Fatal(err)
	}
}

func pending(v *fake.View) []string {
	var all []string
	for _, e := range v.Pending() {
		all = append(all, e.String())
	}
	return all
}

func TestViewStartsFromWhatIsStored(t *testing.T) {
	cluster, _ := newCluster()
	createPod(t, cluster, newPod("b"))
	createPod(t, cluster, newPod("a"))
	createJob(t, cluster, newJob("j"))
	equal(t, "pending", pending(cluster.View()),
		[]string{"ADDED Job default/j at 3", "ADDED Pod default/a at 2", "ADDED Pod default/b at 1"})
}

func TestViewKnowsWhatWasDeliveredOnly(t *testing.T) {
	cluster, view, heard := watched()
	createJob(t, cluster, newJob("j"))
	if _, err := view.Job("default", "j"); !apierrors.IsNotFound(err) {
		t.Errorf("before delivery Job gives error %v, want NotFound", err)
	}
	equal(t, "delivered", view.Deliver(), 1)
	job, err := view.Job("default", "j")
	equal(t, "job", must(t, job, err), cluster.Jobs("")[0])
	equal(t, "heard", heard.since(), []string{"JobAdded j uid-00001"})
	equal(t, "delivered without an event", view.DeliverNext(), false)
}

func TestViewUpdatesItsCacheBeforeItTellsTheHandler(t *testing.T) {
	cluster, view, _ := watched()
	seen := &reader{view: view}
	view.Notify(seen)
	createPod(t, cluster, newPod("a"))
	view.Deliver()
	remove(t, cluster, "a")
	view.Deliver()
	equal(t, "pods in the cache when told", seen.pods, []int{1, 0})
}

// reader is a Handler that looks into the view when it is told of pods.
type reader struct {
	log
	view *fake.View
	pods []int
}

func (r *reader) PodAdded(*corev1.Pod)   { r.look() }
func (r *reader) PodDeleted(*corev1.Pod) { r.look() }

func (r *reader) look() {
	orphans, _ := r.view.OrphanPods("default")
	r.pods = append(r.pods, len(orphans))
}

func TestViewDeliversCommitsInOrder(t *testing.T) {
	cluster, view, heard := watched()
	createJob(t, cluster, newJob("j"))
	createPod(t, cluster, newPod("p"))
	run(t, cluster, "p")
	remove(t, cluster, "p")
	if err := cluster.DeleteJob(t.Context(), "default", "j", ""); err != nil {
		t.Fatal(err)
	}
	equal(t, "pending", pending(view), []string{
		"ADDED Job default/j at 1", "ADDED Pod default/p at 2", "MODIFIED Pod default/p at 3",
		"DELETED Pod default/p at 4", "DELETED Job default/j at 5",
	})
	equal(t, "first delivered", view.DeliverNext(), true)
	equal(t, "heard", heard.since(), []string{"JobAdded j uid-00001"})
	view.Deliver()
	equal(t, "heard", heard.since(), []string{
		"PodAdded p uid-00002", "PodUpdated p uid-00002", "PodDeleted p uid-00002", "JobDeleted j uid-00001",
	})
}

func TestViewDeliversChosenEventsFirst(t *testing.T) {
	cluster, view, heard := watched()
	createJob(t, cluster, newJob("j"))
	createPod(t, cluster, newPod("p"))
	equal(t, "delivered", view.DeliverIf(fake.ForPod), 1)
	equal(t, "heard", heard.since(), []string{"PodAdded p uid-00002"})
	equal(t, "delivered", view.DeliverIf(fake.ForJob), 1)
	equal(t, "heard", heard.since(), []string{"JobAdded j uid-00001"})
}

func TestViewDropsChosenEvents(t *testing.T) {
	cluster, view, heard := watched()
	createPod(t, cluster, newPod("p"))
	createJob(t, cluster, newJob("j"))
	run(t, cluster, "p")
	equal(t, "dropped", view.Drop(fake.ForPod), 2)
	view.Deliver()
	equal(t, "heard", heard.since(), []string{"JobAdded j uid-00002"})
}

func TestViewReordersEvents(t *testing.T) {
	cluster, view, _ := watched()
	createPod(t, cluster, newPod("a"))
	createPod(t, cluster, newPod("b"))
	run(t, cluster, "b")
	view.Reorder(func(a, b fake.Event) int { return cmp.Compare(b.Pod.Name, a.Pod.Name) })
	equal(t, "pending", pending(view),
		[]string{"ADDED Pod default/b at 2", "MODIFIED Pod default/b at 3", "ADDED Pod default/a at 1"})
}

func TestViewJudgesEventsByItsCache(t *testing.T) {
	cluster, view, heard := watched()
	createPod(t, cluster, newPod("p"))
	run(t, cluster, "p")
	view.Drop(func(e fake.Event) bool { return e.Type == "ADDED" })
	view.Deliver()
	equal(t, "heard of an update of an unknown pod", heard.since(), []string{"PodAdded p uid-00001"})

	createPod(t, cluster, newPod("q"))
	remove(t, cluster, "q")
	view.Drop(func(e fake.Event) bool { return e.Type == "ADDED" })
	view.Deliver()
	equal(t, "heard of the deletion of an unknown pod", heard.since(), nil)

	remove(t, cluster, "p")
	createPod(t, cluster, newPod("p"))
	view.Drop(func(e fake.Event) bool { return e.Type == "DELETED" })
	view.Deliver()
	equal(t, "heard of an add of a known name", heard.since(), []string{"PodUpdated p uid-00001 to uid-00003"})
}

func TestViewWithoutHandler(t *testing.T) {
	cluster, _ := newCluster()
	view := cluster.View()
	createPod(t, cluster, newPod("a"))
	view.Deliver()
	view.Resync()
	orphans, err := view.OrphanPods("default")
	equal(t, "pods", must(t, orphans, err), cluster.Pods(""))
}

func TestViewsLagEachOnItsOwn(t *testing.T) {
	cluster, fresh, _ := watched()
	stale := cluster.View()
	createJob(t, cluster, newJob("j"))
	fresh.Deliver()
	equal(t, "pending of the one that lags", pending(stale), []string{"ADDED Job default/j at 1"})
	equal(t, "pending of the other", pending(fresh), nil)
}

func TestViewListsByOwner(t *testing.T) {
	cluster, view, _ := watched()
	job := createJob(t, cluster, newJob("j"))
	createPod(t, cluster, podOf(job, "b"))
	createPod(t, cluster, podOf(job, "a"))
	createPod(t, cluster, newPod("orphan"))
	createJob(t, cluster, &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: "elsewhere", Name: "j"}})
	view.Deliver()
	owned, err := view.PodsOf("default", job.UID)
	equal(t, "owned", podNames(must(t, owned, err)), []string{"a", "b"})
	for what, list := range map[string]func() ([]*corev1.Pod, error){
		"of nobody":             func() ([]*corev1.Pod, error) { return view.PodsOf("default", "") },
		"in another namespace":  func() ([]*corev1.Pod, error) { return view.PodsOf("elsewhere", job.UID) },
		"orphans there":         func() ([]*corev1.Pod, error) { return view.OrphanPods("elsewhere") },
		"of a UID without pods": func() ([]*corev1.Pod, error) { return view.PodsOf("default", "another") },
	} {
		pods, err := list()
		equal(t, what, len(must(t, pods, err)), 0)
	}
	orphans, err := view.OrphanPods("default")
	equal(t, "orphans", podNames(must(t, orphans, err)), []string{"orphan"})
	jobs, err := view.Jobs("default")
	equal(t, "jobs", must(t, jobs, err), []*batchv1.Job{job})
}

func TestViewListsAPodThatWasAdoptedUnderItsOwner(t *testing.T) {
	cluster, view, _ := watched()
	job := createJob(t, cluster, newJob("j"))
	pod := createPod(t, cluster, newPod("p"))
	view.Deliver()
	pod.OwnerReferences = podOf(job, "p").OwnerReferences
	updated, err := cluster.UpdatePod(t.Context(), pod)
	must(t, updated, err)
	view.Deliver()
	owned, err := view.PodsOf("default", job.UID)
	equal(t, "owned", podNames(must(t, owned, err)), []string{"p"})
	orphans, err := view.OrphanPods("default")
	equal(t, "orphans", podNames(must(t, orphans, err)), nil)
}

func TestViewSharesNothingWithTheCluster(t *testing.T) {
	cluster, view, _ := watched()
	want := createPod(t, cluster, newPod("p"))
	view.Pending()[0].Pod.Status.Message = "changed"
	equal(t, "stored", cluster.Pods(""), []*corev1.Pod{want})
}

func podNames(pods []*corev1.Pod) []string {
	var all []string
	for _, pod := range pods {
		all = append(all, pod.Name)
	}
	return all
}

func TestB108_WhatIsWrittenThroughAViewIsStored(t *testing.T) {
	cluster, view, _ := watched()
	createJob(t, cluster, newJob("j"))
	view.Deliver()
	job, err := view.FetchJob(t.Context(), "default", "j")
	must(t, job, err).Status.Active = 3
	written, err := view.UpdateJobStatus(t.Context(), job)
	equal(t, "stored", cluster.Jobs(""), []*batchv1.Job{must(t, written, err)})
	cached, err := view.Job("default", "j")
	equal(t, "active in the cache, which has not heard of it", must(t, cached, err).Status.Active, 0)
}
