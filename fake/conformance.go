package fake

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobwright/jobwright/jobcontrol"
)

// Subject is a PodControl to be checked by TestPodControl.
type Subject struct {
	Control jobcontrol.PodControl
	// Pod reads a pod as it is stored now. That there is none is an error that
	// apierrors.IsNotFound recognises.
	Pod func(ctx context.Context, namespace, name string) (*corev1.Pod, error)
}

// TestPodControl checks that a PodControl keeps to what jobcontrol relies on,
// one subtest a rule. subject is called for each with its t, and gives a
// PodControl without pods. The pods used are in the namespace "default", have
// no node and one container, so that nothing holds up their deletion.
func TestPodControl(t *testing.T, subject func(t *testing.T) Subject) {
	for _, rule := range []struct {
		name  string
		check func(*testing.T, Subject)
	}{
		{"create returns the pod as stored", createReturnsStored},
		{"create leaves its argument alone", createLeavesArgument},
		{"create keeps what the template gave", createKeepsTemplate},
		{"create refuses a name that is taken", createRefusesTakenName},
		{"delete deletes the pod", deleteDeletes},
		{"delete of a missing pod is success", deleteOfMissing},
		{"delete leaves a namesake alone", deleteLeavesNamesake},
		{"patch adds and removes a finalizer", patchFinalizer},
		{"patch adds and removes an owner reference", patchOwner},
		{"patch leaves a namesake alone", patchLeavesNamesake},
		{"a context that ended changes nothing", endedContext},
		{"concurrent calls are safe", concurrentCalls},
	} {
		t.Run(rule.name, func(t *testing.T) { rule.check(t, subject(t)) })
	}
}

func createReturnsStored(t *testing.T, s Subject) {
	created := s.create(t, conformancePod())
	if created.Name == "" || created.UID == "" {
		t.Fatalf("Create returned name %q and UID %q, want both filled in", created.Name, created.UID)
	}
	stored := s.stored(t, created.Name)
	if !equality.Semantic.DeepEqual(created, stored) {
		t.Errorf("Create returned\n%v\nand stored\n%v\nwant the same", created, stored)
	}
}

func createLeavesArgument(t *testing.T, s Subject) {
	pod := conformancePod()
	created := s.create(t, pod)
	if want := conformancePod(); !equality.Semantic.DeepEqual(pod, want) {
		t.Errorf("Create changed its argument to\n%v\nfrom\n%v", pod, want)
	}
	pod.Labels["late"] = "yes"
	created.Labels["late"] = "yes"
	if _, leaked := s.stored(t, created.Name).Labels["late"]; leaked {
		t.Error("a change of what Create took or returned shows in what is stored")
	}
}

func createKeepsTemplate(t *testing.T, s Subject) {
	want := conformancePod()
	got := s.stored(t, s.create(t, want).Name)
	for _, part := range []struct {
		field     string
		got, want any
	}{
		{"metadata.labels", got.Labels, want.Labels},
		{"metadata.annotations", got.Annotations, want.Annotations},
		{"metadata.finalizers", got.Finalizers, want.Finalizers},
		{"metadata.ownerReferences", got.OwnerReferences, want.OwnerReferences},
		{"spec.restartPolicy", got.Spec.RestartPolicy, want.Spec.RestartPolicy},
	} {
		if !equality.Semantic.DeepEqual(part.got, part.want) {
			t.Errorf("%s is stored as\n%v\nwant as given\n%v", part.field, part.got, part.want)
		}
	}
}

func createRefusesTakenName(t *testing.T, s Subject) {
	first := s.create(t, namedConformancePod())
	_, err := s.Control.Create(t.Context(), namedConformancePod())
	if !apierrors.IsAlreadyExists(err) {
		t.Errorf("second Create under the name gives error %v, want AlreadyExists", err)
	}
	if uid := s.stored(t, first.Name).UID; uid != first.UID {
		t.Errorf("the pod stored has UID %s, want that of the first, %s", uid, first.UID)
	}
}

func deleteDeletes(t *testing.T, s Subject) {
	pod := conformancePod()
	pod.Finalizers = nil
	pod = s.create(t, pod)
	s.noError(t, "Delete", s.Control.Delete(t.Context(), pod))
	if _, err := s.Pod(t.Context(), pod.Namespace, pod.Name); !apierrors.IsNotFound(err) {
		t.Errorf("reading the deleted pod gives error %v, want NotFound", err)
	}
	s.noError(t, "Delete of the pod just deleted", s.Control.Delete(t.Context(), pod))
}

func deleteOfMissing(t *testing.T, s Subject) {
	pod := namedConformancePod()
	pod.UID = "never-stored"
	s.noError(t, "Delete", s.Control.Delete(t.Context(), pod))
}

func deleteLeavesNamesake(t *testing.T, s Subject) {
	pod := namedConformancePod()
	pod.Finalizers = nil
	pod = s.create(t, pod)
	s.noError(t, "Delete of the pod that had this name before", s.Control.Delete(t.Context(), earlier(pod)))
	if stored := s.stored(t, pod.Name); stored.DeletionTimestamp != nil {
		t.Error("Delete of another UID marked the pod as deleting")
	}
}

func patchFinalizer(t *testing.T, s Subject) {
	pod := s.create(t, conformancePod())
	s.patch(t, pod, `{"metadata":{"uid":%q,"finalizers":["example.com/second"]}}`, pod.UID)
	if got := s.stored(t, pod.Name).Finalizers; len(got) != 2 || !slices.Contains(got, "example.com/second") {
		t.Fatalf("finalizers are %q, want the first kept and example.com/second added", got)
	}
	s.patch(t, pod, `{"metadata":{"uid":%q,"$deleteFromPrimitiveList/finalizers":["example.com/second"]}}`, pod.UID)
	if got := s.stored(t, pod.Name).Finalizers; !slices.Equal(got, pod.Finalizers) {
		t.Errorf("finalizers are %q, want %q as before", got, pod.Finalizers)
	}
}

func patchOwner(t *testing.T, s Subject) {
	pod := s.create(t, conformancePod())
	s.patch(t, pod, `{"metadata":{"uid":%q,"ownerReferences":[{"apiVersion":"v1","kind":"ConfigMap","name":"other","uid":"uid-of-other"}]}}`, pod.UID)
	if got := ownerUIDs(s.stored(t, pod.Name)); len(got) != 2 || !slices.Contains(got, "uid-of-other") {
		t.Fatalf("owner references are to %q, want the first kept and one to uid-of-other added", got)
	}
	s.patch(t, pod, `{"metadata":{"uid":%q,"ownerReferences":[{"$patch":"delete","uid":"uid-of-other"}]}}`, pod.UID)
	stored := s.stored(t, pod.Name)
	if !equality.Semantic.DeepEqual(stored.OwnerReferences, pod.OwnerReferences) {
		t.Errorf("owner references are to %q, want those to %q as before", ownerUIDs(stored), ownerUIDs(pod))
	}
}

func patchLeavesNamesake(t *testing.T, s Subject) {
	pod := s.create(t, namedConformancePod())
	patch := []byte(`{"metadata":{"uid":"uid-of-another","labels":{"patched":"yes"}}}`)
	if err := s.Control.Patch(t.Context(), earlier(pod), patch); !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
		t.Errorf("Patch with another UID gives error %v, want that the pod is not found, or a conflict", err)
	}
	if stored := s.stored(t, pod.Name); stored.Labels["patched"] != "" || stored.UID != pod.UID {
		t.Errorf("Patch with another UID changed the pod: labels %v, UID %s", stored.Labels, stored.UID)
	}
}

func endedContext(t *testing.T, s Subject) {
	pod := conformancePod()
	pod.Finalizers = nil
	pod = s.create(t, pod)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Control.Create(ctx, namedConformancePod()); err == nil {
		t.Error("Create gives no error")
	}
	if _, err := s.Pod(t.Context(), "default", namedConformancePod().Name); !apierrors.IsNotFound(err) {
		t.Errorf("reading the pod not created gives error %v, want NotFound", err)
	}
	if err := s.Control.Patch(ctx, pod, []byte(`{"metadata":{"labels":{"patched":"yes"}}}`)); err == nil {
		t.Error("Patch gives no error")
	}
	if err := s.Control.Delete(ctx, pod); err == nil {
		t.Error("Delete gives no error")
	}
	if stored := s.stored(t, pod.Name); !equality.Semantic.DeepEqual(stored, pod) {
		t.Errorf("the pod is stored as\n%v\nwant unchanged\n%v", stored, pod)
	}
}

func concurrentCalls(t *testing.T, s Subject) {
	const n = 32
	var wg sync.WaitGroup
	uids := make([]types.UID, n)
	for i := range n {
		wg.Go(func() {
			pod := conformancePod()
			pod.Finalizers = nil
			pod, err := s.Control.Create(t.Context(), pod)
			if err != nil {
				t.Errorf("Create: %v", err)
				return
			}
			uids[i] = pod.UID
			patch := fmt.Appendf(nil, `{"metadata":{"uid":%q,"labels":{"patched":"yes"}}}`, pod.UID)
			if err := s.Control.Patch(t.Context(), pod, patch); err != nil {
				t.Errorf("Patch: %v", err)
			}
			if err := s.Control.Delete(t.Context(), pod); err != nil {
				t.Errorf("Delete: %v", err)
			}
		})
	}
	wg.Wait()
	slices.Sort(uids)
	if distinct := len(slices.Compact(uids)); distinct != n {
		t.Errorf("%d creates gave %d distinct UIDs", n, distinct)
	}
}

func (s Subject) create(t *testing.T, pod *corev1.Pod) *corev1.Pod {
	t.Helper()
	created, err := s.Control.Create(t.Context(), pod)
	s.noError(t, "Create", err)
	return created
}

func (s Subject) patch(t *testing.T, pod *corev1.Pod, format string, uid types.UID) {
	t.Helper()
	s.noError(t, "Patch", s.Control.Patch(t.Context(), pod, fmt.Appendf(nil, format, uid)))
}

func (s Subject) stored(t *testing.T, name string) *corev1.Pod {
	t.Helper()
	pod, err := s.Pod(t.Context(), "default", name)
	s.noError(t, "reading pod default/"+name, err)
	return pod
}

func (s Subject) noError(t *testing.T, what string, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}

// earlier is a pod of the same name that was there before.
func earlier(pod *corev1.Pod) *corev1.Pod {
	other := pod.DeepCopy()
	other.UID, other.ResourceVersion = "uid-of-another", ""
	return other
}

func ownerUIDs(pod *corev1.Pod) []types.UID {
	var uids []types.UID
	for _, ref := range pod.OwnerReferences {
		uids = append(uids, ref.UID)
	}
	return uids
}

func namedConformancePod() *corev1.Pod {
	pod := conformancePod()
	pod.GenerateName, pod.Name = "", "conformance-named"
	return pod
}

func conformancePod() *corev1.Pod {
	yes := true
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace:    "default",
			GenerateName: "conformance-",
			Labels:       map[string]string{"from": "template"},
			Annotations:  map[string]string{"example.com/from": "template"},
			Finalizers:   []string{"example.com/first"},
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: "batch/v1", Kind: "Job", Name: "owner", UID: "uid-of-owner",
				Controller: &yes, BlockOwnerDeletion: &yes,
			}},
		},
		Spec: corev1.PodSpec{
			RestartPolicy: corev1.RestartPolicyNever,
			Containers:    []corev1.Container{{Name: "main", Image: "example.com/image"}},
		},
	}
}
