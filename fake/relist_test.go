package fake_test

import (
	"context"
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"
)

func TestB1_RelistShowsARecreatedObjectAsOneUpdate(t *testing.T) {
	cluster, view, heard := watched()
	createJob(t, cluster, newJob("j"))
	createPod(t, cluster, newPod("recreated"))
	createPod(t, cluster, newPod("gone"))
	createPod(t, cluster, newPod("same"))
	createPod(t, cluster, newPod("changed"))
	view.Deliver()
	heard.since()

	if err := cluster.DeleteJob(t.Context(), "default", "j", ""); err != nil {
		t.Fatal(err)
	}
	createJob(t, cluster, newJob("j"))
	remove(t, cluster, "recreated")
	createPod(t, cluster, newPod("recreated"))
	remove(t, cluster, "gone")
	createPod(t, cluster, newPod("new"))
	run(t, cluster, "changed")
	equal(t, "announced", view.Relist(), 5)
	equal(t, "heard", heard.since(), []string{
		"JobUpdated j uid-00001 to uid-00006",
		"PodUpdated changed uid-00005",
		"PodAdded new uid-00008",
		"PodUpdated recreated uid-00002 to uid-00007",
		"PodDeleted gone uid-00003",
	})
	equal(t, "pending", pending(view), nil)
	equal(t, "announced when nothing changed", view.Relist(), 0)
}

func TestViewRelistDeletesTheLastKnownState(t *testing.T) {
	cluster, view, _ := watched()
	last := &lastDeleted{}
	view.Notify(last)
	known := createPod(t, cluster, newPod("p"))
	view.Deliver()
	run(t, cluster, "p")
	remove(t, cluster, "p")
	view.Relist()
	equal(t, "deleted", last.pod, known)
}

type lastDeleted struct {
	log
	pod *corev1.Pod
}

func (l *lastDeleted) PodDeleted(pod *corev1.Pod) { l.pod = pod }

func TestViewResyncRepeatsTheCache(t *testing.T) {
	cluster, view, heard := watched()
	createPod(t, cluster, newPod("b"))
	createPod(t, cluster, newPod("a"))
	createJob(t, cluster, newJob("j"))
	view.Deliver()
	heard.since()
	run(t, cluster, "a")
	view.Resync()
	equal(t, "heard", heard.since(), []string{"JobUpdated j uid-00003", "PodUpdated a uid-00002", "PodUpdated b uid-00001"})
	equal(t, "pending", pending(view), []string{"MODIFIED Pod default/a at 4"})
}

func TestViewFollowsUntilTheContextEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cluster, view, heard := watched()
		createPod(t, cluster, newPod("before"))
		ctx, cancel := context.WithCancel(t.Context())
		returned := make(chan struct{})
		go func() { view.Follow(ctx); close(returned) }()
		synctest.Wait()
		equal(t, "heard", heard.since(), []string{"PodAdded before uid-00001"})
		createPod(t, cluster, newPod("later"))
		run(t, cluster, "later")
		synctest.Wait()
		equal(t, "heard", heard.since(), []string{"PodAdded later uid-00002", "PodUpdated later uid-00002"})
		cancel()
		<-returned
		remove(t, cluster, "later")
		view.Follow(ctx)
		equal(t, "heard after the end", heard.since(), nil)
	})
}
