package kube_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clienttesting "k8s.io/client-go/testing"

	"github.com/jobwright/jobwright/jobcontrol"
	"github.com/jobwright/jobwright/jobcontrol/kube"
)

func TestB32_QuotaThatIsFreedLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, newJob("j", 1, 1))
		var freed atomic.Bool
		s.refuse("create", "pods", func(clienttesting.Action) error {
			if freed.Load() {
				return nil
			}
			return apierrors.NewForbidden(podResource.GroupResource(), "", errors.New("exceeded quota"))
		})
		stop := start(t, s, kube.Config{})
		pass(time.Minute)
		freed.Store(true) // which makes no event that would wake the Job
		pass(10 * time.Minute)
		if n := len(s.pods(t)); n != 1 {
			t.Errorf("%d pods ten minutes after the quota was freed, want 1", n)
		}
		if err := stop(); err != nil {
			t.Errorf("Run: %v", err)
		}
		told := s.events(t, "j")
		if len(told) == 0 || !strings.HasPrefix(told[len(told)-1], "Warning FailedCreate jobwright Error creating: ") {
			t.Errorf("events %q, want FailedCreate among them", told)
		}
	})
}

func TestB47_RestartArmsTheDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		job := newJob("j", 1, 1)
		job.Spec.ActiveDeadlineSeconds = new(int64(300))
		job.Status.StartTime = &metav1.Time{Time: time.Now().Add(-100 * time.Second)}
		job.Status.Active = 1
		s := newServer(t, job, newPod("p", "j", controlledBy(job)))
		stop := start(t, s, kube.Config{})
		pass(190 * time.Second)
		if jobcontrol.IsFinished(s.job(t, "j")) {
			t.Error("ended before its deadline")
		}
		pass(20 * time.Second)
		if got := s.job(t, "j"); !jobcontrol.IsFinished(got) {
			t.Errorf("status %+v, want Failed: the deadline has passed", got.Status)
		}
		if err := stop(); err != nil {
			t.Errorf("Run: %v", err)
		}
	})
}

func TestB57_OverlappingSelectors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := newJob("a", 0, 1), newJob("b", 1, 1)
		a.Spec.Selector.MatchLabels = b.Spec.Selector.MatchLabels
		s := newServer(t, a, b, newPod("of-b", "b", controlledBy(b)))
		stop := start(t, s, kube.Config{})
		pass(time.Minute)
		if err := stop(); err != nil {
			t.Errorf("Run: %v", err)
		}
		if got := s.calls("pods"); got != nil {
			t.Errorf("calls for pods %q, want none: b has its pod, a must leave it alone", got)
		}
	})
}

func TestB71_EachManagerItsJobs(t *testing.T) {
	for name, want := range map[string][]string{"": {"built-in", "unmanaged"}, "example.com/jobs": {"ours"}} {
		t.Run("named "+name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				builtIn, unmanaged, ours, theirs := newJob("built-in", 1, 1), newJob("unmanaged", 1, 1), newJob("ours", 1, 1), newJob("theirs", 1, 1)
				builtIn.Spec.ManagedBy = new(batchv1.JobControllerName)
				ours.Spec.ManagedBy, theirs.Spec.ManagedBy = new("example.com/jobs"), new("example.com/others")
				s := newServer(t, builtIn, unmanaged, ours, theirs)
				stop := start(t, s, kube.Config{Controller: jobcontrol.Config{Name: name}})
				pass(time.Minute)
				if err := stop(); err != nil {
					t.Errorf("Run: %v", err)
				}
				var got []string
				for _, pod := range s.pods(t) {
					got = append(got, metav1.GetControllerOf(&pod).Name)
				}
				slices.Sort(got)
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("Jobs with a pod (-want +got):\n%s", diff)
				}
			})
		})
	}
}

func TestB53_OwnersOfOtherKinds(t *testing.T) {
	t.Run("pods of a foreign kind are left alone", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			namesake := *train
			namesake.Name = "j"
			s := newServer(t, newJob("j", 0, 1), newPod("p", "j", &namesake))
			stop := start(t, s, kube.Config{})
			pass(time.Minute)
			if err := stop(); err != nil {
				t.Errorf("Run: %v", err)
			}
			if got := s.calls("pods"); got != nil {
				t.Errorf("calls for pods %q, want none", got)
			}
		})
	})
	t.Run("a kind of one's own is on pods and events", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s := newServer(t, newJob("j", 1, 1))
			kind := schema.GroupVersionKind{Group: "ml.example.com", Version: "v1", Kind: "Train"}
			stop := start(t, s, kube.Config{Controller: jobcontrol.Config{Owner: kind}})
			pass(time.Minute)
			s.end(t, corev1.PodSucceeded)
			pass(time.Minute)
			if err := stop(); err != nil {
				t.Errorf("Run: %v", err)
			}
			if owner := metav1.GetControllerOf(&s.pods(t)[0]); owner == nil || owner.Kind != "Train" || owner.APIVersion != "ml.example.com/v1" {
				t.Errorf("controller of the pod: %v", owner)
			}
			events, err := s.CoreV1().Events("ns").List(context.Background(), metav1.ListOptions{})
			if err != nil {
				t.Fatal(err)
			}
			got := map[string]corev1.ObjectReference{}
			for _, e := range events.Items {
				e.InvolvedObject.ResourceVersion = ""
				got[e.Reason] = e.InvolvedObject
			}
			ref := corev1.ObjectReference{APIVersion: "ml.example.com/v1", Kind: "Train", Namespace: "ns", Name: "j", UID: "uid-j"}
			if diff := cmp.Diff(map[string]corev1.ObjectReference{"SuccessfulCreate": ref, "Completed": ref}, got); diff != "" {
				t.Errorf("events about (-want +got):\n%s", diff)
			}
		})
	})
}
