package main

import (
	"bytes"
	"encoding/xml"
)

// pending is a hollow, dashed, flat bar. One too short to show its dashes is
// left out.
func (c *chart) pending(from, to, y, height float64) {
	if to-from < 2 {
		return
	}
	height /= 2
	c.printf(`<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" fill="#ffffff" stroke="%s" stroke-dasharray="3 2"/>`,
		from, y-height/2, to-from, height, pendingColour)
}

// running is a full bar.
func (c *chart) running(from, to, y, height float64) {
	c.printf(`<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" rx="2" fill="%s"/>`,
		from, y-height/2, max(to-from, 1), height, runningColour)
}

// restart is a notch in a bar.
func (c *chart) restart(x, y, height float64) {
	c.printf(`<path d="M%.1f %.1fv%.1f" stroke="#ffffff" stroke-width="3"/>`, x, y-height/2, height)
}

// succeeded is a disc with a tick.
func (c *chart) succeeded(x, y, r float64) {
	c.printf(`<circle cx="%.1f" cy="%.1f" r="%.1f" fill="%s" stroke="#ffffff"/>`+
		`<path d="M%.1f %.1fl%.1f %.1fl%.1f %.1f" fill="none" stroke="#ffffff" stroke-width="%.1f"/>`,
		x, y, r, succeededColour, x-0.45*r, y, 0.35*r, 0.4*r, 0.6*r, -0.75*r, 0.28*r)
}

// failed is a diamond with a cross.
func (c *chart) failed(x, y, r float64) {
	d := 1.3 * r
	c.printf(`<path d="M%.1f %.1fl%.1f %.1fl%.1f %.1fl%.1f %.1fz" fill="%s" stroke="#ffffff"/>`+
		`<path d="M%.1f %.1fl%.1f %.1fm0 %.1fl%.1f %.1f" stroke="#ffffff" stroke-width="%.1f"/>`,
		x, y-d, d, d, -d, d, -d, -d, failedColour,
		x-0.35*r, y-0.35*r, 0.7*r, 0.7*r, -0.7*r, -0.7*r, 0.7*r, 0.28*r)
}

// stopped is a square with a bar.
func (c *chart) stopped(x, y, r float64) {
	c.printf(`<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" rx="2" fill="%s" stroke="#ffffff"/>`+
		`<path d="M%.1f %.1fh%.1f" stroke="#ffffff" stroke-width="%.1f"/>`,
		x-r, y-r, 2*r, 2*r, faintColour, x-0.5*r, y, r, 0.28*r)
}

// suspension is a shade behind the rows.
func (c *chart) suspension(from, to, top, height float64) {
	c.printf(`<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" fill="%s"/>`, from, top, max(to-from, 1), height, suspendedColour)
}

// textWidth estimates the width of a text of n characters: the fonts differ
// from machine to machine.
func textWidth(n int, size float64) float64 { return float64(n) * size * 0.6 }

// baseline is how far the baseline of a text is below its middle.
func baseline(size float64) float64 { return size * 0.35 }

// shorten takes out the middle of a name that is too long: pods of a Job differ
// at the end.
func shorten(name string) string {
	runes := []rune(name)
	if len(runes) <= maxNameLength {
		return name
	}
	const tail = 14
	return string(runes[:maxNameLength-tail-1]) + "…" + string(runes[len(runes)-tail:])
}

// cut cuts a text off after n characters.
func cut(s string, n int) string {
	if runes := []rune(s); len(runes) > n {
		return string(runes[:n-1]) + "…"
	}
	return s
}

func escape(s string) string {
	var b bytes.Buffer
	xml.EscapeText(&b, []byte(s)) // a bytes.Buffer takes everything
	return b.String()
}
