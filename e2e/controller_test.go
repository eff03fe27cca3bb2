package e2e

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/yaml"
)

// examples/controller as a user meets it: started with the rights of its
// manifests, it completes the Job of its manifests, says so in its metrics, and
// drains when it is told to stop.
func TestController(t *testing.T) {
	w := newWorld(t)
	p := w.run("controller", account.Namespace+"/"+account.Name, "-metrics-address", "127.0.0.1:0", "-health-address", "127.0.0.1:0", "-namespace", w.namespace)
	metrics, health := p.awaitLog(`serving metrics" address=(\S+)`), p.awaitLog(`serving health" address=(\S+)`)
	p.awaitLog("working")
	for _, path := range []string{"/healthz", "/readyz"} {
		if status, body := get(t, health, path); status != 200 {
			t.Errorf("%s: %d %s", path, status, body)
		}
	}
	w.submit(manifest(t, "../examples/controller/manifests/job.yaml"))
	for range 5 {
		w.finish("squares", succeeds)
	}
	w.counts(w.awaitEnd("squares", batchv1.JobComplete, batchv1.JobReasonCompletionsReached), 5, 0)
	w.wantPatches(5)
	// What is measured of a Job comes after its end; by that of another it is there.
	another := newJob("another", 1, 1)
	another.Spec.ManagedBy = new(exampleManager)
	w.submit(another)
	w.finish("another", succeeds)
	w.awaitEnd("another", batchv1.JobComplete, batchv1.JobReasonCompletionsReached)
	_, measured := get(t, metrics, "/metrics")
	for _, line := range []string{
		`job_controller_jobs_finished_total{completion_mode="Indexed",reason="CompletionsReached",result="succeeded"} 1`,
		`job_controller_job_pods_finished_total{completion_mode="Indexed",result="succeeded"} 5`,
		`rest_client_requests_total{`,
		`workqueue_depth{name="job"`,
		`job_controller_job_sync_duration_seconds_count{`,
	} {
		if !strings.Contains(measured, line) {
			t.Errorf("/metrics has no line %s:\n%s", line, measured)
		}
	}
	p.signal(syscall.SIGTERM)
	if status := p.wait(); status != 0 {
		t.Errorf("exit status %d, want 0", status)
	}
}

// Two replicas: the leader is told to stop, or stops of itself as a process does
// that the machine has no time for. The other takes over; the Job is counted as
// if nothing had happened, and what the frozen one does when it thaws does no
// harm.
func TestLeaderElection(t *testing.T) {
	election := []string{
		"-leader-elect", "-leader-elect-lease-duration", "3s", "-leader-elect-renew-deadline", "2s", "-leader-elect-retry-period", "300ms",
	}
	for name, frozen := range map[string]bool{"the leader is told to stop": false, "the leader is frozen": true} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.kubelet.fate = func(*corev1.Pod) (fate, bool) { return fate{after: 300 * time.Millisecond}, true }
			args := append([]string{"-name", w.manager, "-namespace", w.namespace}, election...)
			as := account.Namespace + "/" + account.Name
			leader := w.run("controller", as, args...)
			leader.awaitLog("working")
			other := w.run("controller", as, args...)
			other.awaitLog("standing by")
			w.submit(newJob("j", 12, 3))
			w.awaitJob("j", "some have succeeded", func(job *batchv1.Job) bool { return job.Status.Succeeded >= 3 })
			if frozen {
				leader.signal(syscall.SIGSTOP)
			} else {
				leader.signal(syscall.SIGTERM)
				if status := leader.wait(); status != 0 {
					t.Errorf("the leader's exit status is %d, want 0", status)
				}
			}
			other.awaitLog("working")
			if frozen { // in the middle of what the other does
				leader.signal(syscall.SIGCONT)
				if status := leader.wait(); status == 0 {
					t.Error("the former leader ends as if it had been told to")
				}
			}
			w.counts(w.awaitEnd("j", batchv1.JobComplete, batchv1.JobReasonCompletionsReached), 12, 0)
			w.wantPods("j", 12)
		})
	}
}

// Without rights it says which are missing, and does not hang.
func TestControllerWithoutRights(t *testing.T) {
	w := newWorld(t)
	w.awaitServiceAccount()
	p := w.run("controller", w.namespace+"/default", "-namespace", w.namespace)
	if status := p.wait(); status != 1 {
		t.Errorf("exit status %d, want 1", status)
	}
	for _, text := range []string{"create", "pods", w.namespace, "rbac.yaml"} {
		if !strings.Contains(p.log.String(), text) {
			t.Errorf("the log does not name %q:\n%s", text, p.log.String())
		}
	}
}

// awaitServiceAccount returns when the namespace has its default ServiceAccount.
func (w *world) awaitServiceAccount() {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), patience)
	defer cancel()
	accounts, err := w.client.CoreV1().ServiceAccounts(w.namespace).Watch(ctx, metav1.ListOptions{})
	if err != nil {
		w.t.Fatal(err)
	}
	defer accounts.Stop()
	if _, ok := <-accounts.ResultChan(); !ok {
		w.t.Fatal("no ServiceAccount")
	}
}

// manifest is the Job of a file.
func manifest(t *testing.T, path string) *batchv1.Job {
	t.Helper()
	content, err := os.ReadFile(filepath.FromSlash(path))
	if err != nil {
		t.Fatal(err)
	}
	job := &batchv1.Job{}
	if err := yaml.UnmarshalStrict(content, job); err != nil {
		t.Fatal(err)
	}
	return job
}
