package podsort_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

func benchmarkPods(n int) []*corev1.Pod {
	r := rand.New(rand.NewPCG(1, 2))
	pods := make([]*corev1.Pod, n)
	for i := range pods {
		pods[i] = running(fmt.Sprint(r.Uint64()), all(
			cost(fmt.Sprint(r.IntN(10))), created(minute(r.IntN(5))), restarts(0, r.Int32N(3)),
			initRestarts("sidecar", r.Int32N(3)), containers(ended("main", minute(r.IntN(60)))),
		))
		pods[i].UID = types.UID(fmt.Sprint(r.Uint64()))
	}
	return pods
}

func BenchmarkSort(b *testing.B) {
	for _, name := range []string{"ForDeletion", "ForDeletionByCost", "ByFinishTime"} {
		for _, n := range []int{10, 1000, 100000} {
			b.Run(fmt.Sprintf("%s/pods=%d", name, n), func(b *testing.B) {
				compare, pods := orders()[name], benchmarkPods(n)
				scratch := make([]*corev1.Pod, n)
				b.ReportAllocs()
				for b.Loop() {
					copy(scratch, pods)
					slices.SortFunc(scratch, compare)
				}
			})
		}
	}
}

func TestComparingDoesNotAllocate(t *testing.T) {
	pods := append(benchmarkPods(20), running("malformed", cost("07")))
	for name, compare := range orders() {
		t.Run(name, func(t *testing.T) {
			allocs := testing.AllocsPerRun(10, func() {
				for _, a := range pods {
					for _, b := range pods {
						compare(a, b)
					}
				}
			})
			if allocs != 0 {
				t.Errorf("comparing %d pods allocates %v times, want none", len(pods), allocs)
			}
		})
	}
}
