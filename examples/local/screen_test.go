package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestScreen(t *testing.T) {
	play := func(s *screen) {
		s.printf("before")
		s.setProgress("1 active")
		s.setProgress("1 active")
		s.printf("pod %s", "a")
		s.setProgress("2 active")
		s.endProgress()
		s.printf("after")
	}
	for name, tt := range map[string]struct {
		terminal bool
		want     string
	}{
		"terminal: progress is rewritten in place, below the lines that stay": {true,
			"before\n" + clearLine + "1 active" + clearLine + "pod a\n1 active" + clearLine + "2 active\nafter\n"},
		"file: each new progress is a line": {false,
			"before\n1 active\npod a\n2 active\nafter\n"},
	} {
		t.Run(name, func(t *testing.T) {
			var b bytes.Buffer
			play(&screen{w: &b, terminal: tt.terminal})
			if diff := cmp.Diff(tt.want, strings.ReplaceAll(b.String(), clearLine+clearLine, clearLine)); diff != "" {
				t.Errorf("written (-want +got):\n%s", diff)
			}
		})
	}
}

func TestIsTerminal(t *testing.T) {
	if isTerminal(&bytes.Buffer{}) {
		t.Error("a buffer is a terminal")
	}
}

func TestLineWriter(t *testing.T) {
	var b bytes.Buffer
	w := &lineWriter{screen: newScreen(&b), prefix: "[p] "}
	for _, part := range []string{"one\ntw", "o", "\n\nthree", strings.Repeat("x", maxLine), "end"} {
		if n, err := w.Write([]byte(part)); n != len(part) || err != nil {
			t.Errorf("Write: %d, %v", n, err)
		}
	}
	w.Close()
	w.Close()
	want := "[p] one\n[p] two\n[p] \n[p] three" + strings.Repeat("x", maxLine) + "\n[p] end\n"
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Errorf("written (-want +got):\n%s", diff)
	}
}
