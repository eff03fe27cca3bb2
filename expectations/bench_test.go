package expectations_test

import (
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/jobwright/jobwright/expectations"
)

// BenchmarkTracker is the life of one creation: expected, asked about,
// observed, asked about. It runs on all processors, with a number of other
// keys outstanding.
func BenchmarkTracker(b *testing.B) {
	for _, outstanding := range []int{0, 100000} {
		b.Run(fmt.Sprintf("outstanding=%d", outstanding), func(b *testing.B) {
			tr := expectations.New[int](expectations.Config{})
			for key := range outstanding {
				tr.ExpectCreations(-1-key, 1)
			}
			var workers atomic.Int64
			b.ReportAllocs()
			b.RunParallel(func(pb *testing.PB) {
				key := int(workers.Add(1))
				for pb.Next() {
					tr.ExpectCreations(key, 1)
					if tr.Satisfied(key) {
						b.Error("satisfied with a creation outstanding")
					}
					tr.CreationObserved(key)
					if !tr.Satisfied(key) {
						b.Error("not satisfied")
					}
				}
			})
		})
	}
}
