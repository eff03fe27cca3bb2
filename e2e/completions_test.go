package e2e

import (
	"testing"

	batchv1 "k8s.io/api/batch/v1"

	"github.com/jobwright/jobwright/jobcontrol/kube"
)

// Six completions, three at a time: the classic batch.
func TestFixedCompletions(t *testing.T) {
	w := newWorld(t)
	w.control(kube.Config{})
	w.submit(newJob("batch", 6, 3))
	for range 6 {
		w.finish("batch", succeeds)
	}
	job := w.awaitEnd("batch", batchv1.JobComplete, batchv1.JobReasonCompletionsReached)
	w.counts(job, 6, 0)
	w.wantPods("batch", 6)
}
