package jobcontrol

import (
	"fmt"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/util/validation"
)

// Names are the names that the library puts on pods. The zero value has those
// of batch/v1; a kind of your own takes its own, so that no other controller
// mistakes its pods for Job pods.
type Names struct {
	// Finalizer holds a pod until it is counted; "": batch.kubernetes.io/job-tracking.
	Finalizer string
	// LabelPrefix begins the names of labels and annotations, and ends in a
	// slash; "": batch.kubernetes.io/.
	LabelPrefix string
}

const batchPrefix = "batch.kubernetes.io/"

// check refuses names that the API would refuse on every pod.
func (n Names) check() error {
	if n.LabelPrefix != "" && !strings.HasSuffix(n.LabelPrefix, "/") {
		return fmt.Errorf("Names.LabelPrefix %q does not end in a slash", n.LabelPrefix)
	}
	if n.Finalizer != "" && !strings.Contains(n.Finalizer, "/") {
		return fmt.Errorf("Names.Finalizer %q has no domain", n.Finalizer)
	}
	for _, name := range []string{n.finalizer(), n.completionIndex()} {
		if msgs := validation.IsQualifiedName(name); len(msgs) > 0 {
			return fmt.Errorf("Names: %q: %s", name, strings.Join(msgs, "; "))
		}
	}
	return nil
}

func (n Names) finalizer() string {
	if n.Finalizer == "" {
		return batchv1.JobTrackingFinalizer
	}
	return n.Finalizer
}

// ofJobs says whether labels and annotations have the names of batch/v1.
func (n Names) ofJobs() bool { return n.LabelPrefix == "" || n.LabelPrefix == batchPrefix }

// Named returns what a label or annotation of batch/v1 is called under the prefix.
func (n Names) Named(batch string) string {
	if n.ofJobs() {
		return batch
	}
	return n.LabelPrefix + strings.TrimPrefix(batch, batchPrefix)
}

func (n Names) controllerUID() string   { return n.Named(batchv1.ControllerUidLabel) }
func (n Names) jobName() string         { return n.Named(batchv1.JobNameLabel) }
func (n Names) completionIndex() string { return n.Named(batchv1.JobCompletionIndexAnnotation) }
func (n Names) failureCount() string    { return n.Named(batchv1.JobIndexFailureCountAnnotation) }
func (n Names) ignoredFailureCount() string {
	return n.Named(batchv1.JobIndexIgnoredFailureCountAnnotation)
}
