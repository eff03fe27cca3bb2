package slowstart_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/jobwright/jobwright/slowstart"
)

// recorder makes calls that take a second of the bubble's clock and keeps when
// they started, how many ran at once, and for which indexes.
type recorder struct {
	begin time.Time
	fail  func(i int) error

	mu       sync.Mutex
	starts   []int // calls started, by second
	indexes  map[int]bool
	inFlight int
	peak     int
}

func newRecorder(fail func(i int) error) *recorder {
	return &recorder{begin: time.Now(), fail: fail, indexes: map[int]bool{}}
}

func (r *recorder) call(_ context.Context, i int) error {
	r.mu.Lock()
	second := int(time.Since(r.begin) / time.Second)
	for len(r.starts) <= second {
		r.starts = append(r.starts, 0)
	}
	r.starts[second]++
	r.indexes[i] = true
	r.inFlight++
	r.peak = max(r.peak, r.inFlight)
	r.mu.Unlock()

	time.Sleep(time.Second)

	r.mu.Lock()
	defer r.mu.Unlock()
	r.inFlight--
	if r.fail != nil {
		return r.fail(i)
	}
	return nil
}

func (r *recorder) check(t *testing.T, got slowstart.Result, want slowstart.Result) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("result (-want +got):\n%s", diff)
	}
	prefix := map[int]bool{}
	for i := range got.Attempted {
		prefix[i] = true
	}
	if diff := cmp.Diff(prefix, r.indexes); diff != "" {
		t.Errorf("indexes attempted are not those below Attempted (-want +got):\n%s", diff)
	}
	if r.inFlight != 0 {
		t.Errorf("%d calls in flight after Run returned", r.inFlight)
	}
}

func failAt(indexes ...int) func(i int) error {
	return func(i int) error {
		for _, index := range indexes {
			if i == index {
				return fmt.Errorf("call %d", i)
			}
		}
		return nil
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func TestBatches(t *testing.T) {
	tests := []struct {
		name   string
		n      int
		cfg    slowstart.Config
		starts []int
	}{
		{"none", 0, slowstart.Config{}, nil},
		{"fewer than none", -1, slowstart.Config{}, nil},
		{"one", 1, slowstart.Config{}, []int{1}},
		{"doubling, the last one cut", 20, slowstart.Config{}, []int{1, 2, 4, 8, 5}},
		{"doubling, the last one full", 15, slowstart.Config{}, []int{1, 2, 4, 8}},
		{"from an initial size", 20, slowstart.Config{Initial: 3}, []int{3, 6, 11}},
		{"initial size beyond all", 3, slowstart.Config{Initial: 10}, []int{3}},
		{"up to a largest size", 20, slowstart.Config{Largest: 5}, []int{1, 2, 4, 5, 5, 3}},
		{"largest size below the initial one", 7, slowstart.Config{Initial: 4, Largest: 3}, []int{3, 3, 1}},
		{"in flight bounds the calls, not the batch", 9, slowstart.Config{Initial: 2, InFlight: 3}, []int{2, 3, 1, 3}},
		{"64 in flight by default", 100, slowstart.Config{Initial: 100}, []int{64, 36}},
		{"negative is zero", 4, slowstart.Config{Initial: -1, Largest: -1, InFlight: -1}, []int{1, 2, 1}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRecorder(nil)
				got, err := slowstart.Run(t.Context(), test.n, test.cfg, r.call)
				if err != nil {
					t.Errorf("Run: %v", err)
				}
				r.check(t, got, slowstart.Result{Succeeded: max(0, test.n), Attempted: max(0, test.n)})
				if diff := cmp.Diff(test.starts, r.starts); diff != "" {
					t.Errorf("calls started by second (-want +got):\n%s", diff)
				}
			})
		})
	}
}

func TestFailure(t *testing.T) {
	tests := []struct {
		name string
		n    int
		fail []int
		want slowstart.Result
		err  string
	}{
		{"in the first batch", 10, []int{0}, slowstart.Result{Attempted: 1}, "call 0"},
		{"in a later batch", 10, []int{4}, slowstart.Result{Succeeded: 6, Attempted: 7}, "call 4"},
		{"in the last batch", 10, []int{9}, slowstart.Result{Succeeded: 9, Attempted: 10}, "call 9"},
		{"of the whole batch", 10, []int{3, 4, 5, 6}, slowstart.Result{Succeeded: 3, Attempted: 7},
			"call 3\ncall 4\ncall 5\ncall 6"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRecorder(failAt(test.fail...))
				got, err := slowstart.Run(t.Context(), test.n, slowstart.Config{}, r.call)
				r.check(t, got, test.want)
				if diff := cmp.Diff(test.err, errorText(err)); diff != "" {
					t.Errorf("error (-want +got):\n%s", diff)
				}
			})
		})
	}
}

func TestErrorsAreInIndexOrderWhicheverEndsFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		failures := []error{errors.New("a"), errors.New("b"), errors.New("c"), errors.New("d")}
		_, err := slowstart.Run(t.Context(), 4, slowstart.Config{Initial: 4}, func(_ context.Context, i int) error {
			time.Sleep(time.Duration(4-i) * time.Second)
			return failures[i]
		})
		if diff := cmp.Diff("a\nb\nc\nd", errorText(err)); diff != "" {
			t.Errorf("error (-want +got):\n%s", diff)
		}
		for _, failure := range failures {
			if !errors.Is(err, failure) {
				t.Errorf("errors.Is does not find %v", failure)
			}
		}
	})
}

func TestContextEnds(t *testing.T) {
	tests := []struct {
		name  string
		n     int
		after time.Duration // when the context ends; a call takes a second
		fail  []int
		want  slowstart.Result
		err   string
	}{
		{"before the start", 10, 0, nil, slowstart.Result{}, "context canceled"},
		{"before the start of nothing", 0, 0, nil, slowstart.Result{}, ""},
		{"within the first batch", 10, 500 * time.Millisecond, nil, slowstart.Result{Succeeded: 3, Attempted: 3},
			"context canceled"},
		{"while the rest of a batch waits", 10, 1500 * time.Millisecond, nil,
			slowstart.Result{Succeeded: 6, Attempted: 6}, "context canceled"},
		{"with the failure of a call", 10, 1500 * time.Millisecond, []int{3, 5},
			slowstart.Result{Succeeded: 4, Attempted: 6}, "call 3\ncall 5\ncontext canceled"},
		{"while the last calls are in flight", 4, 1500 * time.Millisecond, nil,
			slowstart.Result{Succeeded: 4, Attempted: 4}, ""},
		{"while the last calls are in flight and fail", 4, 1500 * time.Millisecond, []int{3},
			slowstart.Result{Succeeded: 3, Attempted: 4}, "call 3"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				if test.after == 0 {
					cancel()
				}
				time.AfterFunc(test.after, cancel)
				r := newRecorder(failAt(test.fail...))
				// Batches of 3 and 6, at most three calls at once.
				got, err := slowstart.Run(ctx, test.n, slowstart.Config{Initial: 3, InFlight: 3}, r.call)
				r.check(t, got, test.want)
				if diff := cmp.Diff(test.err, errorText(err)); diff != "" {
					t.Errorf("error (-want +got):\n%s", diff)
				}
				if test.err != "" && test.want.Attempted < test.n && !errors.Is(err, context.Canceled) {
					t.Error("errors.Is does not find context.Canceled")
				}
			})
		})
	}
}

func TestCallGetsTheContextOfRun(t *testing.T) {
	type key struct{}
	ctx := context.WithValue(t.Context(), key{}, "value")
	_, err := slowstart.Run(ctx, 3, slowstart.Config{}, func(ctx context.Context, i int) error {
		if got := ctx.Value(key{}); got != "value" {
			return fmt.Errorf("call %d: context holds %v", i, got)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

func TestSmallBatchesStartNoIdleGoroutines(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1)) // so that none has ended before it is counted
	before := runtime.NumGoroutine()
	slowstart.Run(t.Context(), 3, slowstart.Config{}, func(_ context.Context, i int) error {
		if more := runtime.NumGoroutine() - before; more > min(i, 1) {
			t.Errorf("call %d: %d goroutines beside the caller's, want at most %d", i, more, min(i, 1))
		}
		return nil
	})
}

// A panic in a goroutine of its own ends the program. In the caller's it can be
// recovered by the caller, and then nothing may still be in flight.
func TestPanicInTheCallersGoroutineWaitsForTheOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		finished := false
		defer func() {
			if got := recover(); got != "boom" {
				t.Errorf("recovered %v, want boom", got)
			}
			if !finished {
				t.Error("the other call is still in flight")
			}
		}()
		slowstart.Run(t.Context(), 2, slowstart.Config{Initial: 2}, func(_ context.Context, i int) error {
			if bytes.Contains(debug.Stack(), []byte("testing.tRunner")) {
				panic("boom")
			}
			time.Sleep(time.Second)
			finished = true
			return nil
		})
	})
}
