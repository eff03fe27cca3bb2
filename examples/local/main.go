package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	batchv1 "k8s.io/api/batch/v1"

	"github.com/jobwright/jobwright/jobcontrol"
)

func main() {
	sh := catchSignals()
	// Standard output or error that is closed must not end the program before
	// its pods; the write then fails, as any other may.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	adoptOrphans()
	code := run(os.Args[1:], sh, stdio{os.Stdin, os.Stdout, os.Stderr})
	killDescendants()
	os.Exit(code)
}

// Exit statuses.
const (
	exitComplete    = 0
	exitFailed      = 1 // also: the result could not be written
	exitUnusable    = 2
	exitInterrupted = 130
)

type stdio struct {
	in       io.Reader
	out, err io.Writer
}

// run is the program, steered by a shell.
func run(args []string, sh shell, std stdio) int {
	o, err := parse(args, std.err)
	if errors.Is(err, flag.ErrHelp) {
		return exitComplete
	}
	if err != nil {
		return exitUnusable // parse has said why
	}
	r, err := prepareRun(o, std)
	if err != nil {
		fmt.Fprintln(std.err, "local:", err)
		return exitUnusable
	}
	defer r.cleanUp()
	job, interrupted, err := r.runJob(sh)
	if err == nil {
		err = r.writeResults(job, std.out)
	}
	switch {
	case err != nil:
		fmt.Fprintln(std.err, "local:", err)
		return exitFailed
	case interrupted:
		return exitInterrupted
	case jobcontrol.HasCondition(&job.Status, batchv1.JobComplete):
		return exitComplete
	}
	return exitFailed
}
