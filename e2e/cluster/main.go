// Command cluster runs a Kubernetes control plane on loopback: etcd,
// kube-apiserver and kube-controller-manager, built from the modules that
// go.mod names. There is no scheduler, no kubelet and no network: pods stay
// Pending until somebody says what became of them.
//
//	go run ./cluster
//
// prints the path of a kubeconfig once the API server is ready. Its data is in
// a temporary folder, which goes when the program is told to stop.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"go.etcd.io/etcd/server/v3/etcdmain"
	"k8s.io/component-base/cli"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllermanager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
)

// The controllers of kube-controller-manager that Jobs meet: those about the
// objects around them, and those about Jobs themselves.
const (
	aroundJobs = "garbage-collector-controller,namespace-controller,resourcequota-controller," +
		"serviceaccount-controller,pod-garbage-collector-controller,clusterrole-aggregation-controller"
	ofJobs = "job-controller,ttl-after-finished-controller"
)

// components are the programs that this one is made of: it starts itself anew
// as each of them.
var components = map[string]func(args []string){
	"etcd":                    etcdmain.Main,
	"kube-apiserver":          command(apiserver.NewAPIServerCommand),
	"kube-controller-manager": command(controllermanager.NewControllerManagerCommand),
}

func command(of func() *cobra.Command) func(args []string) {
	return func(args []string) {
		c := of()
		c.SetArgs(args[1:])
		os.Exit(cli.Run(c))
	}
}

func main() {
	if len(os.Args) > 1 {
		if component := components[os.Args[1]]; component != nil {
			go exitAtEOF()
			component(os.Args[1:])
			return
		}
	}
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "cluster:", err)
		os.Exit(1)
	}
}

func run() error {
	flags := flag.NewFlagSet("cluster", flag.ExitOnError) // the default set has the flags of all that is linked in
	withParent := flags.Bool("stdin", false, "stop when standard input ends, as it does with the program that holds it")
	jobs := flags.String("job-controllers", ofJobs, "the `controllers` of Jobs that run in kube-controller-manager, besides others; \"\": none")
	_ = flags.Parse(os.Args[1:]) // it exits
	if flags.NArg() > 0 {
		return fmt.Errorf("there are flags only, not %q", flags.Arg(0))
	}

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if *withParent {
		go func() {
			awaitEOF()
			stop()
		}()
	}

	dir, err := os.MkdirTemp("", "jobwright-cluster-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	c := &cluster{dir: dir}
	err = c.start(ctx, strings.TrimSuffix(aroundJobs+","+*jobs, ","))
	if err == nil {
		fmt.Println(c.kubeconfig())
		err = c.wait(ctx)
	}
	c.stop()
	if errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// exitAtEOF ends a component with the program that started it, whatever that
// one died of.
func exitAtEOF() {
	awaitEOF()
	os.Exit(0)
}

func awaitEOF() { _, _ = io.Copy(io.Discard, os.Stdin) }
