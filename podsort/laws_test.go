package podsort_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobwright/jobwright/podsort"
)

func orders() map[string]func(a, b *corev1.Pod) int {
	return map[string]func(a, b *corev1.Pod) int{
		"ForDeletion":       podsort.ForDeletion,
		"ForDeletionByCost": podsort.ForDeletionByCost,
		"ByFinishTime":      podsort.ByFinishTime,
	}
}

// twins give for each order, in the plainest way, what its rules look at: a
// list of numbers to be compared from the left.
func twins() map[string]func(*corev1.Pod) []int64 {
	return map[string]func(*corev1.Pod) []int64{
		"ForDeletion":       func(pod *corev1.Pod) []int64 { return deletionRank(pod, false) },
		"ForDeletionByCost": func(pod *corev1.Pod) []int64 { return deletionRank(pod, true) },
		"ByFinishTime":      func(pod *corev1.Pod) []int64 { return []int64{finishTime(pod).Unix()} },
	}
}

func deletionRank(pod *corev1.Pod, byCost bool) []int64 {
	latestFirst := func(t metav1.Time) int64 {
		if t.IsZero() {
			return math.MinInt64
		}
		return -t.UnixNano()
	}
	var assigned, ready, cost, restarts int64
	since := int64(0)
	if pod.Spec.NodeName != "" {
		assigned = 1
	}
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue {
			ready, since = 1, latestFirst(c.LastTransitionTime)
		}
	}
	text := pod.Annotations[corev1.PodDeletionCost]
	if n, err := strconv.ParseInt(text, 10, 32); err == nil && byCost && strconv.FormatInt(n, 10) == text {
		cost = n
	}
	counted := map[string]bool{}
	for _, c := range pod.Spec.InitContainers {
		counted[c.Name] = c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways
	}
	for _, c := range pod.Status.InitContainerStatuses {
		if counted[c.Name] {
			restarts = max(restarts, int64(c.RestartCount))
		}
	}
	for _, c := range pod.Status.ContainerStatuses {
		restarts = max(restarts, int64(c.RestartCount))
	}
	phases := map[corev1.PodPhase]int64{corev1.PodUnknown: 1, corev1.PodRunning: 2}
	return []int64{
		assigned, phases[pod.Status.Phase], ready, cost, since, -restarts, latestFirst(pod.CreationTimestamp),
	}
}

// finishTime lists every time at which something of the pod ended.
func finishTime(pod *corev1.Pod) time.Time {
	var ends []time.Time
	note := func(s corev1.ContainerStatus) {
		if s.State.Terminated == nil {
			ends = append(ends, time.Time{})
		} else {
			ends = append(ends, s.State.Terminated.FinishedAt.Time)
		}
	}
	for _, s := range pod.Status.ContainerStatuses {
		note(s)
	}
	for _, s := range pod.Status.InitContainerStatuses {
		for _, c := range pod.Spec.InitContainers {
			if c.Name == s.Name && c.RestartPolicy != nil && *c.RestartPolicy == "Always" {
				note(s)
			}
		}
	}
	if len(ends) > 0 && !slices.ContainsFunc(ends, time.Time.IsZero) {
		return slices.MaxFunc(ends, time.Time.Compare)
	}
	for _, c := range pod.Status.Conditions {
		if c.Type == "Ready" && c.Status == "False" && !c.LastTransitionTime.IsZero() {
			return c.LastTransitionTime.Time
		}
	}
	if pod.DeletionTimestamp == nil {
		return pod.CreationTimestamp.Time
	}
	if pod.DeletionGracePeriodSeconds == nil {
		return pod.DeletionTimestamp.Time
	}
	return pod.DeletionTimestamp.Time.Add(time.Duration(-*pod.DeletionGracePeriodSeconds) * time.Second)
}

// sortNaively takes out the smallest again and again.
func sortNaively(pods []*corev1.Pod, rank func(*corev1.Pod) []int64) []*corev1.Pod {
	before := func(a, b *corev1.Pod) bool {
		if c := slices.Compare(rank(a), rank(b)); c != 0 {
			return c < 0
		}
		id := func(pod *corev1.Pod) []string { return []string{string(pod.UID), pod.Namespace, pod.Name} }
		return slices.Compare(id(a), id(b)) < 0
	}
	rest := slices.Clone(pods)
	var sorted []*corev1.Pod
	for len(rest) > 0 {
		least := 0
		for i := range rest {
			if before(rest[i], rest[least]) {
				least = i
			}
		}
		sorted = append(sorted, rest[least])
		rest = slices.Delete(rest, least, least+1)
	}
	return sorted
}

// randomPod draws from few values a field, so that pods often tie on a rule.
func randomPod(r *rand.Rand) *corev1.Pod {
	someTime := func() metav1.Time { return pick(r, metav1.Time{}, minute(1), minute(2), minute(3)) }
	status := func(name string) corev1.ContainerStatus {
		s := corev1.ContainerStatus{Name: name, RestartCount: r.Int32N(3)}
		if r.IntN(3) > 0 {
			s.State.Terminated = &corev1.ContainerStateTerminated{FinishedAt: someTime()}
		}
		return s
	}
	pod := &corev1.Pod{}
	pod.UID = types.UID(pick(r, "", "1", "2", "3", "4"))
	pod.Namespace, pod.Name = pick(r, "x", "y"), pick(r, "a", "b", "c")
	pod.CreationTimestamp = someTime()
	pod.Spec.NodeName = pick(r, "", "node")
	pod.Status.Phase = pick(r, "", corev1.PodPending, corev1.PodRunning, corev1.PodUnknown, corev1.PodSucceeded)
	if r.IntN(4) > 0 {
		pod.Status.Conditions = []corev1.PodCondition{{
			Type:               pick(r, corev1.PodReady, corev1.PodReady, corev1.PodScheduled),
			Status:             pick(r, corev1.ConditionTrue, corev1.ConditionFalse, corev1.ConditionUnknown),
			LastTransitionTime: someTime(),
		}}
	}
	if r.IntN(2) > 0 {
		values := []string{"", "1", "-1", "20", "+3", "x", "04", "9999999999", "-9999999999", "2147483647"}
		pod.Annotations = map[string]string{corev1.PodDeletionCost: pick(r, values...)}
	}
	for range r.IntN(3) {
		pod.Status.ContainerStatuses = append(pod.Status.ContainerStatuses, status("main"))
	}
	if r.IntN(2) > 0 {
		pod.Spec.InitContainers = []corev1.Container{{
			Name: "init", RestartPolicy: pick(r, nil, new(corev1.ContainerRestartPolicyAlways), new(corev1.ContainerRestartPolicyNever)),
		}}
		pod.Status.InitContainerStatuses = []corev1.ContainerStatus{status("init")}
	}
	if r.IntN(4) == 0 {
		pod.DeletionTimestamp = new(someTime())
		pod.DeletionGracePeriodSeconds = pick(r, nil, new(int64(30)), new(int64(60)))
	}
	return pod
}

func pick[T any](r *rand.Rand, values ...T) T { return values[r.IntN(len(values))] }

func sign(n int) int { return max(-1, min(1, n)) }

func FuzzOrders(f *testing.F) {
	for seed := range uint64(16) {
		f.Add(seed, uint8(3+seed))
	}
	f.Fuzz(func(t *testing.T, seed uint64, count uint8) {
		r := rand.New(rand.NewPCG(seed, 0))
		pods := make([]*corev1.Pod, count%12)
		asGiven := make([]*corev1.Pod, len(pods))
		for i := range pods {
			pods[i] = randomPod(r)
			asGiven[i] = pods[i].DeepCopy()
		}
		for name, compare := range orders() {
			checkLaws(t, name, compare, pods)
			want := sortNaively(pods, twins()[name])
			got := slices.SortedFunc(slices.Values(pods), compare)
			if diff := cmp.Diff(identities(want), identities(got)); diff != "" {
				t.Errorf("%s: order (-naive +got):\n%s", name, diff)
			}
			shuffled := slices.Clone(pods)
			r.Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
			slices.SortFunc(shuffled, compare)
			if diff := cmp.Diff(identities(got), identities(shuffled)); diff != "" {
				t.Errorf("%s: order depends on the input's (-before +after):\n%s", name, diff)
			}
		}
		if diff := cmp.Diff(asGiven, pods); diff != "" {
			t.Errorf("pods changed (-before +after):\n%s", diff)
		}
	})
}

// checkLaws checks every pair and triple of pods, the same one twice included.
func checkLaws(t *testing.T, name string, compare func(a, b *corev1.Pod) int, pods []*corev1.Pod) {
	t.Helper()
	for _, a := range pods {
		if c := compare(a, a); c != 0 {
			t.Errorf("%s: a pod compares to itself as %d", name, c)
		}
		for _, b := range pods {
			ab := sign(compare(a, b))
			if ba := sign(compare(b, a)); ba != -ab {
				t.Errorf("%s: not antisymmetric: %d and %d for %v and %v", name, ab, ba, a, b)
			}
			if ab == 0 && identities([]*corev1.Pod{a}) != identities([]*corev1.Pod{b}) {
				t.Errorf("%s: distinct pods compare equal: %v and %v", name, a, b)
			}
			for _, c := range pods {
				bc, ac := sign(compare(b, c)), sign(compare(a, c))
				if ab <= 0 && bc <= 0 && ac != min(ab, bc) {
					t.Errorf("%s: not transitive: %d, %d, %d for %v, %v, %v", name, ab, bc, ac, a, b, c)
				}
			}
		}
	}
}

func identities(pods []*corev1.Pod) string {
	var s strings.Builder
	for _, pod := range pods {
		s.WriteString(strings.Join([]string{string(pod.UID), pod.Namespace, pod.Name}, "/") + " ")
	}
	return s.String()
}
