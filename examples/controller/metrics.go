package main

import (
	"errors"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	batchv1 "k8s.io/api/batch/v1"
	clientmetrics "k8s.io/client-go/tools/metrics"
	"k8s.io/client-go/util/workqueue"

	"github.com/jobwright/jobwright/jobcontrol"
)

// metrics are what /metrics shows. What has a name that kube-controller-manager
// uses means the same as there; labels that are missing here are those that
// jobcontrol.Metrics does not tell.
type metrics struct {
	registry *prometheus.Registry

	syncDuration *prometheus.HistogramVec // result
	syncs        *prometheus.CounterVec   // result
	created      *prometheus.CounterVec   // status
	deleted      *prometheus.CounterVec   // status
	podsFinished *prometheus.CounterVec   // completion_mode, result
	jobsFinished *prometheus.CounterVec   // completion_mode, result, reason
	leading      *prometheus.GaugeVec     // name

	queue queueMetrics
	calls callMetrics
}

// jobs is the subsystem of the metrics of Job controllers.
const jobs = "job_controller"

func newMetrics() *metrics {
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}), collectors.NewBuildInfoCollector())
	r := registrar{registry}
	return &metrics{
		registry: registry,
		syncDuration: r.histogram(jobs, "job_sync_duration_seconds", "How long syncs of Jobs took, by result.",
			prometheus.ExponentialBuckets(0.004, 2, 15), "result"),
		syncs:        r.counter(jobs, "job_syncs_total", "Syncs of Jobs, by result.", "result"),
		created:      r.counter(jobs, "job_pods_creation_total", "Calls to create pods, by status: succeeded, failed, or unknown where the answer was lost.", "status"),
		deleted:      r.counter("jobwright", "pods_deletion_total", "Calls to delete pods, by status: succeeded, failed, or unknown where the answer was lost.", "status"),
		podsFinished: r.counter(jobs, "job_pods_finished_total", "Pods that the status of their Job has counted, by result.", "completion_mode", "result"),
		jobsFinished: r.counter(jobs, "jobs_finished_total", "Jobs that have ended, by result and the reason of the condition.", "completion_mode", "result", "reason"),
		leading:      r.gauge("leader_election", "master_status", "1 while this replica leads.", "name"),
		queue:        newQueueMetrics(r),
		calls:        newCallMetrics(r),
	}
}

// install has client-go report here. It has one place for each kind of metrics
// in a process, and the first to install some keeps it.
func (m *metrics) install() {
	workqueue.SetProvider(m.queue)
	clientmetrics.Register(clientmetrics.RegisterOpts{
		RequestResult:      m.calls,
		RequestLatency:     latency{m.calls.duration},
		RateLimiterLatency: latency{m.calls.throttled},
		RequestRetry:       retries{m.calls.retries},
	})
}

func (m *metrics) handler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/metrics", promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{}))
	return mux
}

// controller returns what a Controller reports to.
func (m *metrics) controller() *jobcontrol.Metrics {
	return &jobcontrol.Metrics{
		Synced: func(took time.Duration, err error) {
			result := "success"
			if err != nil && !errors.Is(err, jobcontrol.ErrPodsFailed) {
				result = "error"
			}
			m.syncs.WithLabelValues(result).Inc()
			m.syncDuration.WithLabelValues(result).Observe(took.Seconds())
		},
		Created: counted(m.created),
		Deleted: counted(m.deleted),
	}
}

// counted counts calls under the words that upstream has. One that was skipped
// is none.
func counted(by *prometheus.CounterVec) func(jobcontrol.Call, int) {
	return func(result jobcontrol.Call, n int) {
		status := map[jobcontrol.Call]string{
			jobcontrol.Done: "succeeded", jobcontrol.Refused: "failed", jobcontrol.Unknown: "unknown",
		}[result]
		if status != "" {
			by.WithLabelValues(status).Add(float64(n))
		}
	}
}

// jobUpdated returns what counts ends of pods and Jobs from updates of the Jobs
// of a controller: what their status counts is true by then.
func (m *metrics) jobUpdated(managedBy string) func(old, cur *batchv1.Job) {
	return func(old, cur *batchv1.Job) {
		manager := batchv1.JobControllerName
		if cur.Spec.ManagedBy != nil {
			manager = *cur.Spec.ManagedBy
		}
		if manager != managedBy || old.UID != cur.UID {
			return
		}
		mode := string(batchv1.NonIndexedCompletion)
		if cur.Spec.CompletionMode != nil {
			mode = string(*cur.Spec.CompletionMode)
		}
		for result, n := range map[string]int32{
			"succeeded": cur.Status.Succeeded - old.Status.Succeeded,
			"failed":    cur.Status.Failed - old.Status.Failed,
		} {
			m.podsFinished.WithLabelValues(mode, result).Add(float64(max(n, 0))) // an elastic Job may count less
		}
		if end := jobcontrol.End(cur); end != nil && !jobcontrol.IsFinished(old) {
			result := "succeeded"
			if end.Type == batchv1.JobFailed {
				result = "failed"
			}
			m.jobsFinished.WithLabelValues(mode, result, end.Reason).Inc()
		}
	}
}

// leads returns what is told whether this replica works under the lease.
func (m *metrics) leads(lease string) func(bool) {
	status := m.leading.WithLabelValues(lease)
	return func(leads bool) {
		status.Set(0)
		if leads {
			status.Set(1)
		}
	}
}
