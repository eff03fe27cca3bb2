package main

import (
	"cmp"
	"time"

	batchv1 "k8s.io/api/batch/v1"
)

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
	told := ""
	for _, m := range c.history.marks {
		l := label{mark: m, text: string(m.kind)}
		if why := m.reason; why != "" && why != told && m.kind != batchv1.JobSuspended && m.kind != resumed {
			l.text += ": " + why // once: the terminal condition has that of the one before
			told = why
		}
		l.text += " " + tickLabel(m.at.Sub(c.history.start).Round(10*time.Millisecond))
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
