package main

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/util/workqueue"

	"github.com/jobwright/jobwright/jobcontrol"
)

// scrape returns the lines of /metrics that match.
func scrape(m *metrics, pattern string) []string {
	w := httptest.NewRecorder()
	m.handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	return regexp.MustCompile(`(?m)^(?:`+pattern+`).*$`).FindAllString(w.Body.String(), -1)
}

func sorted(s []string) []string { return slices.Sorted(slices.Values(s)) }

func wantMetrics(t *testing.T, m *metrics, pattern string, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, sorted(scrape(m, pattern))); diff != "" {
		t.Errorf("metrics (-want +got):\n%s", diff)
	}
}

func TestControllerMetrics(t *testing.T) {
	m := newMetrics()
	c := m.controller()
	c.Synced(time.Second, nil)
	c.Synced(time.Second, jobcontrol.ErrPodsFailed)
	c.Synced(2*time.Second, errors.New("no"))
	c.Created(jobcontrol.Done, 3)
	c.Created(jobcontrol.Refused, 2)
	c.Created(jobcontrol.Unknown, 1)
	c.Created(jobcontrol.Skipped, 100)
	c.Deleted(jobcontrol.Done, 4)
	m.leads("l")(true)
	wantMetrics(t, m, `job_controller_.*_(?:total|sum|count)\b|jobwright|leader`,
		`job_controller_job_pods_creation_total{status="failed"} 2`,
		`job_controller_job_pods_creation_total{status="succeeded"} 3`,
		`job_controller_job_pods_creation_total{status="unknown"} 1`,
		`job_controller_job_sync_duration_seconds_count{result="error"} 1`,
		`job_controller_job_sync_duration_seconds_count{result="success"} 2`,
		`job_controller_job_sync_duration_seconds_sum{result="error"} 2`,
		`job_controller_job_sync_duration_seconds_sum{result="success"} 2`,
		`job_controller_job_syncs_total{result="error"} 1`,
		`job_controller_job_syncs_total{result="success"} 2`,
		`jobwright_pods_deletion_total{status="succeeded"} 4`,
		`leader_election_master_status{name="l"} 1`,
	)
}

// status is a Job with counters, and a terminal condition if a reason is given.
func status(managedBy string, succeeded, failed int32, end batchv1.JobConditionType, reason string) *batchv1.Job {
	job := &batchv1.Job{Spec: batchv1.JobSpec{ManagedBy: &managedBy}, Status: batchv1.JobStatus{Succeeded: succeeded, Failed: failed}}
	if reason != "" {
		job.Status.Conditions = []batchv1.JobCondition{{Type: end, Status: corev1.ConditionTrue, Reason: reason}}
	}
	return job
}

func TestEndsAreCountedOnce(t *testing.T) {
	m := newMetrics()
	updated := m.jobUpdated("a.b/c")
	story := []*batchv1.Job{
		status("a.b/c", 0, 0, "", ""),
		status("a.b/c", 2, 0, "", ""),
		status("a.b/c", 3, 1, "", ""),
		status("a.b/c", 3, 1, batchv1.JobFailureTarget, "DeadlineExceeded"),
		status("a.b/c", 3, 2, batchv1.JobFailed, "DeadlineExceeded"),
		status("a.b/c", 3, 2, batchv1.JobFailed, "DeadlineExceeded"),
	}
	for i := range story[1:] {
		updated(story[i], story[i+1])
	}
	updated(status("other.b/c", 0, 0, "", ""), status("other.b/c", 1, 0, batchv1.JobComplete, "CompletionsReached"))
	recreated := status("a.b/c", 9, 9, batchv1.JobComplete, "CompletionsReached")
	recreated.UID = "another"
	updated(story[0], recreated)
	indexed := status("a.b/c", 1, 0, batchv1.JobComplete, "CompletionsReached")
	indexed.Spec.CompletionMode = new(batchv1.IndexedCompletion)
	updated(story[0], indexed)
	wantMetrics(t, m, `job_controller_.*finished`,
		`job_controller_job_pods_finished_total{completion_mode="Indexed",result="failed"} 0`,
		`job_controller_job_pods_finished_total{completion_mode="Indexed",result="succeeded"} 1`,
		`job_controller_job_pods_finished_total{completion_mode="NonIndexed",result="failed"} 2`,
		`job_controller_job_pods_finished_total{completion_mode="NonIndexed",result="succeeded"} 3`,
		`job_controller_jobs_finished_total{completion_mode="Indexed",reason="CompletionsReached",result="succeeded"} 1`,
		`job_controller_jobs_finished_total{completion_mode="NonIndexed",reason="DeadlineExceeded",result="failed"} 1`,
	)
}

func TestQueueMetrics(t *testing.T) {
	m := newMetrics()
	queue := workqueue.NewTypedRateLimitingQueueWithConfig(workqueue.DefaultTypedControllerRateLimiter[string](),
		workqueue.TypedRateLimitingQueueConfig[string]{Name: queueName, MetricsProvider: m.queue})
	defer queue.ShutDown()
	queue.Add("a")
	queue.Add("b")
	queue.Add("c")
	key, _ := queue.Get()
	queue.Done(key)
	queue.AddAfter("d", time.Hour)
	wantMetrics(t, m, `workqueue_(?:depth|adds|retries|.*_count)`,
		`workqueue_adds_total{name="job"} 3`,
		`workqueue_depth{name="job"} 2`,
		`workqueue_queue_duration_seconds_count{name="job"} 1`,
		`workqueue_retries_total{name="job"} 1`,
		`workqueue_work_duration_seconds_count{name="job"} 1`,
	)
}

func TestCallMetrics(t *testing.T) {
	m := newMetrics()
	ctx, there := context.Background(), url.URL{Host: "there"}
	m.calls.Increment(ctx, "201", "POST", "there")
	retries{m.calls.retries}.IncrementRetry(ctx, "429", "POST", "there")
	latency{m.calls.duration}.Observe(ctx, "POST", there, time.Second)
	latency{m.calls.throttled}.Observe(ctx, "POST", there, 2*time.Second)
	wantMetrics(t, m, `rest_client_.*_(?:total|sum)`,
		`rest_client_rate_limiter_duration_seconds_sum{host="there",verb="POST"} 2`,
		`rest_client_request_duration_seconds_sum{host="there",verb="POST"} 1`,
		`rest_client_request_retries_total{code="429",host="there",verb="POST"} 1`,
		`rest_client_requests_total{code="201",host="there",method="POST"} 1`,
	)
}
