package main

import (
	"slices"

	batchv1 "k8s.io/api/batch/v1"
)

// legend shows each shape beside its word: those that every picture has, and of
// the others those that this one has.
func (c *chart) legend() {
	const y, bar = 72.0, 24.0
	x := margin
	entry := func(word string, width float64, draw func()) {
		draw()
		c.printf(`<text x="%.1f" y="%.1f">%s</text>`, x+width+6, y+baseline(12), word)
		x += width + 6 + textWidth(len(word), 12) + 22
	}
	some := func(is func(*podHistory) bool) bool { return slices.ContainsFunc(c.history.pods, is) }
	entry("pending", bar, func() { c.pending(x, x+bar, y, 14) })
	entry("running", bar, func() { c.running(x, x+bar, y, 14) })
	if some(func(p *podHistory) bool { return len(p.restarts) > 0 }) {
		entry("restart", bar, func() { c.running(x, x+bar, y, 14); c.restart(x+bar/2, y, 14) })
	}
	entry("succeeded", 12, func() { c.succeeded(x+6, y, 6) })
	entry("failed", 12, func() { c.failed(x+6, y, 6) })
	if some(func(p *podHistory) bool { return p.stopped }) {
		entry("stopped", 12, func() { c.stopped(x+6, y, 6) })
	}
	if c.history.marked(batchv1.JobSuspended) {
		entry("suspended", bar, func() { c.suspension(x, x+bar, y-9, 18) })
	}
	entry("Job condition", 8, func() {
		c.printf(`<path d="M%.1f %gv16" stroke="%s" stroke-width="2"/>`, x+4, y-8, inkColour)
	})
}
