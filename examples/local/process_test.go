package main

import (
	"bufio"
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// scripted is a container that runs a script, with what it finds in its
// environment besides PATH.
func scripted(script string, env ...string) command {
	return command{
		pod: "pod", container: "main", prefix: "[pod] ",
		argv: []string{"sh", "-c", script},
		env:  append([]string{"PATH=" + os.Getenv("PATH")}, env...),
	}
}

func newTestMachine(t *testing.T, w io.Writer) *machine {
	t.Helper()
	return &machine{screen: newScreen(w), marker: t.TempDir()}
}

func TestProcessEnds(t *testing.T) {
	for name, tt := range map[string]struct {
		script string
		want   exit
	}{
		"well":                  {"exit 0", exit{}},
		"with a code":           {"exit 7", exit{code: 7}},
		"by a signal":           {"kill -9 $$", exit{code: 137, signal: 9}},
		"of its shell's making": {"sh -c 'kill -15 $$'; exit $?", exit{code: 143}},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := newTestMachine(t, io.Discard).start(scripted(tt.script))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, p.Wait(), cmp.AllowUnexported(exit{})); diff != "" {
				t.Errorf("exit (-want +got):\n%s", diff)
			}
			p.Terminate() // after the end: nothing
			p.Kill()
		})
	}
}

func TestProcessDoesNotStart(t *testing.T) {
	dir := t.TempDir()
	for name, tt := range map[string]struct {
		change func(*command)
		want   string
	}{
		"no such program":    {func(c *command) { c.argv = []string{"no-such-program"} }, "no-such-program: not found in the PATH of the container"},
		"no PATH":            {func(c *command) { c.env = nil }, "sh: not found in the PATH of the container"},
		"no such file":       {func(c *command) { c.argv = []string{dir + "/none"} }, dir + "/none: no such file or directory"},
		"no such workingDir": {func(c *command) { c.dir = dir + "/none" }, "workingDir: stat " + dir + "/none"},
	} {
		t.Run(name, func(t *testing.T) {
			c := scripted("true")
			tt.change(&c)
			if _, err := newTestMachine(t, io.Discard).start(c); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want %q", err, tt.want)
			}
		})
	}
}

func TestProcessFindsWhatItWasGiven(t *testing.T) {
	dir, first := t.TempDir(), t.TempDir()
	for file, mode := range map[string]os.FileMode{dir + "/tool": 0o700, first + "/tool": 0o600} { // the first is no program
		if err := os.WriteFile(file, []byte("#!/bin/sh\necho tool in $(pwd -P), marked ${JOBWRIGHT_CONTAINER#$MARK}\n"), mode); err != nil {
			t.Fatal(err)
		}
	}
	var out bytes.Buffer
	m := newTestMachine(t, &out)
	c := scripted("", "A=b", "MARK="+m.marker)
	c.dir = dir
	c.env[0] = "PATH=/nowhere:" + first + ":" + dir + ":" + os.Getenv("PATH")
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		t.Fatal(err)
	}
	for script, want := range map[string]string{
		"": "[pod] tool in " + real + ", marked /pod/main\n",
		"read line || echo no input; echo $A; printf end": "[pod] no input\n[pod] b\n[pod] end\n",
	} {
		out.Reset()
		c.argv = []string{"tool"}
		if script != "" {
			c.argv = []string{"sh", "-c", script}
		}
		p, err := m.start(c)
		if err != nil {
			t.Fatal(err)
		}
		p.Wait()
		if diff := cmp.Diff(want, out.String()); diff != "" {
			t.Errorf("output (-want +got):\n%s", diff)
		}
	}
}

func TestProcessWritesToItsLog(t *testing.T) {
	var out bytes.Buffer
	m := newTestMachine(t, &out)
	m.logs = t.TempDir()
	for range 2 { // the second as after a restart
		p, err := m.start(scripted("echo out; echo err >&2"))
		if err != nil {
			t.Fatal(err)
		}
		p.Wait()
	}
	got, err := os.ReadFile(filepath.Join(m.logs, "pod", "main.log"))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff("out\nerr\nout\nerr\n", string(got)); diff != "" {
		t.Errorf("log (-want +got):\n%s", diff)
	}
	if out.Len() > 0 {
		t.Errorf("on the screen as well: %s", out.String())
	}
}

// pipeHeldBy returns a FIFO for a script to write to and what reads it: its end
// comes when no process has it open any more.
func pipeHeldBy(t *testing.T) (path string, reader *bufio.Reader) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "fifo")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	// Opened for both, so that the open does not wait for a writer; ours is
	// closed once there is one.
	both, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	r, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close(); both.Close() })
	if err := r.SetReadDeadline(time.Now().Add(30 * time.Second)); err != nil { // so that a process left behind is a failure
		t.Fatal(err)
	}
	return path, bufio.NewReader(&firstThenOnly{r: r, both: both})
}

// firstThenOnly closes its own writing end after the first read.
type firstThenOnly struct {
	r, both *os.File
}

func (f *firstThenOnly) Read(p []byte) (int, error) {
	n, err := f.r.Read(p)
	f.both.Close()
	return n, err
}

// leavesNothingBehind says that no process is left of a container, in whatever
// way it ends. Its script starts one that holds the FIFO $F open, and says so
// there.
func leavesNothingBehind(t *testing.T, script string) {
	t.Helper()
	for how, end := range map[string]func(process){
		"when it ends by itself":  func(process) {},
		"when it is asked to end": process.Terminate,
		"when it is killed":       process.Kill,
	} {
		t.Run(how, func(t *testing.T) {
			fifo, reader := pipeHeldBy(t)
			script := script + "read go < " + fifo + ".go"
			if err := syscall.Mkfifo(fifo+".go", 0o600); err != nil {
				t.Fatal(err)
			}
			p, err := newTestMachine(t, io.Discard).start(scripted(script, "F="+fifo))
			if err != nil {
				t.Fatal(err)
			}
			if line, err := reader.ReadString('\n'); line != "held\n" {
				t.Fatalf("read %q, %v", line, err)
			}
			if how == "when it ends by itself" {
				if err := os.WriteFile(fifo+".go", []byte("go\n"), 0); err != nil {
					t.Fatal(err)
				}
			}
			end(p)
			p.Wait()
			if rest, err := io.ReadAll(reader); err != nil || len(rest) > 0 {
				t.Errorf("read %q, %v", rest, err)
			}
		})
	}
}

func TestProcessLeavesNothingBehind(t *testing.T) {
	t.Run("child", func(t *testing.T) {
		leavesNothingBehind(t, `(echo held; exec sleep 1000) > "$F" & `)
	})
	t.Run("grandchild", func(t *testing.T) {
		leavesNothingBehind(t, `sh -c '(echo held; exec sleep 1000) > "$F" &' & wait; `)
	})
}
