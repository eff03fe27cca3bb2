package main

import (
	"bytes"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Elsewhere these are lost sight of: only the process group is known there.
func TestProcessLeavesNoSessionBehind(t *testing.T) {
	adoptOrphans()
	t.Run("in a session of its own", func(t *testing.T) {
		leavesNothingBehind(t, `setsid sh -c 'echo held; exec sleep 1000' > "$F" & `)
	})
	t.Run("daemon", func(t *testing.T) {
		leavesNothingBehind(t, `(setsid sh -c '(sleep 1000 & echo held; exec sleep 1001)' > "$F" &); `)
	})
}

// A process that has left both its group and its environment may keep the
// output open; the end of the container is seen nevertheless.
func TestProcessEndsThoughItsOutputIsHeldOpen(t *testing.T) {
	fifo, reader := pipeHeldBy(t)
	if err := syscall.Mkfifo(fifo+".go", 0o600); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	p, err := newTestMachine(t, &out).start(scripted(
		`env -i PATH="$PATH" F="$F" setsid sh -c 'echo $$ > "$F"; exec env -i sleep 1000' & read go < "$F.go"; echo done`, "F="+fifo))
	if err != nil {
		t.Fatal(err)
	}
	line, err := reader.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	escaped, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Kill(escaped, syscall.SIGKILL)
	if err := os.WriteFile(fifo+".go", []byte("go\n"), 0); err != nil {
		t.Fatal(err)
	}
	if end := p.Wait(); end.code != 0 {
		t.Errorf("exit code %d", end.code)
	}
	if diff := cmp.Diff("[pod] done\n", out.String()); diff != "" {
		t.Errorf("output (-want +got):\n%s", diff)
	}
	if err := syscall.Kill(escaped, 0); err != nil {
		t.Errorf("the process that was to hold the output open did not: %v", err)
	}
}
