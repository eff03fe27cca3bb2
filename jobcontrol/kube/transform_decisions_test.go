package kube_test

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"github.com/jobwright/jobwright/jobcontrol"
	"github.com/jobwright/jobwright/jobcontrol/kube"
	"github.com/jobwright/jobwright/podsort"
)

// TestTrimChangesNoDecision replays the situations that the core's recordings
// begin from, as they are and with pods of every kind, and decides each with
// what the API server has and with what Trim leaves.
func TestTrimChangesNoDecision(t *testing.T) {
	trim := kube.Trim(jobcontrol.Names{})
	deal := dealer{rand.New(rand.NewPCG(1, 2))}
	decisions := 0
	for folder, accounting := range map[string]jobcontrol.Accounting{"tracked": jobcontrol.Tracked, "recount": jobcontrol.Recount} {
		for s := range situations(t, folder) {
			s.Accounting = accounting
			for _, pods := range [][]*corev1.Pod{s.Pods, deal.pods(s)} {
				s.Pods = pods
				compareDecisions(t, trim, s)
				if decisions++; t.Failed() {
					return
				}
			}
		}
	}
	if decisions < 10_000 {
		t.Errorf("%d decisions: the recordings are not what they were", decisions)
	}
}

// situations yields what was known at the syncs in a folder of recordings.
func situations(t *testing.T, folder string) func(yield func(jobcontrol.Snapshot) bool) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("..", "testdata", folder, "*.jsonl.gz"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no recordings in %s (%v)", folder, err)
	}
	return func(yield func(jobcontrol.Snapshot) bool) {
		for _, file := range files {
			f, err := os.Open(file)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			z, err := gzip.NewReader(f)
			if err != nil {
				t.Fatal(err)
			}
			for lines := json.NewDecoder(bufio.NewReader(z)); ; {
				var line struct {
					In struct {
						Now              time.Time
						Job              *batchv1.Job
						Pods             []*corev1.Pod
						Satisfied        bool
						Retries          int
						ExpectedReleases []types.UID
						Memory           struct {
							FailuresSinceSuccess int32
							LastFailureTime      time.Time
						}
					}
				}
				if err := lines.Decode(&line); err == io.EOF {
					break
				} else if err != nil {
					t.Fatalf("%s: %v", file, err)
				}
				in := line.In
				s := jobcontrol.Snapshot{
					Job: in.Job, Pods: in.Pods, Now: in.Now, Satisfied: in.Satisfied, Retries: in.Retries,
					Untracked: map[types.UID]struct{}{},
					Failures:  jobcontrol.Failures{SinceSuccess: in.Memory.FailuresSinceSuccess, Last: in.Memory.LastFailureTime},
				}
				for _, uid := range in.ExpectedReleases {
					s.Untracked[uid] = struct{}{}
				}
				if !yield(s) {
					return
				}
			}
		}
	}
}

func trimmed[T any](t *testing.T, trim cache.TransformFunc, obj T) T {
	t.Helper()
	got, err := trim(obj)
	if err != nil {
		t.Fatal(err)
	}
	return got.(T)
}

func compareDecisions(t *testing.T, trim cache.TransformFunc, s jobcontrol.Snapshot) {
	t.Helper()
	less := s
	less.Job = trimmed(t, trim, s.Job)
	less.Pods = nil
	selector, err := metav1.LabelSelectorAsSelector(s.Job.Spec.Selector)
	if err != nil {
		t.Fatal(err)
	}
	for _, pod := range s.Pods {
		kept := trimmed(t, trim, pod)
		less.Pods = append(less.Pods, kept)
		if was, is := podsort.FinishTime(pod), podsort.FinishTime(kept); !was.Equal(is) {
			t.Errorf("finished %v, and trimmed %v: %s", was, is, asJSON(pod))
		}
		if selector.Matches(labels.Set(pod.Labels)) != selector.Matches(labels.Set(kept.Labels)) {
			t.Errorf("labels %v, and trimmed %v: the selector tells them apart", pod.Labels, kept.Labels)
		}
	}
	for i := range s.Pods {
		for j := range i {
			if was, is := podsort.ForDeletionByCost(s.Pods[i], s.Pods[j]), podsort.ForDeletionByCost(less.Pods[i], less.Pods[j]); was != is {
				t.Errorf("compared %d, and trimmed %d: %s and %s", was, is, asJSON(s.Pods[i]), asJSON(s.Pods[j]))
			}
		}
	}
	if diff := cmp.Diff(decided(t, s), decided(t, less)); diff != "" {
		t.Errorf("Job %s, pods %s (-whole +trimmed):\n%s", asJSON(s.Job), asJSON(s.Pods), diff)
	}
}

// decision is a decision with its pods by name.
type decision struct {
	Create         []jobcontrol.Slot
	Delete         []string
	First, Last    *batchv1.JobStatus
	Events         []jobcontrol.Event
	Untrack        []string
	Failures, Past jobcontrol.Failures
	Wake           jobcontrol.Wake
	Retry          string
	Forget         bool
}

func decided(t *testing.T, s jobcontrol.Snapshot) decision {
	t.Helper()
	d, err := jobcontrol.Plan(s)
	if err != nil {
		t.Fatal(err)
	}
	done := jobcontrol.AllDone(d)
	interim, out := d.Interim(done), d.Settle(done)
	told := decision{
		Create: d.Create, First: interim.Status, Last: out.Status, Events: append(interim.Events, out.Events...),
		Failures: interim.Failures, Past: jobcontrol.PastFailures(s.Job, s.Pods, s.Names, s.Now),
		Wake: out.Wake, Forget: out.Forget,
	}
	if out.Retry != nil {
		told.Retry = out.Retry.Error()
	}
	for _, del := range d.Delete {
		told.Delete = append(told.Delete, fmt.Sprintf("%s %v %s", del.Pod.Name, del.Untrack, del.Reason))
	}
	for _, u := range interim.Untrack {
		told.Untrack = append(told.Untrack, u.Pod.Name)
	}
	return told
}

func asJSON(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(text)
}

// dealer deals pods.
type dealer struct{ *rand.Rand }

func (d dealer) yes() bool { return d.IntN(2) == 0 }

func one[T any](d dealer, of ...T) T { return of[d.IntN(len(of))] }

// time is one of few, so that some are the same, or none.
func (d dealer) time(now time.Time) metav1.Time {
	if d.IntN(6) == 0 {
		return metav1.Time{}
	}
	return metav1.NewTime(now.Add(time.Duration(d.IntN(12)-10) * time.Second))
}

// pods deals pods of the Job in every state.
func (d dealer) pods(s jobcontrol.Snapshot) (pods []*corev1.Pod) {
	for i := range d.IntN(7) {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
			Namespace: s.Job.Namespace, Name: fmt.Sprintf("p-%d", i), UID: types.UID(fmt.Sprintf("dealt-%d", i)),
			CreationTimestamp: d.time(s.Now), OwnerReferences: []metav1.OwnerReference{*controlledBy(s.Job)},
			ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "kubelet"}},
		}}
		if d.IntN(4) > 0 {
			pod.Finalizers = []string{"example.com/other", batchv1.JobTrackingFinalizer}
		}
		if d.IntN(4) == 0 {
			pod.DeletionTimestamp, pod.DeletionGracePeriodSeconds = new(metav1.NewTime(s.Now)), new(int64(d.IntN(30)))
		}
		pod.Spec.NodeName = one(d, "", "a", "b")
		pod.Status.Phase = one(d, corev1.PodPending, corev1.PodRunning, corev1.PodRunning, corev1.PodSucceeded, corev1.PodFailed, corev1.PodUnknown)
		d.name(pod, s.Job)
		d.status(pod, s.Now)
		pods = append(pods, pod)
	}
	return pods
}

// name deals labels, annotations and hostname, which agree or do not.
func (d dealer) name(pod *corev1.Pod, job *batchv1.Job) {
	const index = batchv1.JobCompletionIndexAnnotation
	pod.Labels, pod.Annotations = map[string]string{"mine": one(d, "a", "b")}, map[string]string{"other": "x"}
	for name, value := range job.Spec.Template.Labels {
		if d.IntN(20) > 0 {
			pod.Labels[name] = value
		}
	}
	text := one(d, "0", "1", "2", "3", "x", "-1", "")
	put := func(m map[string]string, name, value string) {
		if d.IntN(8) > 0 {
			m[name] = value
		}
	}
	put(pod.Annotations, index, text)
	put(pod.Annotations, corev1.PodDeletionCost, one(d, "-5", "0", "7", "x"))
	put(pod.Annotations, batchv1.JobIndexFailureCountAnnotation, one(d, "0", "1", "2"))
	put(pod.Annotations, batchv1.JobIndexIgnoredFailureCountAnnotation, one(d, "0", "1", "2"))
	put(pod.Labels, index, one(d, text, text, text, "1"))
	pod.Spec.Hostname = one(d, "", job.Name+"-"+text, job.Name+"-"+text, job.Name+"-1", job.Name+text, "host-"+text, text)
}

func (d dealer) status(pod *corev1.Pod, now time.Time) {
	for _, kind := range []corev1.PodConditionType{corev1.PodReady, corev1.DisruptionTarget, "ConfigIssue", corev1.PodScheduled} {
		if d.yes() {
			pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{
				Type: kind, Status: one(d, corev1.ConditionTrue, corev1.ConditionFalse, corev1.ConditionUnknown),
				LastTransitionTime: d.time(now), Reason: "Dealt", Message: "dealt",
			})
		}
	}
	d.Shuffle(len(pod.Status.Conditions), func(i, j int) {
		c := pod.Status.Conditions
		c[i], c[j] = c[j], c[i]
	})
	pod.Spec.Containers = []corev1.Container{{Name: "main"}, {Name: "extra"}}
	pod.Spec.InitContainers = []corev1.Container{{Name: "setup"}, {Name: "proxy", RestartPolicy: one(d, nil, new(corev1.ContainerRestartPolicyAlways))}}
	ends := d.IntN(4) // how many in four have ended
	for i, name := range []string{"main", "extra", "setup", "proxy"} {
		if d.IntN(4) == 0 {
			continue
		}
		s := corev1.ContainerStatus{Name: name, Image: "img"}
		if d.IntN(4) == 0 {
			s.RestartCount = int32(d.IntN(3))
		}
		if d.IntN(4) <= ends {
			s.State.Terminated = &corev1.ContainerStateTerminated{ExitCode: one[int32](d, 0, 0, 1, 2, 42, 137), FinishedAt: d.time(now), Reason: "Dealt"}
		} else {
			s.State.Running = &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(now)}
		}
		if i < 2 {
			pod.Status.ContainerStatuses = append(pod.Status.ContainerStatuses, s)
		} else {
			pod.Status.InitContainerStatuses = append(pod.Status.InitContainerStatuses, s)
		}
	}
}
