package main

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"time"
	"unicode/utf8"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
)

// Measures of the picture, in pixels.
const (
	pictureWidth  = 960.0
	margin        = 20.0
	maxEndText    = 24 // characters of how a pod ended, right of its end
	titleHeight   = 88.0
	labelHeight   = 20.0 // of one level of condition labels
	axisHeight    = 22.0
	maxNameLength = 38 // characters
	tallRows      = 40 // from that many rows on, the axis is at the top as well
)

// Colours, told apart in print and by those who see no red or green by the
// shapes that come with them.
const (
	inkColour       = "#1f2328"
	faintColour     = "#59636e"
	gridColour      = "#d9dee4"
	bandColour      = "#f5f7f9"
	pendingColour   = "#9a6700"
	runningColour   = "#4c8fdb"
	succeededColour = "#1a7f37"
	failedColour    = "#c62828"
)

// chart is a picture of a history being drawn.
type chart struct {
	bytes.Buffer
	history *history
	length  time.Duration // of the time axis, above 0
	left    float64       // where the time axis begins
	right   float64       // and ends
	top     float64       // where the rows begin
	row     float64       // height of a row
	font    float64       // size in a row
}

// drawSVG draws a run: a row a pod, time from left to right, and a line for
// each condition of the Job.
func drawSVG(w io.Writer, h *history) error {
	c := newChart(h)
	labels := c.placeLabels()
	levels := 0
	for _, l := range labels {
		levels = max(levels, l.level+1)
	}
	c.top = titleHeight + float64(levels)*labelHeight
	if len(h.pods) >= tallRows {
		c.top += axisHeight
	}
	bottom := c.top + c.row*float64(len(h.pods))
	height := bottom + axisHeight + margin

	c.printf(`<svg xmlns="http://www.w3.org/2000/svg" width="%.0f" height="%.0f" viewBox="0 0 %[1]g %[2]g" role="img" font-family="system-ui, -apple-system, 'Segoe UI', 'DejaVu Sans', Helvetica, Arial, sans-serif" font-size="12" fill="%s">`,
		pictureWidth, height, inkColour)
	c.printf(`<title>%s</title>`, escape(c.title()))
	c.printf(`<desc>%s</desc>`, escape(c.subtitle()))
	c.printf(`<rect width="100%%" height="100%%" fill="#ffffff"/>`)
	c.printf(`<text x="%g" y="32" font-size="18" font-weight="600">%s</text>`, margin, escape(c.title()))
	c.printf(`<text x="%g" y="52" fill="%s">%s</text>`, margin, faintColour, escape(c.subtitle()))
	c.legend()
	c.axis(bottom)
	for i, p := range h.pods {
		c.pod(p, c.top+c.row*(float64(i)+0.5))
	}
	for _, l := range labels {
		c.conditionLine(l, bottom)
	}
	for _, l := range labels {
		c.conditionLabel(l)
	}
	for i, p := range h.pods {
		c.end(p, c.top+c.row*(float64(i)+0.5))
	}
	c.printf(`</svg>`)
	_, err := c.WriteTo(w)
	return err
}

func newChart(h *history) *chart {
	c := &chart{history: h, length: max(h.end.Sub(h.start), time.Millisecond)}
	switch n := len(h.pods); {
	case n <= 30:
		c.row, c.font = 24, 12
	case n <= 100:
		c.row, c.font = 18, 11
	default:
		c.row, c.font = 14, 10
	}
	name, end := 0, 0
	for _, p := range h.pods {
		name = max(name, utf8.RuneCountInString(shorten(p.name)))
		if p.phase == corev1.PodFailed {
			end = max(end, utf8.RuneCountInString(cut(p.end, maxEndText)))
		}
	}
	c.left = margin + 10 + textWidth(name, c.font)
	c.right = pictureWidth - margin - 16 - textWidth(end, c.font)
	return c
}

func (c *chart) printf(format string, args ...any) {
	fmt.Fprintf(&c.Buffer, format, args...)
	c.WriteByte('\n')
}

func (c *chart) title() string { return "Job " + c.history.job }

func (c *chart) subtitle() string {
	n, verdict, at := c.history.counts(), "Not finished", c.length
	for _, m := range c.history.marks {
		if m.kind == batchv1.JobComplete || m.kind == batchv1.JobFailed {
			verdict, at = string(m.kind), m.at.Sub(c.history.start)
			if m.reason != "" {
				verdict += " (" + m.reason + ")"
			}
		}
	}
	text := fmt.Sprintf("%s after %v · %d pods: %d succeeded, %d failed", verdict,
		tickLabel(at.Round(10*time.Millisecond)), len(c.history.pods), n.succeeded, n.failed)
	if n.active > 0 {
		text += fmt.Sprintf(", %d active", n.active)
	}
	return text
}

// x is where a time is on the axis; the zero time is the end of the run.
func (c *chart) x(t time.Time) float64 {
	if t.IsZero() {
		t = c.history.end
	}
	return c.xAt(t.Sub(c.history.start))
}

func (c *chart) xAt(d time.Duration) float64 {
	return c.left + (c.right-c.left)*float64(d)/float64(c.length)
}

// legend shows each shape beside its word.
func (c *chart) legend() {
	const y, bar = 72.0, 24.0
	x := margin
	entry := func(word string, width float64, draw func()) {
		draw()
		c.printf(`<text x="%.1f" y="%.1f">%s</text>`, x+width+6, y+baseline(12), word)
		x += width + 6 + textWidth(len(word), 12) + 22
	}
	entry("pending", bar, func() { c.pending(x, x+bar, y, 14) })
	entry("running", bar, func() { c.running(x, x+bar, y, 14) })
	for _, p := range c.history.pods {
		if len(p.restarts) > 0 {
			entry("restart", bar, func() { c.running(x, x+bar, y, 14); c.restart(x+bar/2, y, 14) })
			break
		}
	}
	entry("succeeded", 12, func() { c.succeeded(x+6, y, 6) })
	entry("failed", 12, func() { c.failed(x+6, y, 6) })
	entry("Job condition", 8, func() {
		c.printf(`<path d="M%.1f %gv16" stroke="%s" stroke-width="2"/>`, x+4, y-8, inkColour)
	})
}

// axis draws bands behind every second row, and the grid with its times.
func (c *chart) axis(bottom float64) {
	for i := 1; i < len(c.history.pods); i += 2 {
		c.printf(`<rect x="%g" y="%.1f" width="%g" height="%g" fill="%s"/>`,
			margin, c.top+c.row*float64(i), pictureWidth-2*margin, c.row, bandColour)
	}
	c.printf(`<g fill="%s" font-size="11" text-anchor="middle" stroke-width="1">`, faintColour)
	for _, t := range ticks(c.length) {
		x := c.xAt(t)
		c.printf(`<path d="M%.1f %.1fV%.1f" stroke="%s"/><text x="%[1]g" y="%[5]g">%[6]s</text>`,
			x, c.top, bottom+5, gridColour, bottom+18, tickLabel(t))
		if len(c.history.pods) >= tallRows {
			c.printf(`<text x="%.1f" y="%.1f">%s</text>`, x, c.top-6, tickLabel(t))
		}
	}
	c.printf(`</g>`)
}

// bar is the height of what is drawn in a row.
func (c *chart) bar() float64 { return c.row * 0.58 }

// pod draws the row of a pod around y, up to the pod's end.
func (c *chart) pod(p *podHistory, y float64) {
	c.printf(`<g font-size="%g"><title>%s</title>`, c.font, escape(c.describe(p)))
	c.printf(`<text x="%.1f" y="%.1f" text-anchor="end">%s</text>`, c.left-10, y+baseline(c.font), escape(shorten(p.name)))
	began := p.running
	if began.IsZero() {
		began = p.ended // it never ran, or has not yet
	}
	c.pending(c.x(p.created), c.x(began), y, c.bar())
	if !p.running.IsZero() {
		c.running(c.x(p.running), c.x(p.ended), y, c.bar())
	}
	for _, t := range p.restarts {
		c.restart(c.x(t), y, c.bar())
	}
	c.printf(`</g>`)
}

// end draws how a pod ended.
func (c *chart) end(p *podHistory, y float64) {
	x, radius := c.x(p.ended), c.bar()/2
	switch p.phase {
	case corev1.PodSucceeded:
		c.succeeded(x, y, radius)
	case corev1.PodFailed:
		c.failed(x, y, radius)
		c.printf(`<text x="%.1f" y="%.1f" font-size="%g" fill="%s" stroke="#ffffff" stroke-width="3" paint-order="stroke">%s</text>`,
			x+radius+5, y+baseline(c.font), c.font, failedColour, escape(cut(p.end, maxEndText)))
	}
}

// describe is what a viewer shows for a row under the pointer.
func (c *chart) describe(p *podHistory) string {
	at := func(t time.Time) time.Duration { return t.Sub(c.history.start).Round(time.Millisecond) }
	text := fmt.Sprintf("%s: created %v", p.name, at(p.created))
	if !p.running.IsZero() {
		text += fmt.Sprintf(", running %v", at(p.running))
	}
	for _, t := range p.restarts {
		text += fmt.Sprintf(", restart %v", at(t))
	}
	if !p.ended.IsZero() {
		text += fmt.Sprintf(", %s %v: %s", p.phase, at(p.ended), p.end)
	}
	return text
}

// label is the text of a mark: where it begins, and at which level from the top.
type label struct {
	mark
	text  string
	x     float64
	level int
}

func (l label) width() float64 { return textWidth(len(l.text), 12) + 18 }
func (l label) y() float64     { return titleHeight + float64(l.level)*labelHeight }

// placeLabels puts the labels of the conditions above the rows, in as many
// levels as it takes for none to cover another.
func (c *chart) placeLabels() []label {
	var placed []label
	var ends []float64 // of each level
	for _, m := range c.history.marks {
		l := label{mark: m, text: fmt.Sprintf("%s %s", m.kind, tickLabel(m.at.Sub(c.history.start).Round(10*time.Millisecond)))}
		l.x = min(max(c.x(m.at)-l.width()/2, margin), pictureWidth-margin-l.width())
		for l.level < len(ends) && ends[l.level] > l.x {
			l.level++
		}
		if l.level == len(ends) {
			ends = append(ends, 0)
		}
		ends[l.level] = l.x + l.width() + 4
		placed = append(placed, l)
	}
	return placed
}

func (l label) colour() string {
	switch l.kind {
	case batchv1.JobComplete, batchv1.JobSuccessCriteriaMet:
		return succeededColour
	case batchv1.JobFailed, batchv1.JobFailureTarget:
		return failedColour
	}
	return inkColour
}

func (c *chart) conditionLine(l label, bottom float64) {
	c.printf(`<path d="M%.1f %.1fV%.1f" stroke="%s" stroke-width="2"/>`, c.x(l.at), l.y()+labelHeight-4, bottom+5, l.colour())
}

func (c *chart) conditionLabel(l label) {
	const height = labelHeight - 3
	c.printf(`<g><title>%s</title><rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" rx="3" fill="%s"/>`,
		escape(cmp.Or(l.message, string(l.kind))), l.x, l.y()-1, l.width(), height, l.colour())
	c.printf(`<text x="%.1f" y="%.1f" text-anchor="middle" fill="#ffffff" font-weight="600">%s</text></g>`,
		l.x+l.width()/2, l.y()-1+height/2+baseline(12), escape(l.text))
}
