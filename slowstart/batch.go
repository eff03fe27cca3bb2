package slowstart

import (
	"cmp"
	"slices"
	"sync"
	"sync/atomic"
)

// batch hands out the indexes of one batch after the other to the goroutines
// that make the calls, and keeps what failed.
type batch struct {
	end  int          // changes only while no goroutine is busy
	next atomic.Int64 // the next index to hand out; may run past end
	busy sync.WaitGroup

	mu     sync.Mutex
	failed []failure
}

type failure struct {
	index int
	err   error
}

// extend moves on to the next size indexes.
func (b *batch) extend(size int) {
	b.next.Store(int64(b.end))
	b.end += size
}

// run makes the calls of the batch in the given number of goroutines, of which
// the caller's is one: a batch of one call costs no goroutine. It returns when
// all have ended, even if work panics here.
func (b *batch) run(goroutines int, work, helper func()) {
	defer b.busy.Wait()
	b.busy.Add(goroutines - 1)
	for range goroutines - 1 {
		go helper()
	}
	work()
}

// take hands out the lowest index not handed out. Whoever takes one makes its
// call, which is why the indexes attempted have no gap.
func (b *batch) take() (int, bool) {
	i := int(b.next.Add(1)) - 1
	return i, i < b.end
}

func (b *batch) attempted() int {
	return min(int(b.next.Load()), b.end)
}

func (b *batch) fail(index int, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.failed = append(b.failed, failure{index, err})
}

// errors returns what failed in the order of the indexes.
func (b *batch) errors() []error {
	slices.SortFunc(b.failed, func(a, b failure) int { return cmp.Compare(a.index, b.index) })
	var errs []error
	for _, f := range b.failed {
		errs = append(errs, f.err)
	}
	return errs
}
