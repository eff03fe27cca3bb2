package kube_test

import (
	"context"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"github.com/jobwright/jobwright/jobcontrol"
	"github.com/jobwright/jobwright/jobcontrol/kube"
)

// A controller that runs in the cluster, from its first to its last line.
func ExampleRun() {
	config, err := rest.InClusterConfig()
	if err != nil {
		panic(err)
	}
	config.QPS, config.Burst = 50, 100
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		panic(err)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := kube.Run(ctx, client, kube.Config{
		Controller: jobcontrol.Config{Name: "example.com/jobs", Logger: slog.Default()},
		Namespace:  "batch",
	}); err != nil {
		panic(err)
	}
}

// The library logs through slog and requires neither klog nor logr. A program
// that uses one of them, as any with client-go may, bridges with one line, for
// logr makes a slog.Handler of every logger:
//
//	handler := logr.ToSlogHandler(klog.Background())
//
// The other way round, klog.SetSlogLogger sends what client-go itself logs to
// a slog.Logger. Whatever its origin, the handler goes in like this one.
func Example_logging() {
	handler := slog.NewTextHandler(os.Stdout, &slog.HandlerOptions{ReplaceAttr: withoutTime})
	logger := slog.New(handler).With("controller", "jobs")
	cfg := kube.Config{Controller: jobcontrol.Config{Logger: logger}}

	pods := kube.PodHandler(ignoreAll{}, cfg.Controller.Logger)
	pods.OnDelete(cache.DeletedFinalStateUnknown{Key: "batch/pi-x7k2p"})
	// Output:
	// level=WARN msg="informer event skipped" controller=jobs error="pod batch/pi-x7k2p was deleted unseen and its last state is lost"
}

// ignoreAll stands for a Controller.
type ignoreAll struct{}

func (ignoreAll) PodAdded(*corev1.Pod)        {}
func (ignoreAll) PodUpdated(_, _ *corev1.Pod) {}
func (ignoreAll) PodDeleted(*corev1.Pod)      {}

func withoutTime(_ []string, a slog.Attr) slog.Attr {
	if a.Key == slog.TimeKey {
		return slog.Attr{}
	}
	return a
}
