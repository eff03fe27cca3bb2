package main

import (
	"bufio"
	"bytes"
	"io"
	"os"
	"strings"
	"syscall"
	"testing"
)

// live is a run under way.
type live struct {
	t       *testing.T
	signals chan os.Signal
	stderr  *bufio.Reader
	done    chan result // stderr is not in it
}

func startRun(t *testing.T, manifest string, args ...string) *live {
	t.Helper()
	r, w := io.Pipe()
	l := &live{t: t, signals: make(chan os.Signal, 2), stderr: bufio.NewReader(r), done: make(chan result, 1)}
	go func() {
		var stdout bytes.Buffer
		code := run(append(args, "-"), shell{signals: l.signals}, stdio{strings.NewReader(manifest), &stdout, w})
		w.Close()
		l.done <- result{code: code, stdout: stdout.String()}
	}()
	return l
}

// until reads standard error up to a line that contains the text.
func (l *live) until(text string) {
	l.t.Helper()
	for {
		line, err := l.stderr.ReadString('\n')
		if err != nil {
			l.t.Fatalf("no %q on standard error: %v", text, err)
		}
		if strings.Contains(line, text) {
			return
		}
	}
}

// end reads the rest of standard error and returns how the run ended.
func (l *live) end() result {
	l.t.Helper()
	stderr, err := io.ReadAll(l.stderr)
	if err != nil {
		l.t.Fatal(err)
	}
	r := <-l.done
	r.stderr = string(stderr)
	return r
}

// holding is a manifest of two pods that start a grandchild which holds the
// FIFO open, and then run the script.
func holding(fifo, script string) string {
	return strings.NewReplacer("spec:\n  template", "spec:\n  parallelism: 2\n  completions: 2\n  template",
		`["true"]`, `[sh, -c, "(sh -c 'exec sleep 1000' > `+fifo+` &); echo held > `+fifo+`; `+script+`"]`,
		"Never", "Never\n      terminationGracePeriodSeconds: 1000").Replace(minimal)
}

func TestInterrupt(t *testing.T) {
	const stubborn = "trap '' TERM; echo ready; while :; do sleep 0.02; done"
	for name, tt := range map[string]struct {
		script string
		act    func(*live)
		want   string // on standard error after the last act
	}{
		"stops the pods": {"echo ready; sleep 1000", func(l *live) {
			l.signals <- syscall.SIGINT
		}, "exit code 143 (signal 15)"},
		"lets them end in their own way": {"trap 'exit 9' TERM; echo ready; while :; do sleep 0.02; done", func(l *live) {
			l.signals <- syscall.SIGTERM
		}, "exit code 9"},
		"the second kills": {stubborn, func(l *live) {
			l.signals <- syscall.SIGINT
			l.until("interrupted: ")
			l.signals <- syscall.SIGINT
		}, "exit code 137 (signal 9)"},
	} {
		t.Run(name, func(t *testing.T) {
			fifo, held := pipeHeldBy(t)
			l := startRun(t, holding(fifo, tt.script))
			for range 2 {
				l.until("] ready")
			}
			tt.act(l)
			r := l.end()
			if r.code != 130 {
				t.Errorf("exit status %d, want 130", r.code)
			}
			if got := summary(r.job(t)); got != "active 0, succeeded 0, failed 0" {
				t.Errorf("final Job: %s", got)
			}
			if n := strings.Count(r.stderr, tt.want); n != 2 {
				t.Errorf("%d pods told to have ended with %q, want 2:\n%s", n, tt.want, r.stderr)
			}
			if said, err := io.ReadAll(held); string(said) != "held\nheld\n" {
				t.Errorf("read %q, %v: a grandchild is left", said, err)
			}
		})
	}
}

func TestSuspendedManifest(t *testing.T) {
	manifest, err := os.ReadFile("testdata/suspended.yaml")
	if err != nil {
		t.Fatal(err)
	}
	l := startRun(t, string(manifest))
	l.until("suspended: ")
	l.signals <- syscall.SIGCONT
	r := l.end()
	if got := summary(r.job(t)); r.code != 0 || got !=
		"active 0, succeeded 2, failed 0, SuccessCriteriaMet CompletionsReached, Complete CompletionsReached" {
		t.Errorf("exit status %d, %s", r.code, got)
	}
	if n := strings.Count(r.stderr, "at work"); n != 2 {
		t.Errorf("%d pods at work after the resumption, want 2:\n%s", n, r.stderr)
	}
}

// Once the end of the Job is known it stands; an interrupt takes what is left
// of the grace of its pods. Tracked knows it before it is written.
func TestInterruptAfterTheEnd(t *testing.T) {
	for accounting, tt := range map[string]struct{ known, want string }{
		"tracked": {"job default/job FailureTarget", "active 0, succeeded 0, failed 2, FailureTarget DeadlineExceeded, Failed DeadlineExceeded"},
		"recount": {"job default/job Failed", "active 0, succeeded 0, failed 2, Failed DeadlineExceeded"},
	} {
		t.Run(accounting, func(t *testing.T) {
			fifo, held := pipeHeldBy(t)
			manifest := strings.Replace(holding(fifo, "trap '' TERM; while :; do sleep 0.02; done"),
				"spec:\n", "spec:\n  activeDeadlineSeconds: 2\n", 1) // at least one: start times have whole seconds
			l := startRun(t, manifest, "-accounting", accounting)
			l.until(tt.known)
			l.signals <- syscall.SIGINT
			r := l.end()
			if got := summary(r.job(t)); r.code != 1 || got != tt.want {
				t.Errorf("exit status %d, %s, want 1, %s", r.code, got, tt.want)
			}
			if said, err := io.ReadAll(held); err != nil {
				t.Errorf("read %q, %v: a grandchild is left", said, err)
			}
		})
	}
}
