package fake_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

func TestClusterPatchThatIsNone(t *testing.T) {
	cluster, _ := newCluster()
	pod := createPod(t, cluster, newPod("a"))
	for _, patch := range []string{`{`, `{"metadata":{"labels":7}}`} {
		if err := cluster.Patch(t.Context(), pod, []byte(patch)); !apierrors.IsBadRequest(err) {
			t.Errorf("patch %s gives error %v, want BadRequest", patch, err)
		}
	}
}

func TestClusterPatchWithAStaleVersionConflicts(t *testing.T) {
	cluster, _ := newCluster()
	pod := createPod(t, cluster, newPod("a"))
	if err := cluster.Patch(t.Context(), pod, []byte(`{"metadata":{"resourceVersion":"7"}}`)); !apierrors.IsConflict(err) {
		t.Errorf("error is %v, want a conflict", err)
	}
}

func TestClusterPatchThatRemovesTheLastItemLeavesNoList(t *testing.T) {
	cluster, _ := newCluster()
	pod := newPod("a")
	pod.Finalizers, pod.Labels = []string{"example.com/hold"}, map[string]string{"a": "b"}
	pod = createPod(t, cluster, pod)
	patch := `{"metadata":{"labels":{"a":null},"$deleteFromPrimitiveList/finalizers":["example.com/hold"]}}`
	if err := cluster.Patch(t.Context(), pod, []byte(patch)); err != nil {
		t.Fatal(err)
	}
	pod.Finalizers, pod.Labels, pod.ResourceVersion = nil, nil, "2"
	equal(t, "stored", cluster.Pods(""), []*corev1.Pod{pod})
}

func TestClusterPatchKeepsTheStatus(t *testing.T) {
	cluster, _ := newCluster()
	pod := createPod(t, cluster, newPod("a"))
	if err := cluster.Patch(t.Context(), pod, []byte(`{"status":{"phase":"Failed"},"spec":{"nodeName":"n"}}`)); err != nil {
		t.Fatal(err)
	}
	got := cluster.Pods("")[0]
	equal(t, "phase", got.Status.Phase, corev1.PodPending)
	equal(t, "node", got.Spec.NodeName, "n")
	equal(t, "generation", got.Generation, 2)
}
