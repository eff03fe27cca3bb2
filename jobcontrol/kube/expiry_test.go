package kube_test

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clienttesting "k8s.io/client-go/testing"

	"github.com/jobwright/jobwright/jobcontrol/kube"
)

func TestExpiryDeletesExactlyThisJob(t *testing.T) {
	done := func(err error) bool { return err == nil }
	tests := []struct {
		name   string
		change func(*batchv1.Job)
		want   func(error) bool
		stays  bool
	}{
		{"as it was read", func(*batchv1.Job) {}, done, false},
		{"unless it has changed", func(job *batchv1.Job) { job.ResourceVersion = "another" }, apierrors.IsConflict, true},
		{"unless its name is another's", func(job *batchv1.Job) { job.UID = "another" }, done, true},
		{"unless it is gone", func(job *batchv1.Job) { job.Name = "gone" }, done, true},
		{"unless its UID is unknown", func(job *batchv1.Job) { job.UID = "" }, func(err error) bool { return err != nil }, true},
		{"unless its version is unknown", func(job *batchv1.Job) { job.ResourceVersion = "" }, func(err error) bool { return err != nil }, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := newServer(t, newJob("j", 1, 1))
			job := s.job(t, "j")
			tt.change(job)
			if err := kube.NewExpiry(s).DeleteJob(t.Context(), job); !tt.want(err) {
				t.Errorf("err = %v", err)
			}
			_, err := s.BatchV1().Jobs("ns").Get(t.Context(), "j", metav1.GetOptions{})
			if stays := err == nil; stays != tt.stays {
				t.Errorf("the Job stays: %v, want %v", stays, tt.stays)
			}
		})
	}
}

// The Job may go between the answer and the question what it means.
func TestExpiryConflictOfAJobThatIsGone(t *testing.T) {
	s := newServer(t, newJob("j", 1, 1))
	job := s.job(t, "j")
	s.refuse("delete", "jobs", func(clienttesting.Action) error {
		if err := s.Tracker().Delete(jobResource, "ns", "j"); err != nil {
			t.Error(err)
		}
		return apierrors.NewConflict(jobResource.GroupResource(), "j", errors.New("another UID"))
	})
	if err := kube.NewExpiry(s).DeleteJob(t.Context(), job); err != nil {
		t.Errorf("err = %v", err)
	}
}

func TestExpiryAsksForTheForeground(t *testing.T) {
	s := newServer(t, newJob("j", 1, 1))
	job := s.job(t, "j")
	s.ClearActions()
	if err := kube.NewExpiry(s).DeleteJob(t.Context(), job); err != nil {
		t.Fatal(err)
	}
	want := metav1.DeleteOptions{
		PropagationPolicy: new(metav1.DeletePropagationForeground),
		Preconditions:     &metav1.Preconditions{UID: &job.UID, ResourceVersion: &job.ResourceVersion},
	}
	if diff := cmp.Diff(want, s.Actions()[0].(clienttesting.DeleteActionImpl).DeleteOptions); diff != "" {
		t.Errorf("options (-want +got):\n%s", diff)
	}
}

func TestExpiryMakesNoCallOnceTheContextHasEnded(t *testing.T) {
	s := newServer(t, newJob("j", 1, 1))
	job := s.job(t, "j")
	s.ClearActions()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := kube.NewExpiry(s).DeleteJob(ctx, job); !errors.Is(err, context.Canceled) || len(s.Actions()) != 0 {
		t.Errorf("err = %v after %d calls", err, len(s.Actions()))
	}
}
