package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"sync"
)

// clearLine moves a terminal's cursor to the first column and empties the line.
const clearLine = "\r\x1b[K"

// screen is standard error: lines that stay and one line of progress below
// them. On a terminal the progress is rewritten in place; elsewhere each
// progress is one more line. Safe for concurrent use.
type screen struct {
	terminal bool

	mu       sync.Mutex
	w        io.Writer // guarded by mu, as is all below
	progress string
}

func newScreen(w io.Writer) *screen {
	return &screen{w: w, terminal: isTerminal(w)}
}

func isTerminal(w io.Writer) bool {
	file, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := file.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// printf prints a line that stays. Standard error that is closed is no reason
// to stop the Job, so that nothing here reports a failure to write.
func (s *screen) printf(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.line(fmt.Appendf(nil, format, args...))
}

// line prints one line without its newline. The caller holds mu.
func (s *screen) line(line []byte) {
	var b bytes.Buffer
	if s.terminal && s.progress != "" {
		b.WriteString(clearLine)
	}
	b.Write(line)
	b.WriteByte('\n')
	if s.terminal {
		b.WriteString(s.progress)
	}
	s.w.Write(b.Bytes())
}

// setProgress shows the line of progress. It must fit a line of a terminal: one
// that wraps cannot be rewritten.
func (s *screen) setProgress(line string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case line == s.progress:
	case s.terminal:
		io.WriteString(s.w, clearLine+line)
	default:
		io.WriteString(s.w, line+"\n")
	}
	s.progress = line
}

// endProgress leaves the last progress where it is, as a line that stays.
func (s *screen) endProgress() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.terminal && s.progress != "" {
		io.WriteString(s.w, "\n")
	}
	s.progress = ""
}

// maxLine is how much of a line that does not end is kept waiting for its end.
const maxLine = 64 << 10

// lineWriter passes what it is given to a screen line by line, each behind a
// prefix, so that the output of several containers does not mix within a line.
type lineWriter struct {
	screen *screen
	prefix string
	rest   []byte // the start of a line whose end has not come
}

func (w *lineWriter) Write(p []byte) (int, error) {
	w.rest = append(w.rest, p...)
	for {
		line, rest, found := bytes.Cut(w.rest, []byte("\n"))
		if !found && len(line) < maxLine {
			return len(p), nil
		}
		w.print(line)
		w.rest = rest
	}
}

// Close prints a last line that was not ended.
func (w *lineWriter) Close() error {
	if len(w.rest) > 0 {
		w.print(w.rest)
	}
	w.rest = nil
	return nil
}

func (w *lineWriter) print(line []byte) {
	w.screen.printf("%s%s", w.prefix, line)
}
