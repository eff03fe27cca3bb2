package jobcontrol_test

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/jobwright/jobwright/jobcontrol"
)

func TestSpecsThatCannotBeHonoured(t *testing.T) {
	wantRefused(t, map[string]func(*batchv1.Job){
		"spec.parallelism":           func(j *batchv1.Job) { j.Spec.Parallelism = new(int32(-1)) },
		"spec.completions":           func(j *batchv1.Job) { j.Spec.Completions = new(int32(math.MinInt32)) },
		"spec.backoffLimit":          func(j *batchv1.Job) { j.Spec.BackoffLimit = new(int32(-1)) },
		"spec.activeDeadlineSeconds": func(j *batchv1.Job) { j.Spec.ActiveDeadlineSeconds = new(int64(-1)) },
		"spec.completionMode":        func(j *batchv1.Job) { j.Spec.CompletionMode = new(batchv1.CompletionMode("Sometimes")) },
		"spec.selector":              func(j *batchv1.Job) { j.Spec.Selector = &metav1.LabelSelector{} },
		"\"Near\" is not a valid": func(j *batchv1.Job) {
			j.Spec.Selector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "a", Operator: "Near"}}}
		},
		"spec.selector: Required": func(j *batchv1.Job) { j.Spec.ManualSelector = new(true) },
		"spec.template.metadata.labels": func(j *batchv1.Job) {
			j.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"a": "b"}}
		},
		"spec.template.spec.restartPolicy": func(j *batchv1.Job) { j.Spec.Template.Spec.RestartPolicy = corev1.RestartPolicyAlways },
		"spec.template.metadata.ownerReferences": func(j *batchv1.Job) {
			j.Spec.Template.OwnerReferences = []metav1.OwnerReference{{Kind: "Other", Controller: new(true)}}
		},
		"metadata.uid": func(j *batchv1.Job) { j.UID = "" },
	})
}

func TestPoliciesThatCannotBeHonoured(t *testing.T) {
	wantRefused(t, map[string]func(*batchv1.Job){
		"spec.backoffLimitPerIndex":            func(j *batchv1.Job) { j.Spec.BackoffLimitPerIndex = new(int32(-1)) },
		"spec.backoffLimitPerIndex: Forbidden": func(j *batchv1.Job) { j.Spec.BackoffLimitPerIndex = new(int32(1)) },
		"spec.maxFailedIndexes: Forbidden":     func(j *batchv1.Job) { j.Spec.MaxFailedIndexes = new(int32(1)) },
		"spec.completions: Required":           func(j *batchv1.Job) { j.Spec.CompletionMode = new(batchv1.IndexedCompletion) },
		"spec.successPolicy: Forbidden":        func(j *batchv1.Job) { j.Spec.SuccessPolicy = &batchv1.SuccessPolicy{} },
		"spec.successPolicy: Invalid": func(j *batchv1.Job) {
			j.Spec.CompletionMode, j.Spec.Completions = new(batchv1.IndexedCompletion), new(int32(3))
			j.Spec.SuccessPolicy = &batchv1.SuccessPolicy{Rules: []batchv1.SuccessPolicyRule{{SucceededIndexes: new("2-1")}}}
		},
		"spec.podReplacementPolicy": func(j *batchv1.Job) { j.Spec.PodReplacementPolicy = new(batchv1.PodReplacementPolicy("Never")) },
		"supported values: \"Failed\"": func(j *batchv1.Job) {
			j.Spec.PodFailurePolicy, j.Spec.PodReplacementPolicy = &batchv1.PodFailurePolicy{}, new(batchv1.TerminatingOrFailed)
		},
		"spec.podFailurePolicy: Forbidden": func(j *batchv1.Job) {
			j.Spec.PodFailurePolicy, j.Spec.Template.Spec.RestartPolicy = &batchv1.PodFailurePolicy{}, corev1.RestartPolicyOnFailure
		},
		"spec.podFailurePolicy.rules[0].action": func(j *batchv1.Job) {
			j.Spec.PodFailurePolicy = &batchv1.PodFailurePolicy{Rules: []batchv1.PodFailurePolicyRule{{Action: "FailIndex", OnExitCodes: &batchv1.PodFailurePolicyOnExitCodesRequirement{Operator: "In"}}}}
		},
		"spec.podFailurePolicy.rules[0]: Invalid": func(j *batchv1.Job) {
			j.Spec.PodFailurePolicy = &batchv1.PodFailurePolicy{Rules: []batchv1.PodFailurePolicyRule{{Action: "Ignore"}}}
		},
		"spec.podFailurePolicy.rules[0].onExitCodes.operator": func(j *batchv1.Job) {
			j.Spec.PodFailurePolicy = &batchv1.PodFailurePolicy{Rules: []batchv1.PodFailurePolicyRule{{Action: "Ignore", OnExitCodes: &batchv1.PodFailurePolicyOnExitCodesRequirement{Operator: "Near"}}}}
		},
		"metadata.name": func(j *batchv1.Job) {
			j.Name = strings.Repeat("j", 62)
			j.Spec.CompletionMode, j.Spec.Completions = new(batchv1.IndexedCompletion), new(int32(1))
		},
		"spec.parallelism: Invalid value: 100001": func(j *batchv1.Job) {
			j.Spec.CompletionMode, j.Spec.Completions, j.Spec.Parallelism = new(batchv1.IndexedCompletion), new(int32(9)), new(int32(100001))
		},
		"spec.parallelism: Invalid value: 10001": func(j *batchv1.Job) {
			j.Spec.CompletionMode, j.Spec.Completions, j.Spec.Parallelism = new(batchv1.IndexedCompletion), new(int32(100001)), new(int32(10001))
			j.Spec.BackoffLimitPerIndex, j.Spec.MaxFailedIndexes = new(int32(1)), new(int32(1))
		},
		"spec.maxFailedIndexes: Required": func(j *batchv1.Job) {
			j.Spec.CompletionMode, j.Spec.Completions, j.Spec.BackoffLimitPerIndex = new(batchv1.IndexedCompletion), new(int32(100001)), new(int32(1))
		},
		"status.completedIndexes": func(j *batchv1.Job) {
			j.Spec.CompletionMode, j.Spec.Completions = new(batchv1.IndexedCompletion), new(int32(3))
			j.Status.CompletedIndexes = "1,1"
		},
		"status.failedIndexes": func(j *batchv1.Job) {
			j.Spec.CompletionMode, j.Spec.Completions, j.Spec.BackoffLimitPerIndex = new(batchv1.IndexedCompletion), new(int32(3)), new(int32(1))
			j.Status.FailedIndexes = new("5-3")
		},
	})
}

// wantRefused checks that each spoiled Job is refused by the name of the field,
// and that nothing is decided then.
func wantRefused(t *testing.T, tests map[string]func(*batchv1.Job)) {
	t.Helper()
	for field, spoil := range tests {
		t.Run(field, func(t *testing.T) {
			job := stored(spoil)
			s := snapshot(job, "RRF")
			s.Accounting = jobcontrol.Tracked
			d, err := jobcontrol.Plan(s)
			if !errors.Is(err, jobcontrol.ErrInvalid) || !strings.Contains(err.Error(), field) || !strings.Contains(err.Error(), "ns/"+job.Name) {
				t.Errorf("Plan says %v", err)
			}
			if len(d.Create)+len(d.Delete) != 0 {
				t.Errorf("it creates %d and deletes %d", len(d.Create), len(d.Delete))
			}
			if err := jobcontrol.Validate(job); !errors.Is(err, jobcontrol.ErrInvalid) && !strings.HasPrefix(field, "status") {
				t.Errorf("Validate says %v", err)
			}
		})
	}
}

func TestWhatCannotBePlannedAtAll(t *testing.T) {
	t.Run("all fields at once", func(t *testing.T) {
		err := jobcontrol.Validate(stored(func(j *batchv1.Job) {
			j.Spec.Parallelism, j.Spec.Completions = new(int32(-1)), new(int32(-1))
		}))
		if !strings.Contains(err.Error(), "spec.parallelism") || !strings.Contains(err.Error(), "spec.completions") {
			t.Errorf("Validate says %v", err)
		}
	})
	t.Run("B95 many indexes without a limit for each may be at work in number", func(t *testing.T) {
		if err := jobcontrol.Validate(stored(func(j *batchv1.Job) {
			j.Spec.CompletionMode, j.Spec.Completions, j.Spec.Parallelism = new(batchv1.IndexedCompletion), new(int32(100001)), new(int32(10001))
		})); err != nil {
			t.Error(err)
		}
	})
	t.Run("no Job at all", func(t *testing.T) {
		if _, err := jobcontrol.Plan(jobcontrol.Snapshot{}); !errors.Is(err, jobcontrol.ErrInvalid) {
			t.Errorf("Plan says %v", err)
		}
	})
	t.Run("an unknown mode", func(t *testing.T) {
		s := snapshot(stored(nil), "")
		s.Accounting = 99
		if _, err := jobcontrol.Plan(s); !errors.Is(err, jobcontrol.ErrInvalid) || !strings.Contains(err.Error(), "Accounting(99)") {
			t.Errorf("Plan says %v", err)
		}
	})
}

func TestDefault(t *testing.T) {
	tests := []struct {
		name                      string
		change                    func(*batchv1.JobSpec)
		parallelism, backoffLimit int32
		completions               *int32
		replacement               batchv1.PodReplacementPolicy
	}{
		{"nothing set", nil, 1, 6, new(int32(1)), batchv1.TerminatingOrFailed},
		{"parallelism alone is a work queue", func(s *batchv1.JobSpec) { s.Parallelism = new(int32(3)) }, 3, 6, nil, batchv1.TerminatingOrFailed},
		{"completions alone", func(s *batchv1.JobSpec) { s.Completions = new(int32(3)) }, 1, 6, new(int32(3)), batchv1.TerminatingOrFailed},
		{"zeros are kept", func(s *batchv1.JobSpec) {
			s.Parallelism, s.BackoffLimit = new(int32(0)), new(int32(0))
		}, 0, 0, nil, batchv1.TerminatingOrFailed},
		{"a limit for each index leaves the Job's own open", func(s *batchv1.JobSpec) { s.BackoffLimitPerIndex = new(int32(1)) }, 1, math.MaxInt32, new(int32(1)), batchv1.TerminatingOrFailed},
		{"B31 a failure policy waits for pods to have ended", func(s *batchv1.JobSpec) { s.PodFailurePolicy = &batchv1.PodFailurePolicy{} }, 1, 6, new(int32(1)), batchv1.Failed},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			job := newJob(tt.change)
			job.UID = "job-uid"
			jobcontrol.Default(job)
			s := job.Spec
			if *s.Parallelism != tt.parallelism || *s.BackoffLimit != tt.backoffLimit || *s.PodReplacementPolicy != tt.replacement {
				t.Errorf("parallelism %d, backoffLimit %d, replacement %s", *s.Parallelism, *s.BackoffLimit, *s.PodReplacementPolicy)
			}
			if diff := cmp.Diff(tt.completions, s.Completions); diff != "" {
				t.Errorf("completions (-want +got):\n%s", diff)
			}
			again := job.DeepCopy()
			jobcontrol.Default(again)
			if diff := cmp.Diff(job, again); diff != "" {
				t.Errorf("defaulted twice (-once +twice):\n%s", diff)
			}
		})
	}
	t.Run("B108 the caller's Job gets selector and labels that fit", func(t *testing.T) {
		job := stored(nil)
		jobcontrol.Default(job)
		if err := jobcontrol.Validate(job); err != nil {
			t.Error(err)
		}
		if job.Spec.Selector == nil || job.Spec.Template.Labels[batchv1.JobNameLabel] != "j" {
			t.Errorf("selector %v, labels %v", job.Spec.Selector, job.Spec.Template.Labels)
		}
	})
	t.Run("a selector by hand is left to the hand", func(t *testing.T) {
		job := stored(func(j *batchv1.Job) { j.Spec.ManualSelector = new(true) })
		jobcontrol.Default(job)
		if job.Spec.Selector != nil {
			t.Errorf("selector %v", job.Spec.Selector)
		}
	})
	t.Run("B31 a Job defaulted or not is decided alike", func(t *testing.T) {
		for name, change := range map[string]func(*batchv1.JobSpec){
			"empty":       func(*batchv1.JobSpec) {},
			"parallelism": func(s *batchv1.JobSpec) { s.Parallelism = new(int32(3)) },
			"completions": func(s *batchv1.JobSpec) { s.Completions = new(int32(3)) },
		} {
			for _, phases := range []string{"", "R", "SF", "SSSRR", "FFFFFFFR"} {
				plain := stored(func(j *batchv1.Job) { change(&j.Spec) })
				full := plain.DeepCopy()
				jobcontrol.Default(full)
				if diff := cmp.Diff(decided(t, snapshot(plain, phases)), decided(t, snapshot(full, phases))); diff != "" {
					t.Errorf("%s with %q (-plain +defaulted):\n%s", name, phases, diff)
				}
			}
		}
	})
}

// decided is a decision and what comes of it if all its calls succeed, for comparing.
func decided(t *testing.T, s jobcontrol.Snapshot) any {
	t.Helper()
	d := mustPlan(t, s)
	out := d.Settle(jobcontrol.AllDone(d))
	retry := ""
	if out.Retry != nil {
		retry, out.Retry = out.Retry.Error(), nil
	}
	return []any{d.Delete, d.Create, out, retry}
}

func TestNewPod(t *testing.T) {
	job := stored(func(j *batchv1.Job) {
		j.Spec.Template.Labels = map[string]string{"app": "x"}
		j.Spec.Template.Annotations = map[string]string{"note": "y"}
		j.Spec.Template.Finalizers = []string{"example.com/hold"}
		j.Spec.Template.OwnerReferences = []metav1.OwnerReference{{Kind: "Queue", Name: "q", UID: "q"}}
		j.Spec.Template.Spec.RestartPolicy = corev1.RestartPolicyOnFailure
	})
	before := job.DeepCopy()
	pod := jobcontrol.NewPod(job, schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Batch"}, jobcontrol.Names{}, jobcontrol.Slot{})
	want := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace:    "ns",
			GenerateName: "j-",
			Labels: map[string]string{
				"app": "x", "controller-uid": "job-uid", "job-name": "j",
				"batch.kubernetes.io/controller-uid": "job-uid", "batch.kubernetes.io/job-name": "j",
			},
			Annotations: map[string]string{"note": "y"},
			Finalizers:  []string{"example.com/hold"},
			OwnerReferences: []metav1.OwnerReference{
				{Kind: "Queue", Name: "q", UID: "q"},
				{APIVersion: "example.com/v1", Kind: "Batch", Name: "j", UID: "job-uid", Controller: new(true), BlockOwnerDeletion: new(true)},
			},
		},
		Spec: job.Spec.Template.Spec, // B88: the restart policy among it
	}
	if diff := cmp.Diff(want, pod); diff != "" {
		t.Errorf("pod (-want +got):\n%s", diff)
	}
	pod.Labels["app"], pod.Spec.Containers[0].Name = "changed", "changed"
	if diff := cmp.Diff(before, job); diff != "" {
		t.Errorf("the Job changed with its pod (-want +got):\n%s", diff)
	}
	t.Run("a selector that is there needs no labels of ours", func(t *testing.T) {
		job.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "x"}}
		pod := jobcontrol.NewPod(job, schema.GroupVersionKind{Version: "v1", Kind: "Batch"}, jobcontrol.Names{}, jobcontrol.Slot{})
		if diff := cmp.Diff(map[string]string{"app": "x"}, pod.Labels); diff != "" {
			t.Errorf("labels (-want +got):\n%s", diff)
		}
	})
}

// TestWhatRecountWouldIgnore is refused, by the name of the field.
func TestWhatRecountWouldIgnore(t *testing.T) {
	tests := map[string]func(*batchv1.Job){
		"spec.suspend":              func(j *batchv1.Job) { j.Spec.Suspend = new(true) },
		"spec.completionMode: Forb": func(j *batchv1.Job) { j.Spec.CompletionMode = new(batchv1.IndexedCompletion) },
		"spec.backoffLimitPerIndex": func(j *batchv1.Job) { j.Spec.BackoffLimitPerIndex = new(int32(1)) },
		"spec.maxFailedIndexes":     func(j *batchv1.Job) { j.Spec.MaxFailedIndexes = new(int32(1)) },
		"spec.podFailurePolicy":     func(j *batchv1.Job) { j.Spec.PodFailurePolicy = &batchv1.PodFailurePolicy{} },
		"spec.successPolicy":        func(j *batchv1.Job) { j.Spec.SuccessPolicy = &batchv1.SuccessPolicy{} },
		"spec.podReplacementPolicy": func(j *batchv1.Job) { j.Spec.PodReplacementPolicy = new(batchv1.Failed) },
	}
	for field, ask := range tests {
		t.Run(field, func(t *testing.T) {
			if _, err := jobcontrol.Plan(snapshot(stored(ask), "R")); !errors.Is(err, jobcontrol.ErrInvalid) || !strings.Contains(err.Error(), field) {
				t.Errorf("Plan says %v", err)
			}
		})
	}
}
