package slowstart_test

import (
	"runtime"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/jobwright/jobwright/slowstart"
)

// Each call wanted ends in exactly one of succeeded, failed and skipped.
func TestB7_SkippedAreThoseNeverAttempted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const wanted = 7
		r := newRecorder(failAt(1, 2))
		got, err := slowstart.Run(t.Context(), wanted, slowstart.Config{}, r.call)
		r.check(t, got, slowstart.Result{Succeeded: 1, Attempted: 3})
		if err == nil {
			t.Error("Run: no error, want those of two calls")
		}
		if skipped := wanted - got.Attempted; skipped != 4 {
			t.Errorf("%d skipped, want 4", skipped)
		}
	})
}

func TestB29_FailedCallsDoNotCountAsSucceeded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRecorder(failAt(0, 1, 2, 3))
		got, _ := slowstart.Run(t.Context(), 4, slowstart.Config{Initial: 4}, r.call)
		r.check(t, got, slowstart.Result{Succeeded: 0, Attempted: 4})
	})
}

func TestB92_CallsInFlightAndGoroutinesAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n, inFlight = 3000, 32
		r := newRecorder(nil)
		before, most := runtime.NumGoroutine(), 0
		r.fail = func(int) error {
			most = max(most, runtime.NumGoroutine())
			return nil
		}
		got, err := slowstart.Run(t.Context(), n, slowstart.Config{InFlight: inFlight}, r.call)
		if err != nil {
			t.Errorf("Run: %v", err)
		}
		r.check(t, got, slowstart.Result{Succeeded: n, Attempted: n})
		if r.peak != inFlight {
			t.Errorf("%d calls at once, want %d", r.peak, inFlight)
		}
		if most > before+inFlight {
			t.Errorf("%d goroutines, want at most %d more than the %d before", most, inFlight, before)
		}
	})
}

func TestB97_LargestLimitsWhatOneBatchCanDo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRecorder(failAt(9))
		got, _ := slowstart.Run(t.Context(), 84000, slowstart.Config{Largest: 4}, r.call)
		r.check(t, got, slowstart.Result{Succeeded: 10, Attempted: 11})
		if diff := cmp.Diff([]int{1, 2, 4, 4}, r.starts); diff != "" {
			t.Errorf("calls started by second (-want +got):\n%s", diff)
		}
	})
}
