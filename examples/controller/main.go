package main

import (
	"context"
	"errors"
	"flag"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	batchv1 "k8s.io/api/batch/v1"
)

func main() {
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	ctx := untilSignal(signals, os.Exit)
	os.Exit(run(ctx, os.Args[1:], os.Stderr))
}

// Exit statuses.
const (
	exitDrained  = 0
	exitFailed   = 1
	exitUnusable = 2
	exitSignal   = 128 // and the number of the second signal
)

// untilSignal returns a context that ends with the first signal. The second is
// the end of the program: what the kernel does by default would not do, for it
// spares the first process of a container.
func untilSignal(signals <-chan os.Signal, exit func(code int)) context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		<-signals
		cancel()
		number, _ := (<-signals).(syscall.Signal)
		exit(exitSignal + int(number))
	}()
	return ctx
}

// run is the program: it works until ctx ends and returns the exit status.
func run(ctx context.Context, args []string, stderr io.Writer) int {
	o, err := parse(args, stderr)
	if errors.Is(err, flag.ErrHelp) {
		return exitDrained
	}
	if err != nil {
		return exitUnusable // parse has said why
	}
	logger := newLogger(stderr, o)
	if err := serve(ctx, o, logger); err != nil {
		logger.Error(err.Error())
		return exitFailed
	}
	logger.Info("drained")
	return exitDrained
}

// serve connects to the cluster, looks whether it may do what it has to, and
// works until ctx ends.
func serve(ctx context.Context, o options, logger *slog.Logger) error {
	if o.name == batchv1.JobControllerName {
		logger.Warn("-name is that of the cluster's own Job controller, which must not run beside this one", "managedBy", o.name)
	}
	measured := newMetrics()
	measured.install()
	target, err := findCluster(o.kubeconfig, o.context)
	if err != nil {
		return err
	}
	o.election.namespace = firstOf(o.election.namespace, target.namespace)
	p, err := newProgram(target, o, measured, logger)
	if err != nil {
		return err
	}

	stopServing, err := p.listen()
	if err != nil {
		return err
	}
	defer stopServing()
	if err := checkAccess(ctx, p.clients.plain, target, rights(o), logger); err != nil {
		if ctx.Err() != nil {
			return nil // told to stop before it began
		}
		return err
	}
	return p.run(ctx)
}
