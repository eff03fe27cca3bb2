package slowstart_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/jobwright/jobwright/slowstart"
)

// runNaively makes the calls one by one.
func runNaively(n, initial, largest int, fail func(i int) error) (slowstart.Result, string) {
	var result slowstart.Result
	var errs []string
	for size := initial; result.Attempted < n && len(errs) == 0; size *= 2 {
		if largest > 0 && size > largest {
			size = largest
		}
		for k := 0; k < size && result.Attempted < n; k++ {
			if err := fail(result.Attempted); err != nil {
				errs = append(errs, err.Error())
			} else {
				result.Succeeded++
			}
			result.Attempted++
		}
	}
	return result, strings.Join(errs, "\n")
}

func FuzzRun(f *testing.F) {
	f.Add(uint8(7), uint8(0), uint8(0), uint8(0), uint8(2))
	f.Add(uint8(100), uint8(4), uint8(9), uint8(3), uint8(60))
	f.Add(uint8(100), uint8(0), uint8(0), uint8(1), uint8(200))
	f.Add(uint8(255), uint8(255), uint8(1), uint8(255), uint8(254))
	f.Add(uint8(0), uint8(1), uint8(1), uint8(1), uint8(0))
	f.Fuzz(func(t *testing.T, n, initial, largest, inFlight, from uint8) {
		fail := func(i int) error { // every third call from a certain one on
			if i >= int(from) && i%3 == 0 {
				return fmt.Errorf("call %d", i)
			}
			return nil
		}
		cfg := slowstart.Config{Initial: int(initial), Largest: int(largest), InFlight: int(inFlight)}
		want, wantErr := runNaively(int(n), max(1, cfg.Initial), cfg.Largest, fail)
		got, err := slowstart.Run(t.Context(), int(n), cfg, func(_ context.Context, i int) error { return fail(i) })
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("result (-naive +got):\n%s", diff)
		}
		if diff := cmp.Diff(wantErr, errorText(err)); diff != "" {
			t.Errorf("error (-naive +got):\n%s", diff)
		}
	})
}
