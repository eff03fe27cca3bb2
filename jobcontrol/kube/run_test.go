package kube_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/record"

	"github.com/jobwright/jobwright/jobcontrol"
	"github.com/jobwright/jobwright/jobcontrol/kube"
)

// start runs kube.Run in the bubble until stop is called, which returns what
// Run did. It returns when the first syncs are done.
func start(t *testing.T, client kubernetes.Interface, cfg kube.Config) (stop func() error) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- kube.Run(ctx, client, cfg) }()
	synctest.Wait()
	return func() error {
		cancel()
		return <-ended
	}
}

// pass lets d of the bubble's time go by and everything due in it happen.
func pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// told lists the events of a Job as "kubectl describe job" does.
func (s *server) events(t *testing.T, job string) []string {
	t.Helper()
	list, err := s.CoreV1().Events("ns").List(context.Background(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var told []string
	for _, e := range list.Items {
		about := e.InvolvedObject
		if about.Kind == "Job" && about.Namespace == "ns" && about.Name == job && string(about.UID) == "uid-"+job {
			told = append(told, fmt.Sprintf("%s %s %s %s", e.Type, e.Reason, e.Source.Component, e.Message))
		}
	}
	slices.Sort(told)
	return told
}

func TestRunCompletesAJob(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, newJob("j", 2, 3))
		stop := start(t, s, kube.Config{})
		pass(time.Second)
		if n := len(s.pods(t)); n != 2 {
			t.Fatalf("%d pods, want parallelism 2", n)
		}
		for range 2 {
			s.end(t, corev1.PodSucceeded)
			pass(5 * time.Second)
		}
		job := s.job(t, "j")
		if !jobcontrol.IsFinished(job) || job.Status.Succeeded != 3 || job.Status.CompletionTime == nil {
			t.Errorf("status %+v, want Complete with 3 succeeded", job.Status)
		}
		if err := stop(); err != nil {
			t.Errorf("Run: %v", err)
		}
		want := []string{
			"Normal Completed jobwright Job completed",
			"Normal SuccessfulCreate jobwright Created pod: j-1",
			"Normal SuccessfulCreate jobwright Created pod: j-2",
			"Normal SuccessfulCreate jobwright Created pod: j-3",
		}
		if diff := cmp.Diff(want, s.events(t, "j")); diff != "" {
			t.Errorf("events (-want +got):\n%s", diff)
		}
		writes := len(s.calls("jobs")) + len(s.calls("pods"))
		pass(time.Hour)
		if n := len(s.calls("jobs")) + len(s.calls("pods")); n != writes {
			t.Errorf("%d writes after Run had returned", n-writes)
		}
	})
}

func TestRunWaitsForBothCaches(t *testing.T) {
	for _, resource := range []string{"jobs", "pods"} {
		t.Run(resource, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				job := newJob("j", 2, 2)
				s := newServer(t, job, newPod("p", "j", controlledBy(job)))
				var syncs atomic.Int32
				metrics := jobcontrol.Metrics{Synced: func(time.Duration, error) { syncs.Add(1) }}
				var up atomic.Bool
				s.refuse("list", resource, func(clienttesting.Action) error {
					if up.Load() {
						return nil
					}
					return apierrors.NewServiceUnavailable("not yet")
				})
				stop := start(t, s, kube.Config{Controller: jobcontrol.Config{Metrics: &metrics}})
				pass(10 * time.Minute)
				if n := syncs.Load(); n != 0 {
					t.Errorf("%d syncs before the %s were listed", n, resource)
				}
				up.Store(true)
				pass(2 * time.Minute) // the informer retries by then
				if len(s.pods(t)) != 2 {
					t.Errorf("no further pod after the %s were listed", resource)
				}
				if err := stop(); err != nil {
					t.Errorf("Run: %v", err)
				}
			})
		})
	}
	t.Run("or the end of ctx", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s := newServer(t)
			s.refuse("list", "pods", func(clienttesting.Action) error { return apierrors.NewServiceUnavailable("never") })
			stop := start(t, s, kube.Config{})
			if err := stop(); !errors.Is(err, context.Canceled) {
				t.Errorf("Run: %v, want %v", err, context.Canceled)
			}
		})
	})
}

func TestRunRefusesABadConfig(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		err := kube.Run(t.Context(), newServer(t), kube.Config{Controller: jobcontrol.Config{Accounting: 99}})
		if err == nil {
			t.Error("err = nil, want one about the accounting mode")
		}
	})
}

func TestRunKeepsToItsNamespace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		other := newJob("other", 1, 1)
		other.Namespace = "elsewhere"
		s := newServer(t, newJob("j", 1, 1), other)
		stop := start(t, s, kube.Config{Namespace: "ns"})
		pass(time.Minute)
		if err := stop(); err != nil {
			t.Errorf("Run: %v", err)
		}
		for _, a := range s.Actions() {
			if a.GetNamespace() != "ns" && a.GetResource().Resource != "events" {
				t.Errorf("%s of %s in %q", a.GetVerb(), a.GetResource().Resource, a.GetNamespace())
			}
		}
	})
}

// patches lists the patches sent for pods, as "NAME PATCH".
func (s *server) patches() []string {
	var patches []string
	for _, a := range s.Actions() {
		if patch, ok := a.(clienttesting.PatchAction); ok && a.GetResource() == podResource {
			patches = append(patches, patch.GetName()+" "+string(patch.GetPatch()))
		}
	}
	slices.Sort(patches)
	return patches
}

func TestRunAdoptsAndReleases(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		job := newJob("j", 1, 1)
		s := newServer(t, job, newPod("orphan", "j", nil), newPod("strayed", "other", controlledBy(job)))
		stop := start(t, s, kube.Config{})
		pass(time.Minute)
		if err := stop(); err != nil {
			t.Errorf("Run: %v", err)
		}
		want := []string{
			`orphan {"metadata":{"uid":"uid-orphan","ownerReferences":[{"apiVersion":"batch/v1","kind":"Job","name":"j","uid":"uid-j","controller":true,"blockOwnerDeletion":true}],"finalizers":["batch.kubernetes.io/job-tracking"]}}`,
			`strayed {"metadata":{"uid":"uid-strayed","ownerReferences":[{"$patch":"delete","uid":"uid-j"}],"$deleteFromPrimitiveList/finalizers":["batch.kubernetes.io/job-tracking"]}}`,
		}
		if diff := cmp.Diff(want, s.patches()); diff != "" {
			t.Errorf("patches (-want +got):\n%s", diff)
		}
		owners := map[string]bool{}
		for _, pod := range s.pods(t) {
			owners[pod.Name] = metav1.IsControlledBy(&pod, job)
		}
		if diff := cmp.Diff(map[string]bool{"orphan": true, "strayed": false}, owners); diff != "" {
			t.Errorf("pods of the Job (-want +got):\n%s", diff)
		}
	})
}

func TestExampleWiringWorks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		managed := newJob("j", 1, 1)
		managed.Spec.ManagedBy = new("example.com/jobs")
		s := newServer(t, managed)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() {
			ended <- runJobs(ctx, s, record.NewFakeRecorder(100))
		}()
		pass(time.Minute)
		s.end(t, corev1.PodSucceeded)
		pass(time.Minute)
		if job := s.job(t, "j"); !jobcontrol.IsFinished(job) {
			t.Errorf("status %+v, want Complete", job.Status)
		}
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}
