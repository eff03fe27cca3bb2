package podsort_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobwright/jobwright/podsort"
)

// minute is a time of the test's day.
func minute(m int) metav1.Time {
	return metav1.NewTime(time.Date(2026, time.March, 1, 9, m, 0, 0, time.UTC))
}

// running returns a pod that is assigned, Running and ready since minute 10,
// with one restart, created at minute 5, as the change makes of it.
func running(uid string, change func(*corev1.Pod)) *corev1.Pod {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			UID: types.UID(uid), Namespace: "default", Name: "pod", CreationTimestamp: minute(5),
		},
		Spec: corev1.PodSpec{NodeName: "node", InitContainers: []corev1.Container{
			{Name: "init"},
			{Name: "sidecar", RestartPolicy: new(corev1.ContainerRestartPolicyAlways)},
		}},
		Status: corev1.PodStatus{
			Phase: corev1.PodRunning,
			Conditions: []corev1.PodCondition{
				{Type: corev1.PodScheduled, Status: corev1.ConditionTrue, LastTransitionTime: minute(6)},
				{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: minute(10)},
			},
			ContainerStatuses: []corev1.ContainerStatus{{Name: "main", RestartCount: 1}, {Name: "helper"}},
		},
	}
	if change != nil {
		change(pod)
	}
	return pod
}

func unassigned(pod *corev1.Pod) { pod.Spec.NodeName = "" }

func phase(phase corev1.PodPhase) func(*corev1.Pod) {
	return func(pod *corev1.Pod) { pod.Status.Phase = phase }
}

func readiness(status corev1.ConditionStatus, since metav1.Time) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		pod.Status.Conditions[1].Status = status
		pod.Status.Conditions[1].LastTransitionTime = since
	}
}

func restarts(container int, count int32) func(*corev1.Pod) {
	return func(pod *corev1.Pod) { pod.Status.ContainerStatuses[container].RestartCount = count }
}

func initRestarts(name string, count int32) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		pod.Status.InitContainerStatuses = []corev1.ContainerStatus{{Name: name, RestartCount: count}}
	}
}

func created(at metav1.Time) func(*corev1.Pod) {
	return func(pod *corev1.Pod) { pod.CreationTimestamp = at }
}

func cost(value string) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		pod.Annotations = map[string]string{"controller.kubernetes.io/pod-deletion-cost": value}
	}
}

func all(changes ...func(*corev1.Pod)) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		for _, change := range changes {
			change(pod)
		}
	}
}

type pairTest struct {
	name          string
	first, second func(*corev1.Pod) // nil: the pod as running makes it
}

// checkPairs checks both directions. The UIDs say the opposite of what is
// wanted, so that a pair that no rule decides fails.
func checkPairs(t *testing.T, compare func(a, b *corev1.Pod) int, tests []pairTest) {
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			first, second := running("b", test.first), running("a", test.second)
			if got := compare(first, second); got >= 0 {
				t.Errorf("compare(first, second) = %d, want it negative", got)
			}
			if got := compare(second, first); got <= 0 {
				t.Errorf("compare(second, first) = %d, want it positive", got)
			}
		})
	}
}

// deletionPairs hold for both orders. Where a rule is to win over the next ones,
// these say the opposite.
func deletionPairs() []pairTest {
	notReady := readiness(corev1.ConditionFalse, minute(10))
	return []pairTest{
		{"unassigned before assigned", all(unassigned, created(minute(1))), phase(corev1.PodPending)},
		{"pending before unknown", phase(corev1.PodPending), all(phase(corev1.PodUnknown), notReady)},
		{"unknown before running", phase(corev1.PodUnknown), notReady},
		{"absent phase ranks as pending", phase(""), phase(corev1.PodUnknown)},
		{"finished phase ranks as pending", phase(corev1.PodFailed), phase(corev1.PodUnknown)},
		{"not ready before ready", notReady, readiness(corev1.ConditionTrue, minute(59))},
		{"readiness unknown is not ready", readiness(corev1.ConditionUnknown, minute(10)), nil},
		{"no readiness is not ready", func(pod *corev1.Pod) { pod.Status.Conditions = nil }, nil},
		{"ready for less time first", readiness(corev1.ConditionTrue, minute(11)), restarts(0, 9)},
		{"ready without a time has just become so", readiness(corev1.ConditionTrue, metav1.Time{}),
			readiness(corev1.ConditionTrue, minute(59))},
		{"times of not being ready are not compared", all(notReady, restarts(0, 2)),
			readiness(corev1.ConditionFalse, minute(59))},
		{"more restarts first", all(restarts(0, 2), created(minute(1))), created(minute(59))},
		{"restarts of the worst container, not of all", all(restarts(0, 0), restarts(1, 3)),
			all(restarts(0, 2), restarts(1, 2))},
		{"restarts of a sidecar count", initRestarts("sidecar", 2), nil},
		{"restarts of an init container do not", created(minute(6)), initRestarts("init", 2)},
		{"restarts of an init container not in the spec do not", created(minute(6)), initRestarts("gone", 2)},
		{"newer first", created(minute(6)), nil},
		{"no creation time is the newest", created(metav1.Time{}), created(minute(59))},
	}
}

func TestForDeletion(t *testing.T) {
	checkPairs(t, podsort.ForDeletion, append(deletionPairs(),
		pairTest{"cost is not looked at", created(minute(6)), cost("-5")}))
}

func TestForDeletionByCost(t *testing.T) {
	checkPairs(t, podsort.ForDeletionByCost, append(deletionPairs(), []pairTest{
		{"lower cost before less time ready", cost("-1"), readiness(corev1.ConditionTrue, minute(11))},
		{"not ready before lower cost", readiness(corev1.ConditionFalse, minute(10)), cost("-1")},
		{"costs are numbers", cost("9"), cost("10")},
		{"smallest cost", cost("-2147483648"), cost("-2147483647")},
		{"largest cost", cost("2147483646"), cost("2147483647")},
		{"empty is 0", cost(""), cost("1")},
		{"zero is 0", cost("0"), cost("1")},
		{"no number is 0", cost("cheap"), cost("1")},
		{"plus sign is 0", cost("+7"), cost("1")},
		{"leading zero is 0", cost("07"), cost("1")},
		{"fraction is 0", cost("7.5"), cost("1")},
		{"space is 0", cost(" 7"), cost("1")},
		{"too large is 0", cost("2147483648"), cost("1")},
		{"too small is 0", cost("-1"), cost("-2147483649")},
		{"after the cost the other rules", all(cost("1"), restarts(0, 2)), cost("1")},
	}...))
}

func TestIdentityIsTheLastRule(t *testing.T) {
	named := func(uid, namespace, name string) *corev1.Pod {
		return running(uid, func(pod *corev1.Pod) { pod.Namespace, pod.Name = namespace, name })
	}
	want := []*corev1.Pod{
		named("", "x", "b"), named("", "y", "a"), named("", "y", "b"), named("1", "b", "b"), named("2", "a", "a"),
	}
	for name, compare := range orders() {
		t.Run(name, func(t *testing.T) {
			given := slices.Clone(want)
			slices.Reverse(given)
			if diff := cmp.Diff(want, slices.SortedFunc(slices.Values(given), compare)); diff != "" {
				t.Errorf("order (-want +got):\n%s", diff)
			}
			if got := compare(named("1", "a", "a"), named("1", "a", "a")); got != 0 {
				t.Errorf("compare of two copies of a pod = %d, want 0", got)
			}
		})
	}
}
