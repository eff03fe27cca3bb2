package main

import (
	"bytes"
	"fmt"
	"io"
	"time"
	"unicode/utf8"

	batchv1 "k8s.io/api/batch/v1"
)

// Measures of the picture, in pixels.
const (
	pictureWidth  = 960.0
	margin        = 20.0
	maxEndText    = 30 // characters of how a pod ended, right of its end
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
	suspendedColour = "#fbe9c6"
	pendingColour   = "#9a6700"
	runningColour   = "#4c8fdb"
	succeededColour = "#1a7f37"
	failedColour    = "#c62828"
)

// chart is a picture of a history being drawn.
type chart struct {
	bytes.Buffer
	history *history
	pods    []*podHistory // of the rows, from the top
	length  time.Duration // of the time axis, above 0
	left    float64       // where the time axis begins
	right   float64       // and ends
	top     float64       // where the rows begin
	row     float64       // height of a row
	font    float64       // size in a row
}

// drawSVG draws a run: a row a pod, those of an index together, time from left
// to right, and a line for each condition of the Job.
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
	c.bands()
	c.suspensions(bottom)
	c.axis(bottom)
	for i, p := range c.pods {
		c.pod(p, c.top+c.row*(float64(i)+0.5))
	}
	for _, l := range labels {
		c.conditionLine(l, bottom)
	}
	for _, l := range labels {
		c.conditionLabel(l)
	}
	for i, p := range c.pods {
		c.end(p, c.top+c.row*(float64(i)+0.5))
	}
	c.printf(`</svg>`)
	_, err := c.WriteTo(w)
	return err
}

func newChart(h *history) *chart {
	c := &chart{history: h, pods: h.byIndex(), length: max(h.end.Sub(h.start), time.Millisecond)}
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
		name = max(name, utf8.RuneCountInString(shorten(p.label())))
		end = max(end, utf8.RuneCountInString(c.endText(p)))
	}
	c.left = margin + 10 + textWidth(name, c.font)
	c.right = pictureWidth - margin - 16 - textWidth(end, c.font)
	return c
}

func (c *chart) printf(format string, args ...any) {
	fmt.Fprintf(&c.Buffer, format, args...)
	c.WriteByte('\n')
}

func (c *chart) title() string { return "Job " + c.history.name() }

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
	text := fmt.Sprintf("%s after %v · %d pods: %v", verdict, tickLabel(at.Round(10*time.Millisecond)), len(c.history.pods), n)
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

// axis draws the grid with its times.
func (c *chart) axis(bottom float64) {
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
