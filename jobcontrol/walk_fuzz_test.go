package jobcontrol_test

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobwright/jobwright/fake"
	"github.com/jobwright/jobwright/jobcontrol"
)

// walk leads a Job through a life that a fuzz input deals: users, kubelets,
// clocks and failing calls, and a sync after each. It holds every decision to
// what must be true of all of them.
type walk struct {
	*choices
	t        *testing.T
	job      *batchv1.Job
	pods     []*corev1.Pod
	now      time.Time
	lagging  map[types.UID]struct{} // untracked, and still shown with the finalizer
	failures jobcontrol.Failures
	made     int
	listed   map[types.UID]bool // every UID that was in uncountedTerminatedPods; true: as failed
}

// FuzzWalk holds Tracked to the rules of status, to counting each pod once, and
// to being a pure function.
func FuzzWalk(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte("a parallel Job whose pods come and go and fail and are counted once each, I hope"))
	for seed := range uint64(40) {
		data := make([]byte, 400)
		r := rand.New(rand.NewPCG(seed, 1))
		for i := range data {
			data[i] = byte(r.Uint32())
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) { walkJob(t, data) })
}

// TestWalks goes many ways that a fixed seed deals.
func TestWalks(t *testing.T) {
	var ends int
	for seed := range uint64(300) {
		data := make([]byte, 3000)
		r := rand.New(rand.NewPCG(seed, 2))
		for i := range data {
			data[i] = byte(r.Uint32())
		}
		if w := walkJob(t, data); jobcontrol.IsFinished(w.job) {
			ends++
		}
	}
	if ends < 100 {
		t.Errorf("%d of 300 Jobs came to an end: the walks are too short to tell much", ends)
	}
}

func walkJob(t *testing.T, data []byte) *walk {
	w := &walk{choices: &choices{data}, t: t, now: epoch, lagging: map[types.UID]struct{}{}, listed: map[types.UID]bool{}}
	w.job = w.dealJob()
	for range 200 {
		w.sync()
		if len(w.data) == 0 {
			break
		}
		w.happen()
	}
	return w
}

func (w *walk) dealJob() *batchv1.Job {
	job := stored(func(j *batchv1.Job) {
		j.Status.StartTime = nil
		s := &j.Spec
		s.Parallelism, s.BackoffLimit = new(int32(w.below(5))), new(int32(w.below(4)))
		if w.below(4) > 0 {
			s.Completions = new(int32(w.below(6)))
		}
		if w.below(4) == 0 {
			s.ActiveDeadlineSeconds = new(int64(100))
		}
		if w.below(4) == 0 {
			s.Suspend = new(true)
		}
		if w.yes() {
			s.PodReplacementPolicy = new(batchv1.Failed)
		}
		if s.Completions != nil && w.yes() {
			w.dealIndexed(s)
		}
		if w.below(3) == 0 {
			w.dealFailurePolicy(s)
		}
	})
	jobcontrol.Default(job)
	return job
}

func (w *walk) dealIndexed(s *batchv1.JobSpec) {
	s.CompletionMode = new(batchv1.IndexedCompletion)
	if w.yes() {
		s.BackoffLimit, s.BackoffLimitPerIndex = nil, new(int32(w.below(3)))
		if w.yes() {
			s.MaxFailedIndexes = new(int32(w.below(3)))
		}
	}
	if w.below(3) == 0 && *s.Completions > 0 {
		s.SuccessPolicy = &batchv1.SuccessPolicy{Rules: []batchv1.SuccessPolicyRule{{SucceededIndexes: new("0"), SucceededCount: new(int32(1))}}}
	}
}

func (w *walk) dealFailurePolicy(s *batchv1.JobSpec) {
	s.PodReplacementPolicy = new(batchv1.Failed)
	actions := []batchv1.PodFailurePolicyAction{"Ignore", "FailJob", "Count"}
	if s.BackoffLimitPerIndex != nil {
		actions = append(actions, "FailIndex")
	}
	s.PodFailurePolicy = &batchv1.PodFailurePolicy{Rules: []batchv1.PodFailurePolicyRule{{
		Action:      actions[w.below(len(actions))],
		OnExitCodes: &batchv1.PodFailurePolicyOnExitCodesRequirement{Operator: "In", Values: []int32{1}},
	}}}
}

// happen is what the world does between two syncs.
func (w *walk) happen() {
	w.now = w.now.Add(time.Duration(w.below(40)-2) * time.Second)
	for uid := range w.lagging {
		if w.yes() {
			w.catchUp(uid)
		}
	}
	switch w.below(10) {
	case 0:
		w.job.Spec.Suspend = new(!*w.job.Spec.Suspend)
	case 1:
		w.scale()
	case 2:
		if w.below(8) == 0 && w.job.DeletionTimestamp == nil {
			w.job.DeletionTimestamp = &metav1.Time{Time: w.now}
		}
	}
	for i := 0; i < len(w.pods); i++ {
		if w.live(w.pods[i]); w.isGone(w.pods[i]) {
			w.pods = slices.Delete(w.pods, i, i+1)
			i--
		}
	}
}

func (w *walk) scale() {
	s := &w.job.Spec
	s.Parallelism = new(int32(w.below(5)))
	if s.CompletionMode != nil && *s.CompletionMode == batchv1.IndexedCompletion && s.SuccessPolicy == nil && w.yes() {
		s.Completions = s.Parallelism // elastic: both together
	}
}

// live is what a kubelet, a user or the garbage collector does to a pod.
func (w *walk) live(pod *corev1.Pod) {
	switch w.below(12) {
	case 0, 1, 2:
		pod.Status.Phase = corev1.PodRunning
		if w.yes() {
			pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
		}
	case 3, 4:
		w.end(pod, corev1.PodSucceeded, 0)
	case 5, 6:
		w.end(pod, corev1.PodFailed, int32(1+w.below(2)))
	case 7:
		if pod.DeletionTimestamp == nil {
			pod.DeletionTimestamp = &metav1.Time{Time: w.now}
		}
	case 8: // a phase that is said to be final, and is not
		if pod.Status.Phase == corev1.PodSucceeded && w.below(4) == 0 {
			w.end(pod, corev1.PodFailed, 1)
		}
	}
}

func (w *walk) end(pod *corev1.Pod, phase corev1.PodPhase, exitCode int32) {
	pod.Status.Phase = phase
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "main", State: corev1.ContainerState{
		Terminated: &corev1.ContainerStateTerminated{ExitCode: exitCode, FinishedAt: metav1.Time{Time: w.now}},
	}}}
}

func (w *walk) isGone(pod *corev1.Pod) bool {
	held := slices.Contains(pod.Finalizers, batchv1.JobTrackingFinalizer)
	return !held && (pod.DeletionTimestamp != nil || pod.Status.Phase == corev1.PodSucceeded) && w.yes()
}

// catchUp shows an untracked pod as it is.
func (w *walk) catchUp(uid types.UID) {
	delete(w.lagging, uid)
	for _, pod := range w.pods {
		if pod.UID == uid {
			pod.Finalizers = nil
		}
	}
}

// sync makes one decision and lets its calls end as dealt.
func (w *walk) sync() {
	s := jobcontrol.Snapshot{
		Job: w.job, Pods: w.pods, Now: w.now, Satisfied: w.below(5) > 0,
		Untracked: w.lagging, Failures: w.failures,
	}
	before := copyOf(s)
	d, err := jobcontrol.Plan(s)
	if err != nil {
		w.t.Fatalf("Plan: %v", err)
	}
	r := w.result(d)
	interim := d.Interim(r)
	for range interim.Untrack {
		r.Untracked = append(r.Untracked, w.call())
	}
	out := d.Settle(r)
	if !reflect.DeepEqual(before.Job, s.Job) || !reflect.DeepEqual(before.Pods, s.Pods) {
		w.t.Fatalf("the input changed:\n%s%s", cmp.Diff(before.Job, s.Job), cmp.Diff(before.Pods, s.Pods))
	}
	w.checkOrder(before, r, d, interim, out)
	w.apply(d, r, interim, out)
}

// call deals what becomes of a call: mostly it is done.
func (w *walk) call() jobcontrol.Call {
	if w.below(4) > 0 {
		return jobcontrol.Done
	}
	return jobcontrol.Call(w.below(4))
}

// checkOrder decides once more with the pods in another order.
func (w *walk) checkOrder(s jobcontrol.Snapshot, r jobcontrol.Result, d jobcontrol.Decision, interim jobcontrol.Interim, out jobcontrol.Outcome) {
	rand.New(rand.NewPCG(uint64(len(w.data)), 1)).Shuffle(len(s.Pods), func(i, j int) { s.Pods[i], s.Pods[j] = s.Pods[j], s.Pods[i] })
	again, err := jobcontrol.Plan(s)
	if err != nil {
		w.t.Fatal(err)
	}
	one, other := []any{d.Delete, d.Create, interim, out}, []any{again.Delete, again.Create, again.Interim(r), again.Settle(r)}
	if !reflect.DeepEqual(one, other) {
		w.t.Fatalf("another order of the pods, another decision (-one +other):\n%s", cmp.Diff(one, other))
	}
}

// apply carries the decision out as far as its calls were done.
func (w *walk) apply(d jobcontrol.Decision, r jobcontrol.Result, interim jobcontrol.Interim, out jobcontrol.Outcome) {
	if out.Wake.Reason == "" {
		w.t.Fatal("nothing is said to wake the Job")
	}
	for i, deletion := range d.Delete {
		w.applyDeletion(deletion, r.Deleted[i])
	}
	for i, slot := range d.Create {
		if r.Created[i] == jobcontrol.Done || r.Created[i] == jobcontrol.Unknown && w.yes() {
			w.create(slot)
		}
	}
	if w.write(interim.Status); interim.Status != nil {
		w.failures = interim.Failures
	}
	for i, untrack := range interim.Untrack {
		if r.Untracked[i] == jobcontrol.Done {
			w.untrack(untrack.Pod)
		}
	}
	w.write(out.Status)
}

func (w *walk) applyDeletion(d jobcontrol.Deletion, call jobcontrol.Call) {
	if d.Untrack && (call == jobcontrol.Done || call == jobcontrol.Refused && w.yes()) {
		w.untrack(d.Pod)
	}
	if call == jobcontrol.Done && d.Pod.DeletionTimestamp == nil {
		d.Pod.DeletionTimestamp = &metav1.Time{Time: w.now}
	}
}

// untrack removes the finalizer, which the cache may not show at once.
func (w *walk) untrack(pod *corev1.Pod) {
	w.lagging[pod.UID] = struct{}{}
	if w.yes() {
		w.catchUp(pod.UID)
	}
}

func (w *walk) create(slot jobcontrol.Slot) {
	if jobcontrol.IsFinished(w.job) {
		w.t.Fatal("a pod is created for a Job that has ended")
	}
	w.made++
	pod := jobcontrol.NewPod(w.job, batchv1.SchemeGroupVersion.WithKind("Job"), jobcontrol.Names{}, slot)
	pod.Name, pod.UID = fmt.Sprintf("j-%03d", w.made), types.UID(fmt.Sprintf("pod-%03d", w.made))
	pod.Status.Phase = corev1.PodPending
	pod.CreationTimestamp = metav1.Time{Time: w.now}
	w.pods = append(w.pods, pod)
}

// write stores a status as an API server does, and counts who is listed.
func (w *walk) write(status *batchv1.JobStatus) {
	if status == nil {
		return
	}
	if jobcontrol.IsFinished(w.job) {
		w.t.Fatalf("a Job that has ended gets the status %+v", status)
	}
	if err := fake.CheckStatus(w.job, status); err != nil {
		w.t.Fatalf("refused: %v\nspec   %+v\nstored %+v\nnew    %+v", err, w.job.Spec, w.job.Status, *status)
	}
	w.checkLists(status)
	w.job = w.job.DeepCopy()
	w.job.Status = *status
}

// checkLists holds the lists to counting each pod once: a UID enters once, and
// what has entered is listed still or in the counters.
func (w *walk) checkLists(status *batchv1.JobStatus) {
	old := valueOf(w.job.Status.UncountedTerminatedPods)
	now := valueOf(status.UncountedTerminatedPods)
	enter := func(old, now []types.UID, failed bool) {
		for _, uid := range now {
			if slices.Contains(old, uid) {
				continue
			}
			if _, before := w.listed[uid]; before {
				w.t.Fatalf("pod %s is listed a second time", uid)
			}
			w.listed[uid] = failed
		}
	}
	enter(old.Succeeded, now.Succeeded, false)
	enter(old.Failed, now.Failed, true)
	entered := map[bool]int{}
	for _, failed := range w.listed {
		entered[failed]++
	}
	if got := int(status.Failed) + len(now.Failed); got != entered[true] {
		w.t.Fatalf("%d pods failed, %d were listed so", got, entered[true])
	}
	indexed := *w.job.Spec.CompletionMode == batchv1.IndexedCompletion
	if got := int(status.Succeeded) + len(now.Succeeded); !indexed && got != entered[false] {
		w.t.Fatalf("%d pods succeeded, %d were listed so", got, entered[false])
	}
}

func valueOf(lists *batchv1.UncountedTerminatedPods) (v batchv1.UncountedTerminatedPods) {
	if lists != nil {
		v = *lists
	}
	return v
}
