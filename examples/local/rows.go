package main

import (
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
)

// bar is the height of what is drawn in a row.
func (c *chart) bar() float64 { return c.row * 0.58 }

// bands draws a band behind every second row; the rows of an index, which
// belong together, have the same.
func (c *chart) bands() {
	band := false
	for i, p := range c.pods {
		if i > 0 && (p.attempt == 0 || p.index != c.pods[i-1].index) {
			band = !band
		}
		if band {
			c.printf(`<rect x="%g" y="%.1f" width="%g" height="%g" fill="%s"/>`,
				margin, c.top+c.row*float64(i), pictureWidth-2*margin, c.row, bandColour)
		}
	}
}

// suspensions shades the times in which the Job was suspended.
func (c *chart) suspensions(bottom float64) {
	for i, m := range c.history.marks {
		if m.kind != batchv1.JobSuspended {
			continue
		}
		until := c.history.end
		for _, next := range c.history.marks[i:] {
			if next.kind == resumed {
				until = next.at
				break
			}
		}
		c.suspension(c.x(m.at), c.x(until), c.top, bottom-c.top)
	}
}

// pod draws the row of a pod around y, up to the pod's end.
func (c *chart) pod(p *podHistory, y float64) {
	c.printf(`<g font-size="%g"><title>%s</title>`, c.font, escape(c.describe(p)))
	c.printf(`<text x="%.1f" y="%.1f" text-anchor="end">%s</text>`, c.left-10, y+baseline(c.font), escape(shorten(p.label())))
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
	colour := failedColour
	switch {
	case p.stopped:
		colour = faintColour
		c.stopped(x, y, radius)
	case p.phase == corev1.PodSucceeded:
		c.succeeded(x, y, radius)
	case p.phase == corev1.PodFailed:
		c.failed(x, y, radius)
	}
	if text := c.endText(p); text != "" {
		c.printf(`<text x="%.1f" y="%.1f" font-size="%g" fill="%s" stroke="#ffffff" stroke-width="3" paint-order="stroke">%s</text>`,
			x+radius+5, y+baseline(c.font), c.font, colour, escape(text))
	}
}

// endText is what stands behind the end of a pod: why it failed.
func (c *chart) endText(p *podHistory) string {
	switch {
	case p.stopped:
		return "stopped"
	case p.phase == corev1.PodFailed:
		return cut(c.history.outcome(p), maxEndText)
	}
	return ""
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
		text += fmt.Sprintf(", %s %v: %s", p.verb(), at(p.ended), c.history.outcome(p))
	}
	return text
}
