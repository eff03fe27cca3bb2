package kube_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	clienttesting "k8s.io/client-go/testing"

	"github.com/jobwright/jobwright/jobcontrol"
	"github.com/jobwright/jobwright/jobcontrol/kube"
)

// story is what the server was asked to write, in order: of each status what it
// counts and lists and how the Job stands, and of each pod its patches.
func (s *server) story() (story []string) {
	for _, a := range s.Actions() {
		switch a := a.(type) {
		case clienttesting.UpdateAction:
			if job, ok := a.GetObject().(*batchv1.Job); ok && a.GetSubresource() == "status" {
				story = append(story, "status "+summary(&job.Status))
			}
		case clienttesting.PatchAction:
			story = append(story, "patch "+a.GetName()+" "+string(a.GetPatch()))
		}
	}
	return story
}

func summary(status *batchv1.JobStatus) string {
	text := fmt.Sprintf("active %d succeeded %d failed %d", status.Active, status.Succeeded, status.Failed)
	if pods := status.UncountedTerminatedPods; pods != nil {
		text += fmt.Sprintf(" uncounted %v %v", pods.Succeeded, pods.Failed)
	}
	for _, c := range status.Conditions {
		text += " " + string(c.Type)
	}
	return text
}

func untracked(pod string) string {
	return fmt.Sprintf(`patch j-%s {"metadata":{"uid":"pod-uid-%[1]s","$deleteFromPrimitiveList/finalizers":["batch.kubernetes.io/job-tracking"]}}`, pod)
}

// Each pod is listed in a status before its one finalizer patch, and counted
// after it; the Job ends in the last write.
func TestRunCountsEachPodOnce(t *testing.T) {
	tests := []struct {
		name  string
		ends  []corev1.PodPhase
		limit int32
		want  []string
	}{
		{"to the end of a Job that completes", []corev1.PodPhase{corev1.PodFailed, corev1.PodSucceeded}, 6, []string{
			"status active 1 succeeded 0 failed 0 uncounted [] []",
			"status active 0 succeeded 0 failed 0 uncounted [] [pod-uid-1]",
			untracked("1"),
			"status active 0 succeeded 0 failed 1 uncounted [] []",
			"status active 1 succeeded 0 failed 1 uncounted [] []",
			"status active 0 succeeded 0 failed 1 uncounted [pod-uid-2] [] SuccessCriteriaMet",
			untracked("2"),
			"status active 0 succeeded 1 failed 1 uncounted [] [] SuccessCriteriaMet Complete",
		}},
		{"to the end of a Job that fails", []corev1.PodPhase{corev1.PodFailed}, 0, []string{
			"status active 1 succeeded 0 failed 0 uncounted [] []",
			"status active 0 succeeded 0 failed 0 uncounted [] [pod-uid-1] FailureTarget",
			untracked("1"),
			"status active 0 succeeded 0 failed 1 uncounted [] [] FailureTarget Failed",
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				job := newJob("j", 1, 1)
				job.Spec.BackoffLimit = &tt.limit
				s := newServer(t, job)
				stop := start(t, s, kube.Config{})
				for _, phase := range tt.ends {
					pass(time.Minute)
					s.end(t, phase)
				}
				pass(time.Minute)
				if err := stop(); err != nil {
					t.Errorf("Run: %v", err)
				}
				if diff := cmp.Diff(tt.want, s.story()); diff != "" {
					t.Errorf("writes (-want +got):\n%s", diff)
				}
			})
		})
	}
}

func TestRunExpiresJobsWhenTold(t *testing.T) {
	for _, told := range []bool{false, true} {
		t.Run(fmt.Sprintf("told=%v", told), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				job := newJob("j", 1, 1)
				job.Spec.TTLSecondsAfterFinished = new(int32(60))
				s := newServer(t, job)
				cfg := kube.Config{Controller: jobcontrol.Config{Events: &sink{}}}
				if told {
					cfg.Controller.Expiry = kube.NewExpiry(s)
				}
				stop := start(t, s, cfg)
				pass(time.Minute)
				s.end(t, corev1.PodSucceeded)
				pass(50 * time.Second)
				if !jobcontrol.IsFinished(s.job(t, "j")) {
					t.Error("the Job has not ended, or is gone before its time")
				}
				pass(20 * time.Second)
				if err := stop(); err != nil {
					t.Errorf("Run: %v", err)
				}
				if got := s.calls("jobs"); (got[len(got)-1] == "delete") != told {
					t.Errorf("calls for Jobs %q", got)
				}
			})
		})
	}
}
