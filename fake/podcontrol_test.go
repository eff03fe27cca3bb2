package fake_test

import (
	"context"
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/jobwright/jobwright/fake"
)

// lines is the calls in words.
func lines(calls []fake.Call) []string {
	var all []string
	for _, call := range calls {
		all = append(all, call.String())
	}
	return all
}

func TestPodControlRecordsCalls(t *testing.T) {
	control := &fake.PodControl{}
	pod := newPod("a")
	control.FailCall(2, errors.New("refused"))
	created, err := control.Create(t.Context(), pod)
	must(t, created, err)
	_ = control.Patch(t.Context(), pod, []byte(`{}`))
	_ = control.Delete(t.Context(), pod)
	generated := newPod("")
	generated.GenerateName = "g-"
	_, _ = control.Create(t.Context(), generated)

	equal(t, "calls", lines(control.Calls()), []string{
		"create default/a", "patch default/a {}", "delete default/a", "create default/g-*",
	})
	equal(t, "creates", lines(control.Calls(fake.Create)), []string{"create default/a", "create default/g-*"})
	equal(t, "patches and deletes", lines(control.Calls(fake.Delete, fake.Patch)),
		[]string{"patch default/a {}", "delete default/a"})
}

func TestPodControlCallsAreCopies(t *testing.T) {
	control := &fake.PodControl{OnCall: func(call fake.Call) error {
		call.Pod.Name = "changed by the hook"
		return nil
	}}
	pod, patch := newPod("a"), []byte(`{}`)
	_ = control.Patch(t.Context(), pod, patch)
	equal(t, "name at the caller's", pod.Name, "a")
	pod.Name, patch[0] = "changed by the caller", '!'
	control.Calls()[0].Pod.Name = "changed by a reader"
	equal(t, "calls", lines(control.Calls()), []string{"patch default/a {}"})
}

func TestPodControlFaultsComeBeforeTheStateChanges(t *testing.T) {
	refused := errors.New("refused")
	for name, control := range map[string]*fake.PodControl{
		"FailAll":  {},
		"FailCall": {},
		"OnCall":   {OnCall: func(fake.Call) error { return refused }},
	} {
		t.Run(name, func(t *testing.T) {
			cluster, _ := newCluster()
			control.Next = cluster
			pod := createPod(t, cluster, newPod("a"))
			switch name {
			case "FailAll":
				control.FailAll(refused)
			case "FailCall":
				control.FailCall(1, refused)
				control.FailCall(2, refused)
				control.FailCall(3, refused)
			}
			if got, err := control.Create(t.Context(), newPod("b")); !errors.Is(err, refused) || got != nil {
				t.Errorf("Create gave %v, %v", got, err)
			}
			if err := control.Patch(t.Context(), pod, []byte(`{"metadata":{"labels":{"a":"b"}}}`)); !errors.Is(err, refused) {
				t.Errorf("Patch gave %v", err)
			}
			if err := control.Delete(t.Context(), pod); !errors.Is(err, refused) {
				t.Errorf("Delete gave %v", err)
			}
			equal(t, "pods", cluster.Pods(""), []*corev1.Pod{pod})
		})
	}
}

func TestPodControlFailsTheChosenCallOnly(t *testing.T) {
	control := &fake.PodControl{}
	refused := errors.New("refused")
	control.FailCall(2, refused)
	for k, want := range []error{nil, refused, nil} {
		if err := control.Delete(t.Context(), newPod("a")); !errors.Is(err, want) {
			t.Errorf("call %d gave error %v, want %v", k+1, err, want)
		}
	}
}

func TestPodControlFaultsThatWereSetComeBeforeTheHook(t *testing.T) {
	one, all := errors.New("one"), errors.New("all")
	control := &fake.PodControl{OnCall: func(fake.Call) error { t.Error("OnCall ran"); return nil }}
	control.FailAll(all)
	control.FailCall(1, one)
	for k, want := range []error{one, all} {
		if err := control.Delete(t.Context(), newPod("a")); !errors.Is(err, want) {
			t.Errorf("call %d gave error %v, want %v", k+1, err, want)
		}
	}
}

func TestB32_PodControlHealsWhenTheQuotaIsFreed(t *testing.T) {
	control := &fake.PodControl{}
	quota := apierrors.NewForbidden(corev1.Resource("pods"), "", errors.New("exceeded quota"))
	control.FailAll(quota)
	if _, err := control.Create(t.Context(), newPod("a")); !apierrors.IsForbidden(err) {
		t.Errorf("Create gave error %v, want Forbidden", err)
	}
	control.FailAll(nil)
	created, err := control.Create(t.Context(), newPod("a"))
	must(t, created, err)
	equal(t, "pods", len(control.Pods("default")), 1)
}

func TestPodControlRecordsACallWhoseContextEndedAndStopsThere(t *testing.T) {
	hooked := false
	control := &fake.PodControl{OnCall: func(fake.Call) error { hooked = true; return nil }}
	control.FailCall(1, errors.New("refused"))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := control.Create(ctx, newPod("a")); !errors.Is(err, context.Canceled) {
		t.Errorf("Create gave error %v, want that of the context", err)
	}
	equal(t, "calls", lines(control.Calls()), []string{"create default/a"})
	if hooked {
		t.Error("OnCall ran")
	}
}

func TestPodControlHookMayCallBack(t *testing.T) {
	cluster, _ := newCluster()
	control := &fake.PodControl{Next: cluster}
	control.OnCall = func(call fake.Call) error {
		if _, err := cluster.Create(context.Background(), call.Pod); err != nil {
			return err
		}
		return apierrors.NewTimeoutError("the answer was lost", 0)
	}
	if _, err := control.Create(t.Context(), newPod("a")); !apierrors.IsTimeout(err) {
		t.Errorf("Create gave error %v, want a timeout", err)
	}
	equal(t, "stored", names(cluster), []string{"pod a"})
}

func TestPodControlTakesAnUnknownPodToExist(t *testing.T) {
	control := &fake.PodControl{}
	pod := newPod("a")
	pod.UID = "uid-of-a"
	pod.Status.Phase = corev1.PodRunning
	if err := control.Patch(t.Context(), pod, []byte(`{"metadata":{"uid":"uid-of-a","labels":{"a":"b"}}}`)); err != nil {
		t.Fatal(err)
	}
	got := control.Pods("default")[0]
	equal(t, "labels", got.Labels, map[string]string{"a": "b"})
	equal(t, "phase", got.Status.Phase, corev1.PodRunning)
	equal(t, "UID", got.UID, pod.UID)

	if err := control.Delete(t.Context(), pod); err != nil {
		t.Fatal(err)
	}
	if err := control.Patch(t.Context(), pod, []byte(`{}`)); !apierrors.IsNotFound(err) {
		t.Errorf("Patch of the deleted pod gave error %v, want NotFound", err)
	}
}

func TestPodControlWithNextStoresNothingItself(t *testing.T) {
	cluster, _ := newCluster()
	control := &fake.PodControl{Next: cluster}
	created, err := control.Create(t.Context(), newPod("a"))
	must(t, created, err)
	equal(t, "pods", len(control.Pods("")), 0)
}
