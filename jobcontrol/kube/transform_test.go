package kube_test

import (
	"maps"
	"math/rand/v2"
	"reflect"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"github.com/jobwright/jobwright/jobcontrol"
	"github.com/jobwright/jobwright/jobcontrol/kube"
)

func TestTrimKeepsOfAPod(t *testing.T) {
	shape := podShape{jobSize: 10, indexed: true, phase: corev1.PodFailed}
	pod := shape.pod(0, 7, 0)
	pod.Finalizers = []string{batchv1.JobTrackingFinalizer}
	last := metav1.NewTime(pod.Status.ContainerStatuses[0].State.Terminated.FinishedAt.Add(time.Second))
	pod.Status.ContainerStatuses[1].State.Terminated.FinishedAt = last
	given := pod.DeepCopy()
	labels := maps.Clone(pod.Labels)
	delete(labels, batchv1.JobCompletionIndexAnnotation)
	at := pod.Status.ContainerStatuses[0].State.Terminated.FinishedAt
	want := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID, ResourceVersion: pod.ResourceVersion,
			CreationTimestamp: pod.CreationTimestamp, OwnerReferences: pod.OwnerReferences, Finalizers: pod.Finalizers,
			Labels: labels, Annotations: map[string]string{batchv1.JobCompletionIndexAnnotation: "7"},
		},
		Spec: corev1.PodSpec{NodeName: pod.Spec.NodeName},
		Status: corev1.PodStatus{
			Phase: corev1.PodFailed,
			Conditions: []corev1.PodCondition{
				{Type: corev1.PodReadyToStartContainers, Status: corev1.ConditionFalse},
				{Type: corev1.PodInitialized, Status: corev1.ConditionTrue},
				{Type: corev1.PodReady, Status: corev1.ConditionFalse},
				{Type: corev1.ContainersReady, Status: corev1.ConditionFalse},
				{Type: corev1.PodScheduled, Status: corev1.ConditionTrue},
			},
			ContainerStatuses: []corev1.ContainerStatus{
				{Name: "main", State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 1, FinishedAt: at}}},
				{Name: "uploader", State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{FinishedAt: last}}},
			},
		},
	}
	if diff := cmp.Diff(want, trimmed(t, kube.Trim(jobcontrol.Names{}), pod)); diff != "" {
		t.Errorf("kept (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(given, pod); diff != "" {
		t.Errorf("the pod given (-before +after):\n%s", diff)
	}
}

func TestTrimKeepsTheLastOfTheContainers(t *testing.T) {
	pod := podShape{jobSize: 10, phase: corev1.PodSucceeded}.pod(0, 7, 0)
	last := &pod.Status.ContainerStatuses[1]
	last.State.Terminated.FinishedAt = metav1.NewTime(last.State.Terminated.FinishedAt.Add(time.Second))
	want := []corev1.ContainerStatus{{Name: last.Name, State: corev1.ContainerState{
		Terminated: &corev1.ContainerStateTerminated{FinishedAt: last.State.Terminated.FinishedAt},
	}}}
	if diff := cmp.Diff(want, trimmed(t, kube.Trim(jobcontrol.Names{}), pod).Status.ContainerStatuses); diff != "" {
		t.Errorf("statuses (-want +got):\n%s", diff)
	}
}

func TestTrimKeepsOfAJob(t *testing.T) {
	job := idleJob(0, batchv1.JobSuspended)
	job.Annotations = map[string]string{"kubectl.kubernetes.io/last-applied-configuration": "{}"}
	given := job.DeepCopy()
	want := job.DeepCopy()
	want.ManagedFields = nil
	if diff := cmp.Diff(want, trimmed(t, kube.Trim(jobcontrol.Names{}), job)); diff != "" {
		t.Errorf("kept (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(given, job); diff != "" {
		t.Errorf("the Job given (-before +after):\n%s", diff)
	}
}

// TestTrimLabels: the label of the index goes only where the selector is known
// to be a generated one, and the annotation says the same.
func TestTrimLabels(t *testing.T) {
	const index = batchv1.JobCompletionIndexAnnotation
	for _, tt := range []struct {
		name   string
		names  jobcontrol.Names
		change func(*corev1.Pod)
		keeps  bool
	}{
		{"generated selector", jobcontrol.Names{}, func(*corev1.Pod) {}, false},
		{"batch/v1 names spelt out", jobcontrol.Names{LabelPrefix: "batch.kubernetes.io/"}, func(*corev1.Pod) {}, false},
		{"names of another kind", jobcontrol.Names{LabelPrefix: "example.com/"}, func(*corev1.Pod) {}, true},
		{"manual selector", jobcontrol.Names{}, func(p *corev1.Pod) { delete(p.Labels, batchv1.ControllerUidLabel) }, true},
		{"label of another owner", jobcontrol.Names{}, func(p *corev1.Pod) { p.Labels[batchv1.ControllerUidLabel] = "other" }, true},
		{"no owner", jobcontrol.Names{}, func(p *corev1.Pod) { p.OwnerReferences = nil }, true},
		{"owner that is no controller", jobcontrol.Names{}, func(p *corev1.Pod) { p.OwnerReferences[0].Controller = nil }, true},
		{"contradiction", jobcontrol.Names{}, func(p *corev1.Pod) { p.Labels[index] = "8" }, true},
		{"no annotation", jobcontrol.Names{}, func(p *corev1.Pod) { delete(p.Annotations, index) }, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			pod := podShape{jobSize: 10, indexed: true}.pod(0, 7, 0)
			tt.change(pod)
			want := maps.Clone(pod.Labels)
			if !tt.keeps {
				delete(want, index)
			}
			if diff := cmp.Diff(want, trimmed(t, kube.Trim(tt.names), pod).Labels); diff != "" {
				t.Errorf("labels (-want +got):\n%s", diff)
			}
		})
	}
}

func TestTrimOfAnotherKind(t *testing.T) {
	pod := podShape{jobSize: 10}.pod(0, 7, 0)
	pod.OwnerReferences[0].Kind, pod.OwnerReferences[0].APIVersion = "Train", "example.com/v1"
	pod.Labels = map[string]string{"example.com/controller-uid": string(pod.OwnerReferences[0].UID), "example.com/job-completion-index": "7"}
	pod.Annotations = map[string]string{
		"example.com/job-completion-index": "7", "example.com/job-index-failure-count": "1",
		"example.com/job-index-ignored-failure-count": "2", batchv1.JobCompletionIndexAnnotation: "7",
	}
	got := trimmed(t, kube.Trim(jobcontrol.Names{LabelPrefix: "example.com/"}), pod)
	want := maps.Clone(pod.Annotations)
	delete(want, batchv1.JobCompletionIndexAnnotation)
	if diff := cmp.Diff(want, got.Annotations); diff != "" {
		t.Errorf("annotations (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]string{"example.com/controller-uid": string(pod.OwnerReferences[0].UID)}, got.Labels); diff != "" {
		t.Errorf("labels (-want +got):\n%s", diff)
	}
}

func TestTrimmingTwiceIsTrimmingOnce(t *testing.T) {
	deal := dealer{rand.New(rand.NewPCG(3, 4))}
	job := newJob("j", 1, 1)
	trim := kube.Trim(jobcontrol.Names{})
	for range 500 {
		for _, pod := range deal.pods(jobcontrol.Snapshot{Job: job, Now: podsBegan}) {
			once := trimmed(t, trim, pod)
			if diff := cmp.Diff(once, trimmed(t, kube.Trim(jobcontrol.Names{}), once)); diff != "" {
				t.Fatalf("%s (-once +twice):\n%s", asJSON(pod), diff)
			}
		}
	}
}

func TestTrimLeavesTheRestAlone(t *testing.T) {
	trim := kube.Trim(jobcontrol.Names{})
	for _, obj := range []any{&corev1.Service{}, cache.DeletedFinalStateUnknown{Key: "ns/p", Obj: newPod("p", "j", nil)}, "text", nil} {
		if got, err := trim(obj); err != nil || got != obj {
			t.Errorf("%T became %v, %v", obj, got, err)
		}
	}
}

// sharedBy lists what two pods have in common in memory.
func sharedBy(a, b *corev1.Pod) (parts []string) {
	for _, part := range []struct {
		name string
		a, b any
	}{
		{"labels", a.Labels, b.Labels},
		{"annotations", a.Annotations, b.Annotations},
		{"owners", a.OwnerReferences, b.OwnerReferences},
		{"finalizers", a.Finalizers, b.Finalizers},
		{"conditions", a.Status.Conditions, b.Status.Conditions},
		{"statuses", a.Status.ContainerStatuses, b.Status.ContainerStatuses},
	} {
		if p := reflect.ValueOf(part.a).Pointer(); p != 0 && p == reflect.ValueOf(part.b).Pointer() {
			parts = append(parts, part.name)
		}
	}
	return parts
}

func TestTrimmedPodsShare(t *testing.T) {
	shape := podShape{jobSize: 10, indexed: true, phase: corev1.PodFailed}
	trim := kube.Trim(jobcontrol.Names{})
	made := func(job, index int, at time.Duration) *corev1.Pod {
		pod := shape.pod(job, index, at)
		pod.Finalizers = []string{batchv1.JobTrackingFinalizer}
		return trimmed(t, trim, decoded(t, pod, &corev1.Pod{}))
	}
	first := made(0, 7, 0)
	for name, tt := range map[string]struct {
		other *corev1.Pod
		want  []string
	}{
		"of a Job":               {made(0, 8, 0), []string{"labels", "owners", "finalizers", "conditions", "statuses"}},
		"of an index":            {made(1, 7, 0), []string{"annotations", "finalizers", "conditions", "statuses"}},
		"that ended another day": {made(0, 7, time.Hour), []string{"labels", "annotations", "owners", "finalizers", "conditions"}},
	} {
		if diff := cmp.Diff(tt.want, sharedBy(first, tt.other)); diff != "" {
			t.Errorf("pods %s share (-want +got):\n%s", name, diff)
		}
	}
}

// TestTrimForgets: what is not seen any more does not stay for ever.
func TestTrimForgets(t *testing.T) {
	trim := kube.Trim(jobcontrol.Names{})
	rare, often := newPod("rare", "rare", nil), newPod("often", "often", nil)
	rareBefore, oftenBefore := trimmed(t, trim, rare.DeepCopy()), trimmed(t, trim, often.DeepCopy())
	for i := range 10_000 {
		trimmed(t, trim, newPod("p", strconv.Itoa(i), nil))
		trimmed(t, trim, often.DeepCopy())
	}
	if got := sharedBy(rareBefore, trimmed(t, trim, rare.DeepCopy())); got != nil {
		t.Errorf("%q are remembered of 10,000 pods ago", got)
	}
	if diff := cmp.Diff([]string{"labels"}, sharedBy(oftenBefore, trimmed(t, trim, often.DeepCopy()))); diff != "" {
		t.Errorf("shared by pods seen all the time (-want +got):\n%s", diff)
	}
}

// TestJudgementGetsWholePods: nobody knows what a function of the embedder's
// reads. One that is added to Judgement is looked at too.
func TestJudgementGetsWholePods(t *testing.T) {
	pod := newPod("p", "j", nil)
	pod.Spec.Containers, pod.ManagedFields = []corev1.Container{{Name: "main"}}, []metav1.ManagedFieldsEntry{{}}
	kept := func(j jobcontrol.Judgement) *corev1.Pod {
		return trimmed(t, kube.TransformFor(jobcontrol.Config{Judgement: j}), pod)
	}
	if kept(jobcontrol.Judgement{}).Spec.Containers != nil {
		t.Error("the API's judgement gets whole pods")
	}
	for field := range reflect.TypeFor[jobcontrol.Judgement]().Fields() {
		var j jobcontrol.Judgement
		reflect.ValueOf(&j).Elem().FieldByIndex(field.Index).Set(reflect.MakeFunc(field.Type, nil))
		got, takesPods := kept(j), false
		for in := range field.Type.Ins() {
			takesPods = takesPods || in == reflect.TypeFor[*corev1.Pod]()
		}
		if whole := got.Spec.Containers != nil; whole != takesPods {
			t.Errorf("%s takes pods: %v, and gets them whole: %v", field.Name, takesPods, whole)
		}
		if got.ManagedFields != nil {
			t.Errorf("%s gets managedFields", field.Name)
		}
	}
}

func TestRunTrims(t *testing.T) {
	job := newJob("j", 1, 1)
	job.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "kubectl"}}
	pod := newPod("p", "j", controlledBy(job))
	pod.Spec.Containers, pod.ManagedFields = job.Spec.Template.Spec.Containers, job.ManagedFields
	pod.Status.Phase = corev1.PodFailed
	for name, tt := range map[string]struct {
		transform  cache.TransformFunc
		containers int
	}{"as it needs": {nil, 1}, "as it is told": {kube.Trim(jobcontrol.Names{}), 0}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				asked := 0
				cfg := kube.Config{Transform: tt.transform}
				cfg.Controller.Judgement.Failed = func(of *batchv1.Job, got *corev1.Pod) bool {
					asked++
					if of.ManagedFields != nil || len(of.Spec.Template.Spec.Containers) != 1 {
						t.Errorf("Judgement gets %s", asJSON(of))
					}
					if len(got.Spec.Containers) != tt.containers || got.ManagedFields != nil || got.UID != types.UID("uid-p") {
						t.Errorf("Judgement gets %s", asJSON(got))
					}
					return true
				}
				stop := start(t, newServer(t, job.DeepCopy(), pod.DeepCopy()), cfg)
				pass(time.Minute)
				if err := stop(); err != nil {
					t.Errorf("Run: %v", err)
				}
				if asked == 0 {
					t.Error("Judgement was not asked")
				}
			})
		})
	}
}
