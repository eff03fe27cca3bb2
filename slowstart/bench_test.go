package slowstart_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/jobwright/jobwright/slowstart"
)

func free(context.Context, int) error { return nil }

// BenchmarkSlowStart is what a call costs that itself costs nothing.
func BenchmarkSlowStart(b *testing.B) {
	for _, n := range []int{1, 10, 1000, 100000} {
		b.Run(fmt.Sprintf("calls=%d", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := slowstart.Run(b.Context(), n, slowstart.Config{}, free); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/call")
		})
	}
}

func TestAllocationsDoNotGrowWithTheCalls(t *testing.T) {
	allocs := func(n int) float64 {
		return testing.AllocsPerRun(10, func() {
			if _, err := slowstart.Run(context.Background(), n, slowstart.Config{Largest: 64}, free); err != nil {
				t.Error(err)
			}
		})
	}
	few, many := allocs(100), allocs(5000)
	if many > few+10 {
		t.Errorf("%v allocations for 5000 calls, %v for 100", many, few)
	}
}
