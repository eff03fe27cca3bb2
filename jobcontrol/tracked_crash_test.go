package jobcontrol_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobwright/jobwright/fake"
	"github.com/jobwright/jobwright/jobcontrol"
)

// fault is what happens to one call of the Controller's.
type fault struct {
	name    string
	effect  bool // the call takes effect all the same
	crashes bool // the process ends, and another begins
}

var faults = []fault{
	{"refused", false, false},
	{"answer lost", true, false},
	{"crash before the call", false, true},
	{"crash after the call", true, true},
}

// story is a Job and the world around it.
type story struct {
	job *batchv1.Job
	// before fills the cluster.
	before func(*harness)
	// ends says how the n-th pod made ends; 0 runs on.
	ends func(n int, pod *corev1.Pod) corev1.PodPhase
	// user changes things at the beginning of a round.
	user map[int]func(*harness)
}

func succeeds(int, *corev1.Pod) corev1.PodPhase { return corev1.PodSucceeded }

// fails makes the first n pods fail, and those behind them succeed.
func fails(n int) func(int, *corev1.Pod) corev1.PodPhase {
	return func(i int, _ *corev1.Pod) corev1.PodPhase {
		if i <= n {
			return corev1.PodFailed
		}
		return corev1.PodSucceeded
	}
}

func stories() map[string]story {
	runsOn := func(int, *corev1.Pod) corev1.PodPhase { return "" }
	first := func(phase corev1.PodPhase) func(int, *corev1.Pod) corev1.PodPhase {
		return func(n int, _ *corev1.Pod) corev1.PodPhase {
			if n == 1 {
				return phase
			}
			return ""
		}
	}
	byIndex := func(n int, pod *corev1.Pod) corev1.PodPhase {
		if pod.Annotations[batchv1.JobCompletionIndexAnnotation] == "1" {
			return corev1.PodFailed
		}
		return corev1.PodSucceeded
	}
	deadline := func(s *batchv1.JobSpec) { s.ActiveDeadlineSeconds = new(int64(60)) }
	scale := func(parallelism int32) func(*harness) {
		return func(h *harness) { h.update(func(j *batchv1.Job) { j.Spec.Parallelism = &parallelism }) }
	}
	lateEnd := func(n int, pod *corev1.Pod) corev1.PodPhase {
		if age := pod.Annotations["age"]; len(age) < 6 {
			return ""
		}
		return corev1.PodSucceeded
	}
	return map[string]story{
		"all succeed":      {job: parallel(2, 4, 6), ends: succeeds},
		"one fails":        {job: parallel(2, 3, 6), ends: fails(1)},
		"too many fail":    {job: parallel(3, 5, 1), ends: fails(2)},
		"work queue":       {job: newJob(sized(3, -1, 6)), ends: succeeds},
		"deadline":         {job: newJob(and(sized(2, 2, 6), deadline)), ends: runsOn},
		"Indexed":          {job: newJob(and(sized(2, 4, 6), asIndexed)), ends: fails(1)},
		"a limit by index": {job: newJob(and(sized(2, 3, 99), perIndex(1))), ends: byIndex},
		"failure policy":   {job: newJob(and(sized(3, 3, 6), failJobOn(1))), ends: first(corev1.PodFailed)},
		// With TerminatingOrFailed a pod that is deleted for the success counts as
		// failed if it is seen before its untracking: as upstream has it.
		"success policy":        {job: newJob(and(sized(3, 3, 6), succeedsBy("", 1), replaceFailed)), ends: first(corev1.PodSucceeded)},
		"scaled down and up":    {job: parallel(3, 3, 6), ends: lateEnd, user: map[int]func(*harness){1: scale(1), 3: scale(3)}},
		"suspended and resumed": {job: newJob(and(sized(2, 2, 6), asIndexed)), ends: lateEnd, user: map[int]func(*harness){1: (*harness).suspendNow, 3: (*harness).resumeNow}},
		"adoption":              {job: selecting(), ends: succeeds, before: func(h *harness) { h.orphan("j-00000") }},
		"deleted":               {job: parallel(2, 2, 6), ends: runsOn, user: map[int]func(*harness){2: func(h *harness) { h.deleteJob(metav1.DeletePropagationForeground) }}},
	}
}

func (h *harness) suspendNow() { h.suspend(true) }
func (h *harness) resumeNow()  { h.suspend(false) }

// trouble lets one call go wrong.
type trouble struct {
	fault
	at    int // number of the call, from 1; 0: none
	calls int
	dead  bool
	made  int // pods
	// before and after run around each call, if not nil.
	before, after func()
}

var errDead = errors.New("the process is dead")

// meet runs a call with its fault.
func (x *trouble) meet(call func() error) error {
	if x.dead {
		return errDead
	}
	if x.calls++; x.before != nil {
		x.before()
		defer x.after()
	}
	if x.calls != x.at {
		return call()
	}
	x.dead = x.crashes
	if x.effect {
		if err := call(); err != nil {
			return err
		}
		return apierrors.NewTimeoutError("the answer is lost", 0)
	}
	return errInternal
}

// troubled passes calls on to a cluster, as PodControl and as JobStore.
type troubled struct {
	store
	*trouble
}

func (x troubled) Create(ctx context.Context, pod *corev1.Pod) (made *corev1.Pod, err error) {
	err = x.meet(func() (err error) {
		x.made++
		made, err = x.h.cluster.Create(ctx, pod)
		return err
	})
	return made, err
}

func (x troubled) Delete(ctx context.Context, pod *corev1.Pod) error {
	return x.meet(func() error { return x.h.cluster.Delete(ctx, pod) })
}

func (x troubled) Patch(ctx context.Context, pod *corev1.Pod, patch []byte) error {
	return x.meet(func() error { return x.h.cluster.Patch(ctx, pod, patch) })
}

func (x troubled) UpdateJobStatus(ctx context.Context, job *batchv1.Job) (written *batchv1.Job, err error) {
	err = x.meet(func() (err error) {
		written, err = x.store.UpdateJobStatus(ctx, job)
		return err
	})
	return written, err
}

// begin puts a process without memory to work.
func (x *trouble) begin(h *harness) {
	h.t.Helper()
	h.view, h.queue, x.dead = h.cluster.View(), fake.NewQueue(h.clock), false
	parts := troubled{store{h.view, h}, x}
	cfg := jobcontrol.Config{BatchPeriod: -1, MaxInFlight: 1, Clock: h.clock, Events: h}
	controller, err := jobcontrol.New(parts, h.view, parts, h.queue, cfg)
	if err != nil {
		h.t.Fatal(err)
	}
	h.controller = controller
	h.view.Notify(controller)
}

// tell leads a story to its end and says how it ended.
func (s story) tell(t *testing.T, x *trouble) string {
	h := newHarness(t, epoch, unbatched)
	if s.before != nil {
		s.before(h)
	}
	x.begin(h)
	if _, err := h.cluster.CreateJob(t.Context(), s.job); err != nil {
		t.Fatal(err)
	}
	for round := range 16 {
		if user := s.user[round]; user != nil {
			user(h)
		}
		for h.view.Deliver()+h.work() > 0 {
			if x.dead {
				x.begin(h)
			}
		}
		s.kubelet(h)
		h.clock.Advance(15 * time.Second)
	}
	return x.report(h)
}

// kubelet runs pods, ends them, and takes away those that are deleted.
func (s story) kubelet(h *harness) {
	for _, pod := range h.pods() {
		n, _ := strconv.Atoi(pod.Name[strings.LastIndex(pod.Name, "-")+1:])
		switch phase := s.ends(n, pod); {
		case pod.DeletionTimestamp != nil:
			h.remove(pod)
		case pod.Status.Phase == corev1.PodPending:
			h.run(pod)
		case pod.Status.Phase == corev1.PodRunning && phase != "":
			h.endAt(phase, 1, pod)
		case pod.Status.Phase == corev1.PodRunning:
			if pod.Annotations == nil {
				pod.Annotations = map[string]string{}
			}
			pod.Annotations["age"] += "x"
			if _, err := h.cluster.UpdatePod(h.t.Context(), pod); err != nil {
				h.t.Fatal(err)
			}
		}
	}
}

// report is how a story ended, whatever the detours.
func (x *trouble) report(h *harness) string {
	var b strings.Builder
	fmt.Fprintf(&b, "made %d, live %d, held %d\n", x.made, len(h.live()), len(h.finalized()))
	job, err := h.cluster.FetchJob(h.t.Context(), "ns", "j")
	if err != nil {
		return b.String() + "the Job is gone\n"
	}
	s := job.Status
	fmt.Fprintf(&b, "active %d, succeeded %d %q, failed %d\n", s.Active, s.Succeeded, s.CompletedIndexes, s.Failed)
	var conditions []string
	for _, c := range s.Conditions {
		conditions = append(conditions, fmt.Sprintf("%s %s %s\n", c.Type, c.Status, c.Reason))
	}
	slices.Sort(conditions)
	b.WriteString(strings.Join(conditions, ""))
	return b.String()
}

// TestOneFaultChangesNothing: whichever call goes wrong, and however, the story
// ends as it does without: no pod is counted twice, none is lost, none is made
// without need.
func TestOneFaultChangesNothing(t *testing.T) {
	for name, s := range stories() {
		t.Run(name, func(t *testing.T) {
			none := &trouble{}
			want := s.tell(t, none)
			if !strings.Contains(want, "True") && !strings.Contains(want, "gone") || !strings.Contains(want, "live 0, held 0") {
				t.Fatalf("without fault it does not end:\n%s", want)
			}
			for _, f := range faults {
				for at := 1; at <= none.calls; at++ {
					x := &trouble{fault: f, at: at}
					if diff := cmp.Diff(want, s.tell(t, x)); diff != "" {
						t.Errorf("call %d of %d, %s (-want +got):\n%s", at, none.calls, f.name, diff)
					}
				}
			}
		})
	}
}
