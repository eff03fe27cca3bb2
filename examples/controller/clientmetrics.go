package main

import (
	"context"
	"net/url"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/util/workqueue"
)

// registrar makes metrics and registers them.
type registrar struct{ with prometheus.Registerer }

func (r registrar) counter(subsystem, name, help string, labels ...string) *prometheus.CounterVec {
	c := prometheus.NewCounterVec(prometheus.CounterOpts{Subsystem: subsystem, Name: name, Help: help}, labels)
	r.with.MustRegister(c)
	return c
}

func (r registrar) gauge(subsystem, name, help string, labels ...string) *prometheus.GaugeVec {
	g := prometheus.NewGaugeVec(prometheus.GaugeOpts{Subsystem: subsystem, Name: name, Help: help}, labels)
	r.with.MustRegister(g)
	return g
}

func (r registrar) histogram(subsystem, name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
	h := prometheus.NewHistogramVec(prometheus.HistogramOpts{Subsystem: subsystem, Name: name, Help: help, Buckets: buckets}, labels)
	r.with.MustRegister(h)
	return h
}

// queueMetrics is the workqueue.MetricsProvider; each has the label name.
type queueMetrics struct {
	depth, unfinished, longest *prometheus.GaugeVec
	adds, retries              *prometheus.CounterVec
	waited, worked             *prometheus.HistogramVec
}

func newQueueMetrics(r registrar) queueMetrics {
	const queue = "workqueue"
	buckets := prometheus.ExponentialBuckets(10e-9, 10, 12)
	return queueMetrics{
		depth:      r.gauge(queue, "depth", "Keys that wait in the queue.", "name"),
		unfinished: r.gauge(queue, "unfinished_work_seconds", "Seconds that the syncs under way have taken, in sum.", "name"),
		longest:    r.gauge(queue, "longest_running_processor_seconds", "Seconds that the longest sync under way has taken.", "name"),
		adds:       r.counter(queue, "adds_total", "Keys added to the queue.", "name"),
		retries:    r.counter(queue, "retries_total", "Keys added to the queue for later, with or without back-off.", "name"),
		waited:     r.histogram(queue, "queue_duration_seconds", "Seconds that keys have waited in the queue.", buckets, "name"),
		worked:     r.histogram(queue, "work_duration_seconds", "Seconds from taking a key to being done with it.", buckets, "name"),
	}
}

func (q queueMetrics) NewDepthMetric(name string) workqueue.GaugeMetric {
	return q.depth.WithLabelValues(name)
}

func (q queueMetrics) NewAddsMetric(name string) workqueue.CounterMetric {
	return q.adds.WithLabelValues(name)
}

func (q queueMetrics) NewLatencyMetric(name string) workqueue.HistogramMetric {
	return q.waited.WithLabelValues(name)
}

func (q queueMetrics) NewWorkDurationMetric(name string) workqueue.HistogramMetric {
	return q.worked.WithLabelValues(name)
}

func (q queueMetrics) NewUnfinishedWorkSecondsMetric(name string) workqueue.SettableGaugeMetric {
	return q.unfinished.WithLabelValues(name)
}

func (q queueMetrics) NewLongestRunningProcessorSecondsMetric(name string) workqueue.SettableGaugeMetric {
	return q.longest.WithLabelValues(name)
}

func (q queueMetrics) NewRetriesMetric(name string) workqueue.CounterMetric {
	return q.retries.WithLabelValues(name)
}

// callMetrics are about calls to the API server.
type callMetrics struct {
	results             *prometheus.CounterVec   // code, method, host
	retries             *prometheus.CounterVec   // code, verb, host
	duration, throttled *prometheus.HistogramVec // verb, host
}

func newCallMetrics(r registrar) callMetrics {
	const calls = "rest_client"
	buckets := []float64{0.005, 0.025, 0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30, 60}
	return callMetrics{
		results:   r.counter(calls, "requests_total", "Calls to the API server, by status code and method.", "code", "method", "host"),
		retries:   r.counter(calls, "request_retries_total", "Calls to the API server that were repeated, by status code and verb.", "code", "verb", "host"),
		duration:  r.histogram(calls, "request_duration_seconds", "How long calls to the API server took, by verb.", buckets, "verb", "host"),
		throttled: r.histogram(calls, "rate_limiter_duration_seconds", "How long calls waited for -qps and -burst, by verb.", buckets, "verb", "host"),
	}
}

// Increment counts the answer to a call.
func (c callMetrics) Increment(_ context.Context, code, method, host string) {
	c.results.WithLabelValues(code, method, host).Inc()
}

// latency is a metric of client-go that is told times of calls.
type latency struct{ by *prometheus.HistogramVec }

func (l latency) Observe(_ context.Context, verb string, u url.URL, took time.Duration) {
	l.by.WithLabelValues(verb, u.Host).Observe(took.Seconds())
}

// retries is a metric of client-go that is told of repeated calls.
type retries struct{ by *prometheus.CounterVec }

func (r retries) IncrementRetry(_ context.Context, code, verb, host string) {
	r.by.WithLabelValues(code, verb, host).Inc()
}
