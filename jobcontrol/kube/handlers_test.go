package kube_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"testing"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/jobwright/jobwright/jobcontrol/kube"
)

// heard writes down the typed events it is told.
type heard []string

func (h *heard) add(format string, args ...any)   { *h = append(*h, fmt.Sprintf(format, args...)) }
func (h *heard) JobAdded(job *batchv1.Job)        { h.add("added %s/%s %s", job.Namespace, job.Name, job.UID) }
func (h *heard) JobUpdated(old, cur *batchv1.Job) { h.add("updated %s to %s", old.UID, cur.UID) }
func (h *heard) JobDeleted(job *batchv1.Job) {
	h.add("deleted %s/%s %s", job.Namespace, job.Name, job.UID)
}
func (h *heard) PodAdded(pod *corev1.Pod)        { h.add("added %s/%s %s", pod.Namespace, pod.Name, pod.UID) }
func (h *heard) PodUpdated(old, cur *corev1.Pod) { h.add("updated %s to %s", old.UID, cur.UID) }
func (h *heard) PodDeleted(pod *corev1.Pod) {
	h.add("deleted %s/%s %s", pod.Namespace, pod.Name, pod.UID)
}

func TestHandlers(t *testing.T) {
	job, recreated := newJob("j", 1, 1), newJob("j", 1, 1)
	recreated.UID = "uid-new"
	pod, replaced := newPod("p", "j", nil), newPod("p", "j", nil)
	replaced.UID = "uid-new"

	tests := []struct {
		name     string
		event    func(jobs, pods cache.ResourceEventHandler)
		want     heard
		warnings int
	}{
		{name: "job added", event: func(j, _ cache.ResourceEventHandler) { j.OnAdd(job, true) }, want: heard{"added ns/j uid-j"}},
		{name: "pod added", event: func(_, p cache.ResourceEventHandler) { p.OnAdd(pod, false) }, want: heard{"added ns/p uid-p"}},
		{name: "job updated", event: func(j, _ cache.ResourceEventHandler) { j.OnUpdate(job, recreated) }, want: heard{"updated uid-j to uid-new"}},
		{name: "pod updated", event: func(_, p cache.ResourceEventHandler) { p.OnUpdate(pod, replaced) }, want: heard{"updated uid-p to uid-new"}},
		{name: "job deleted", event: func(j, _ cache.ResourceEventHandler) { j.OnDelete(job) }, want: heard{"deleted ns/j uid-j"}},
		{name: "pod deleted", event: func(_, p cache.ResourceEventHandler) { p.OnDelete(pod) }, want: heard{"deleted ns/p uid-p"}},
		{name: "job tombstone", event: func(j, _ cache.ResourceEventHandler) {
			j.OnDelete(cache.DeletedFinalStateUnknown{Key: "ns/j", Obj: job})
		}, want: heard{"deleted ns/j uid-j"}},
		{name: "pod tombstone", event: func(_, p cache.ResourceEventHandler) {
			p.OnDelete(cache.DeletedFinalStateUnknown{Key: "ns/p", Obj: pod})
		}, want: heard{"deleted ns/p uid-p"}},
		{name: "job tombstone without object", event: func(j, _ cache.ResourceEventHandler) {
			j.OnDelete(cache.DeletedFinalStateUnknown{Key: "ns/j"})
		}, want: heard{"deleted ns/j "}},
		{name: "job tombstone without object, key unreadable", event: func(j, _ cache.ResourceEventHandler) {
			j.OnDelete(cache.DeletedFinalStateUnknown{Key: "a/b/c"})
		}, warnings: 1},
		{name: "pod tombstone without object", event: func(_, p cache.ResourceEventHandler) {
			p.OnDelete(cache.DeletedFinalStateUnknown{Key: "ns/p"})
		}, warnings: 1},
		{name: "pods where jobs belong", event: func(j, _ cache.ResourceEventHandler) {
			j.OnAdd(pod, false)
			j.OnUpdate(job, pod)
			j.OnUpdate(pod, job)
			j.OnDelete(pod)
			j.OnDelete(cache.DeletedFinalStateUnknown{Key: "ns/p", Obj: pod})
			j.OnDelete(nil)
		}, warnings: 6},
		{name: "jobs where pods belong", event: func(_, p cache.ResourceEventHandler) {
			p.OnAdd(job, false)
			p.OnUpdate(pod, job)
			p.OnDelete(cache.DeletedFinalStateUnknown{Key: "ns/j", Obj: job})
		}, warnings: 3},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var got, silent heard
			var log bytes.Buffer
			logger := slog.New(slog.NewTextHandler(&log, nil))
			tt.event(kube.JobHandler(&got, logger), kube.PodHandler(&got, logger))
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("told (-want +got):\n%s", diff)
			}
			if warnings := bytes.Count(log.Bytes(), []byte("level=WARN")); warnings != tt.warnings {
				t.Errorf("%d warnings, want %d:\n%s", warnings, tt.warnings, &log)
			}
			tt.event(kube.JobHandler(&silent, nil), kube.PodHandler(&silent, nil)) // no panic
		})
	}
}
