package kube_test

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/record"

	"github.com/jobwright/jobwright/jobcontrol/kube"
)

// recorded takes what a FakeRecorder holds.
func recorded(events *record.FakeRecorder) []string {
	var got []string
	for len(events.Events) > 0 {
		got = append(got, <-events.Events)
	}
	return got
}

// train is an owner of a kind that no client here knows.
var train = &metav1.OwnerReference{APIVersion: "ml.example.com/v1", Kind: "Train", Name: "t", UID: "uid-t", Controller: new(true)}

func TestPodControlEvents(t *testing.T) {
	quota := apierrors.NewForbidden(podResource.GroupResource(), "p", errors.New("exceeded quota"))
	terminating := apierrors.NewForbidden(podResource.GroupResource(), "p", errors.New("namespace is being terminated"))
	terminating.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: corev1.NamespaceTerminatingCause}}
	missing := apierrors.NewNotFound(podResource.GroupResource(), "p")
	create := func(p *kube.PodControl) error {
		_, err := p.Create(t.Context(), newPod("q", "a", train))
		return err
	}
	del := func(p *kube.PodControl) error { return p.Delete(t.Context(), newPod("p", "a", train)) }

	tests := []struct {
		name   string
		call   func(*kube.PodControl) error
		verb   string
		answer error
		want   []string
		err    error
	}{
		{name: "created", call: create, want: []string{"Normal SuccessfulCreate Created pod: q"}},
		{name: "creation refused", call: create, verb: "create", answer: quota, err: quota,
			want: []string{"Warning FailedCreate Error creating: " + quota.Error()}},
		{name: "creation in a terminating namespace", call: create, verb: "create", answer: terminating, err: terminating},
		{name: "deleted", call: del, want: []string{"Normal SuccessfulDelete Deleted pod: p"}},
		{name: "deletion refused", call: del, verb: "delete", answer: quota, err: quota,
			want: []string{"Warning FailedDelete Error deleting: " + quota.Error()}},
		{name: "gone before", call: del, verb: "delete", answer: missing},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := newServer(t, newPod("p", "a", train))
			if tt.answer != nil {
				s.refuse(tt.verb, "pods", func(clienttesting.Action) error { return tt.answer })
			}
			events := record.NewFakeRecorder(10)
			if err := tt.call(kube.NewPodControl(s, events)); err != tt.err {
				t.Errorf("err = %v, want %v as the API gave it", err, tt.err)
			}
			if diff := cmp.Diff(tt.want, recorded(events)); diff != "" {
				t.Errorf("events (-want +got):\n%s", diff)
			}
		})
	}
}

// sink keeps the objects that events are about.
type sink []runtime.Object

func (s *sink) Event(obj runtime.Object, _, _, _ string) { *s = append(*s, obj) }

func TestPodControlEventOwner(t *testing.T) {
	t.Run("is what the controller reference names, of any kind", func(t *testing.T) {
		var about sink
		if _, err := kube.NewPodControl(newServer(t), &about).Create(t.Context(), newPod("p", "a", train)); err != nil {
			t.Fatal(err)
		}
		want := sink{&corev1.ObjectReference{APIVersion: "ml.example.com/v1", Kind: "Train", Namespace: "ns", Name: "t", UID: "uid-t"}}
		if diff := cmp.Diff(want, about); diff != "" {
			t.Errorf("event about (-want +got):\n%s", diff)
		}
	})
	t.Run("is nobody without a controller", func(t *testing.T) {
		var about sink
		if _, err := kube.NewPodControl(newServer(t), &about).Create(t.Context(), newPod("p", "a", nil)); err != nil {
			t.Fatal(err)
		}
		if len(about) != 0 {
			t.Errorf("event about %v, want none", about)
		}
	})
	t.Run("needs no sink", func(t *testing.T) {
		if _, err := kube.NewPodControl(newServer(t), nil).Create(t.Context(), newPod("p", "a", train)); err != nil {
			t.Fatal(err)
		}
	})
}

func TestPodControlCreate(t *testing.T) {
	s := newServer(t)
	pod := newPod("", "a", train)
	pod.GenerateName, pod.UID = "t-", ""
	pod.Finalizers = []string{"example.com/keep"}
	pod.OwnerReferences = append(pod.OwnerReferences, metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: "c", UID: "uid-c"})
	given := pod.DeepCopy()

	got, err := kube.NewPodControl(s, nil).Create(t.Context(), pod)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(given, pod); diff != "" {
		t.Errorf("the argument changed (-want +got):\n%s", diff)
	}
	if got.Name != "t-1" || got.UID == "" {
		t.Errorf("got name %q, UID %q: not the pod as stored", got.Name, got.UID)
	}
	stored, err := s.CoreV1().Pods("ns").Get(t.Context(), got.Name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	type kept struct {
		Labels     map[string]string
		Finalizers []string
		Owners     []metav1.OwnerReference
	}
	if diff := cmp.Diff(kept{given.Labels, given.Finalizers, given.OwnerReferences},
		kept{stored.Labels, stored.Finalizers, stored.OwnerReferences}); diff != "" {
		t.Errorf("stored (-want +got):\n%s", diff)
	}
}

func TestPodControlDelete(t *testing.T) {
	t.Run("spares a namesake", func(t *testing.T) {
		s := newServer(t, newPod("p", "a", train))
		events := record.NewFakeRecorder(10)
		former := newPod("p", "a", train)
		former.UID = "uid-former"
		if err := kube.NewPodControl(s, events).Delete(t.Context(), former); err != nil {
			t.Errorf("err = %v, want success: the pod meant is gone", err)
		}
		if pods := s.pods(t); len(pods) != 1 {
			t.Errorf("%d pods left, want the namesake", len(pods))
		}
		if got := recorded(events); got != nil {
			t.Errorf("events %q, want none: nothing was deleted", got)
		}
	})
	t.Run("takes a pod that is gone by the time it looks for gone", func(t *testing.T) {
		s := newServer(t)
		s.refuse("delete", "pods", func(clienttesting.Action) error {
			return apierrors.NewConflict(podResource.GroupResource(), "p", errors.New("UID in precondition"))
		})
		if err := kube.NewPodControl(s, nil).Delete(t.Context(), newPod("p", "a", train)); err != nil {
			t.Errorf("err = %v, want success", err)
		}
	})
	t.Run("does not take another conflict for success", func(t *testing.T) {
		s := newServer(t, newPod("p", "a", train))
		s.refuse("delete", "pods", func(clienttesting.Action) error {
			return apierrors.NewConflict(podResource.GroupResource(), "p", errors.New("denied by a webhook"))
		})
		err := kube.NewPodControl(s, nil).Delete(t.Context(), newPod("p", "a", train))
		if !apierrors.IsConflict(err) {
			t.Errorf("err = %v, want the conflict: the pod still runs", err)
		}
	})
	t.Run("refuses a pod without UID", func(t *testing.T) {
		s := newServer(t, newPod("p", "a", train))
		pod := newPod("p", "a", train)
		pod.UID = ""
		if err := kube.NewPodControl(s, nil).Delete(t.Context(), pod); err == nil {
			t.Error("err = nil, want one that says why")
		}
		if got := s.calls("pods"); got != nil {
			t.Errorf("calls %q, want none", got)
		}
	})
}

func TestPodControlPatch(t *testing.T) {
	s := newServer(t, newPod("p", "a", nil))
	control := kube.NewPodControl(s, nil)
	if err := control.Patch(t.Context(), newPod("p", "a", nil), []byte(`{"metadata":{"uid":"uid-p","labels":{"seen":"1"}}}`)); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]string{"app": "a", "seen": "1"}, s.pods(t)[0].Labels); diff != "" {
		t.Errorf("labels (-want +got):\n%s", diff)
	}
	for _, a := range s.Actions() {
		if patch, ok := a.(clienttesting.PatchAction); ok && patch.GetPatchType() != types.StrategicMergePatchType {
			t.Errorf("patch type %s, want strategic merge", patch.GetPatchType())
		}
	}
}

func TestPodControlFetchesWhatIsStored(t *testing.T) {
	s := newServer(t, newPod("p", "a", train), newPod("q", "b", train))
	pods, err := kube.NewPodControl(s, nil).FetchPods(t.Context(), "ns", labels.SelectorFromSet(labels.Set{"app": "a"}))
	if err != nil {
		t.Fatal(err)
	}
	if len(pods) != 1 || pods[0].Name != "p" {
		t.Errorf("pods %v, want p alone", pods)
	}
}

func TestPodControlEndedContext(t *testing.T) {
	s := newServer(t, newPod("p", "a", train))
	events := record.NewFakeRecorder(10)
	control := kube.NewPodControl(s, events)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()

	_, err := control.Create(ctx, newPod("q", "a", train))
	for call, err := range map[string]error{
		"Create": err,
		"Delete": control.Delete(ctx, newPod("p", "a", train)),
		"Patch":  control.Patch(ctx, newPod("p", "a", train), []byte(`{}`)),
	} {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%s: err = %v, want %v", call, err, context.Canceled)
		}
	}
	if got := s.calls("pods"); got != nil {
		t.Errorf("calls %q, want none", got)
	}

	for name, call := range map[string]func(context.Context) error{
		"Create": func(ctx context.Context) error {
			_, err := control.Create(ctx, newPod("q", "a", train))
			return err
		},
		"Delete": func(ctx context.Context) error { return control.Delete(ctx, newPod("p", "a", train)) },
	} {
		t.Run("in the middle of a "+name+" is no news about the Job", func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			s.refuse("*", "pods", func(clienttesting.Action) error {
				cancel()
				return ctx.Err()
			})
			if err := call(ctx); !errors.Is(err, context.Canceled) {
				t.Errorf("err = %v, want %v", err, context.Canceled)
			}
			if got := recorded(events); got != nil {
				t.Errorf("events %q, want none", got)
			}
		})
	}
}
