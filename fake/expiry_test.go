package fake_test

import (
	"errors"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/jobwright/jobwright/fake"
)

func TestViewDeletesAJob(t *testing.T) {
	there := []string{"job j", "pod p"}
	for _, c := range []struct {
		name   string
		change func(*batchv1.Job)
		want   func(error) bool
		stored []string
	}{
		{"in the foreground", func(*batchv1.Job) {}, func(err error) bool { return err == nil }, []string{"job j deleting", "pod p deleting"}},
		{"unless it has changed", func(job *batchv1.Job) { job.ResourceVersion = "7" }, apierrors.IsConflict, there},
		{"unless its name is another's", func(job *batchv1.Job) { job.UID = "another" }, func(err error) bool { return err == nil }, there},
		{"unless it is gone", func(job *batchv1.Job) { job.Name = "gone" }, func(err error) bool { return err == nil }, there},
	} {
		t.Run(c.name, func(t *testing.T) {
			cluster, _ := newCluster()
			job := createJob(t, cluster, newJob("j"))
			createPod(t, cluster, podOf(job, "p"))
			c.change(job)
			if err := cluster.View().DeleteJob(t.Context(), job); !c.want(err) {
				t.Errorf("error is %v", err)
			}
			equal(t, "stored", names(cluster), c.stored)
		})
	}
}

func TestViewDeleteJobIsARequest(t *testing.T) {
	cluster, _ := newCluster()
	job := createJob(t, cluster, newJob("j"))
	denied := errors.New("denied")
	cluster.OnRequest = func(verb fake.Verb, object runtime.Object) error {
		if verb != fake.Delete {
			return nil
		}
		equal(t, "object", object, runtime.Object(job))
		return denied
	}
	if err := cluster.View().DeleteJob(t.Context(), job); !errors.Is(err, denied) {
		t.Errorf("error is %v, want that of the hook", err)
	}
}
