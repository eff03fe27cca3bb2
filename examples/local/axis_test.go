package main

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestTicks(t *testing.T) {
	for _, tt := range []struct {
		length time.Duration
		want   []string
	}{
		{time.Millisecond, []string{"0s", "0.001s"}},
		{730 * time.Millisecond, []string{"0s", "0.1s", "0.2s", "0.3s", "0.4s", "0.5s", "0.6s", "0.7s"}},
		{4 * time.Second, []string{"0s", "0.5s", "1s", "1.5s", "2s", "2.5s", "3s", "3.5s", "4s"}},
		{1360 * time.Millisecond, []string{"0s", "0.2s", "0.4s", "0.6s", "0.8s", "1s", "1.2s"}},
		{100 * time.Second, []string{"0s", "10s", "20s", "30s", "40s", "50s", "1m", "1m10s", "1m20s", "1m30s", "1m40s"}},
		{3 * time.Hour, []string{"0s", "30m", "1h", "1h30m", "2h", "2h30m", "3h"}},
	} {
		t.Run(tt.length.String(), func(t *testing.T) {
			var got []string
			for _, at := range ticks(tt.length) {
				got = append(got, tickLabel(at))
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("ticks (-want +got):\n%s", diff)
			}
		})
	}
}

func TestTicksAreFew(t *testing.T) {
	for length := time.Millisecond; length < 10000*time.Hour; length += length/3 + 1 {
		if n := len(ticks(length)); n < 2 || n > maxTicks+1 {
			t.Errorf("%d ticks for %v", n, length)
		}
	}
}

func TestTickLabel(t *testing.T) {
	for want, at := range map[string]time.Duration{
		"1.36s": 1360 * time.Millisecond, // in binary a little less
		"0.07s": 70 * time.Millisecond,
		"1m1s":  61 * time.Second,
		"2h":    2 * time.Hour,
	} {
		if got := tickLabel(at); got != want {
			t.Errorf("tickLabel(%v) = %s, want %s", at, got, want)
		}
	}
}
