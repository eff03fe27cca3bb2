package jobcontrol_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/jobwright/jobwright/fake"
	"github.com/jobwright/jobwright/jobcontrol"
)

var epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

const jobKey = "ns/j"

// harness is a Controller on a fake cluster whose events it sees when told to.
type harness struct {
	t          *testing.T
	clock      *fake.Clock
	cluster    *fake.Cluster
	view       *fake.View
	control    *fake.PodControl
	queue      *fake.Queue
	controller *jobcontrol.Controller
	events     []string
	statuses   []batchv1.JobStatus
	beforeSave func() error // runs before a status write
	afterSave  func()       // runs after it, before its answer
	errs       []error      // of the syncs
}

func newHarness(t *testing.T, now time.Time, cfg jobcontrol.Config) *harness {
	t.Helper()
	h := &harness{t: t, clock: fake.NewClock(now)}
	h.cluster = fake.NewCluster(h.clock)
	h.view = h.cluster.View()
	h.control = &fake.PodControl{Next: h.cluster}
	h.queue = fake.NewQueue(h.clock)
	h.restart(cfg)
	return h
}

// running returns a harness with a Job all of whose first pods are seen to run.
func running(t *testing.T, job *batchv1.Job) *harness {
	t.Helper()
	h := newHarness(t, epoch, unbatched)
	h.submit(job)
	h.run(h.pods()...)
	h.settle()
	return h
}

// restart puts a new Controller in the place of the old one.
func (h *harness) restart(cfg jobcontrol.Config) {
	h.t.Helper()
	cfg.Clock, cfg.Events = h.clock, h
	h.cluster.AnyStatus = cfg.Accounting == jobcontrol.Recount // the rules assume Tracked
	controller, err := jobcontrol.New(store{h.view, h}, h.view, h.control, h.queue, cfg)
	if err != nil {
		h.t.Fatal(err)
	}
	h.controller = controller
	h.view.Notify(controller)
}

// load stores a Job and its pods as they are, and lets the caches see them.
func (h *harness) load(job *batchv1.Job, pods []*corev1.Pod) {
	h.t.Helper()
	if err := h.cluster.Load(job); err != nil {
		h.t.Fatal(err)
	}
	for _, pod := range pods {
		if err := h.cluster.Load(pod); err != nil {
			h.t.Fatal(err)
		}
	}
	h.view.Deliver()
}

// Event records an event in the form "Type Reason Message".
func (h *harness) Event(_ runtime.Object, eventType, reason, message string) {
	h.events = append(h.events, eventType+" "+reason+" "+message)
}

// store is a View whose status writes are recorded.
type store struct {
	*fake.View
	h *harness
}

func (s store) UpdateJobStatus(ctx context.Context, job *batchv1.Job) (*batchv1.Job, error) {
	if s.h.beforeSave != nil {
		if err := s.h.beforeSave(); err != nil {
			return nil, err
		}
	}
	written, err := s.View.UpdateJobStatus(ctx, job)
	if s.h.afterSave != nil {
		s.h.afterSave()
	}
	if err == nil {
		s.h.statuses = append(s.h.statuses, job.Status)
	}
	return written, err
}

// statusWritten is the one status written, or nil.
func (h *harness) statusWritten() *batchv1.JobStatus {
	if len(h.statuses) > 1 {
		h.t.Errorf("%d statuses were written, want at most one", len(h.statuses))
	}
	if len(h.statuses) == 0 {
		return nil
	}
	return &h.statuses[0]
}

// work syncs every key that is due, as a worker does, without delivering events.
func (h *harness) work() (syncs int) {
	h.t.Helper()
	for {
		key, ok := h.queue.Take()
		if !ok {
			return syncs
		}
		next, err := h.controller.Sync(h.t.Context(), key)
		if err != nil {
			h.errs = append(h.errs, err)
		}
		jobcontrol.Schedule(h.controller, key, next, err)
		h.queue.Done(key)
		syncs++
	}
}

// settle delivers all events and syncs all that is due, until neither is left.
func (h *harness) settle() {
	h.t.Helper()
	for h.view.Deliver()+h.work() > 0 {
	}
}

// advance lets time pass, a second at a time, so that what waits gets its turn.
func (h *harness) advance(d time.Duration) {
	h.t.Helper()
	for ; d > 0; d -= time.Second {
		h.clock.Advance(min(d, time.Second))
		h.settle()
	}
}

// submit stores the Job and lets the Controller begin.
func (h *harness) submit(job *batchv1.Job) *batchv1.Job {
	h.t.Helper()
	created, err := h.cluster.CreateJob(h.t.Context(), job)
	if err != nil {
		h.t.Fatal(err)
	}
	h.settle()
	return created
}

func (h *harness) job() *batchv1.Job {
	h.t.Helper()
	job, err := h.cluster.FetchJob(h.t.Context(), "ns", "j")
	if err != nil {
		h.t.Fatal(err)
	}
	return job
}

// update changes the stored Job's spec or metadata.
func (h *harness) update(change func(*batchv1.Job)) {
	h.t.Helper()
	job := h.job()
	change(job)
	if _, err := h.cluster.UpdateJob(h.t.Context(), job); err != nil {
		h.t.Fatal(err)
	}
}

// pods are the stored pods in one of the phases, all without any.
func (h *harness) pods(phases ...corev1.PodPhase) []*corev1.Pod {
	var found []*corev1.Pod
	for _, pod := range h.cluster.Pods("ns") {
		if len(phases) == 0 || slices.Contains(phases, pod.Status.Phase) {
			found = append(found, pod)
		}
	}
	return found
}

// end moves pods to a phase, as a kubelet does.
func (h *harness) end(phase corev1.PodPhase, pods ...*corev1.Pod) {
	h.t.Helper()
	for _, pod := range pods {
		pod.Status.Phase = phase
		if _, err := h.cluster.UpdatePodStatus(h.t.Context(), pod); err != nil {
			h.t.Fatal(err)
		}
	}
}

// wantStatus compares the counters and the terminal condition of the stored Job.
func (h *harness) wantStatus(active, succeeded, failed int32, end batchv1.JobConditionType) {
	h.t.Helper()
	s := h.job().Status
	var ended batchv1.JobConditionType
	for _, c := range s.Conditions {
		if (c.Type == batchv1.JobComplete || c.Type == batchv1.JobFailed) && c.Status == corev1.ConditionTrue {
			ended += c.Type
		}
	}
	if s.Active != active || s.Succeeded != succeeded || s.Failed != failed || ended != end {
		h.t.Errorf("status is active %d, succeeded %d, failed %d, end %q, want %d, %d, %d, %q",
			s.Active, s.Succeeded, s.Failed, ended, active, succeeded, failed, end)
	}
}

// sawErr says whether any sync so far failed with this error.
func (h *harness) sawErr(target error) bool {
	return errors.Is(errors.Join(h.errs...), target)
}

// newJob is a Job as a user submits it, with nothing defaulted but what change sets.
func newJob(change func(*batchv1.JobSpec)) *batchv1.Job {
	job := &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "j"},
		Spec: batchv1.JobSpec{Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
			RestartPolicy: corev1.RestartPolicyNever,
			Containers:    []corev1.Container{{Name: "main", Image: "img"}},
		}}},
	}
	if change != nil {
		change(&job.Spec)
	}
	return job
}
