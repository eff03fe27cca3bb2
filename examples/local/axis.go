package main

import (
	"strconv"
	"strings"
	"time"
)

// tickSteps are the distances that ticks of a time axis may have.
var tickSteps = [...]time.Duration{
	time.Millisecond, 2 * time.Millisecond, 5 * time.Millisecond,
	10 * time.Millisecond, 20 * time.Millisecond, 50 * time.Millisecond,
	100 * time.Millisecond, 200 * time.Millisecond, 500 * time.Millisecond,
	time.Second, 2 * time.Second, 5 * time.Second, 10 * time.Second, 15 * time.Second, 30 * time.Second,
	time.Minute, 2 * time.Minute, 5 * time.Minute, 10 * time.Minute, 15 * time.Minute, 30 * time.Minute,
	time.Hour, 2 * time.Hour, 6 * time.Hour, 12 * time.Hour, 24 * time.Hour,
}

// maxTicks is how many ticks, not counting the one at 0, are legible.
const maxTicks = 10

// ticks returns the ticks of an axis from 0 to length.
func ticks(length time.Duration) []time.Duration {
	step := tickSteps[0]
	for _, s := range tickSteps {
		step = s
		if length/s <= maxTicks {
			break
		}
	}
	for length/step > maxTicks { // longer than any step foresees
		step *= 2
	}
	var at []time.Duration
	for t := time.Duration(0); t <= length; t += step {
		at = append(at, t)
	}
	return at
}

// tickLabel writes a time in seconds, from a minute on without the units that
// are zero: 0.5s, 1m30s, 2h.
func tickLabel(t time.Duration) string {
	if t < time.Minute {
		return strconv.FormatFloat(float64(t)/float64(time.Second), 'f', -1, 64) + "s"
	}
	label := t.Round(time.Second).String()
	if t%time.Minute == 0 {
		label = strings.TrimSuffix(label, "0s")
	}
	if t%time.Hour == 0 {
		label = strings.TrimSuffix(label, "0m")
	}
	return label
}
