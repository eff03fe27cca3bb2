// Command controllerruntime runs TrainingRuns, the kind that ../customkind
// defines, by a controller-runtime Reconciler over jobcontrol: with the manager's
// caches, queue, leader election and metrics, and no others. From this folder:
//
//	kubectl apply -f ../customkind/crd.yaml
//	go run . -kubeconfig ~/.kube/config
//
// until Ctrl-C, with metrics on :8080 and health on :8081, and in another terminal
//
//	kubectl apply -f ../customkind/sample.yaml
//	kubectl get trainingruns --watch
//
// In a cluster it needs the rights of ../customkind/rbac.yaml, and -leader-elect
// where there are more than one of it. It must not run beside ../customkind.
//
// What is of interest to an operator of one's own: jobs.go shows the kind as a
// Job, pods.go looks up its pods, queue.go and reconciler.go fit the two
// libraries together, handlers.go feeds the watches, and setup.go wires it all.
package main

import (
	"context"
	"flag"
	"log/slog"
	"os"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientscheme "k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/jobwright/jobwright/examples/controllerruntime/api/v1alpha1"
	"github.com/jobwright/jobwright/jobcontrol/kube"
)

func main() {
	var o options // and -kubeconfig, which controller-runtime adds
	flag.StringVar(&o.metrics, "metrics-bind-address", ":8080", "where metrics are served; 0: nowhere")
	flag.StringVar(&o.health, "health-probe-bind-address", ":8081", "where /healthz and /readyz are served; 0: nowhere")
	flag.BoolVar(&o.elect, "leader-elect", false, "work only while no other does")
	flag.StringVar(&o.namespace, "leader-election-namespace", "", "where the lease of the leader is; empty: in that of the pod this runs in")
	flag.Parse()
	ctrl.SetLogger(logr.FromSlogHandler(slog.Default().Handler()))
	if err := run(ctrl.SetupSignalHandler(), o); err != nil {
		slog.Error("TrainingRuns are not controlled", "error", err)
		os.Exit(1)
	}
}

type options struct {
	metrics, health string
	elect           bool
	namespace       string
}

// run works on TrainingRuns until ctx ends, or the lead is lost.
func run(ctx context.Context, o options) error {
	config, err := ctrl.GetConfig()
	if err != nil {
		return err
	}
	scheme := runtime.NewScheme()
	if err := clientscheme.AddToScheme(scheme); err != nil {
		return err
	}
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		return err
	}
	mgr, err := ctrl.NewManager(config, ctrl.Options{
		Scheme: scheme,
		Cache: cache.Options{
			DefaultTransform: cache.TransformStripManagedFields(),
			ByObject: map[client.Object]cache.ByObject{
				&corev1.Pod{}: {Transform: kube.Trim(names())},
			},
		},
		Metrics:                       server.Options{BindAddress: o.metrics},
		HealthProbeBindAddress:        o.health,
		LeaderElection:                o.elect,
		LeaderElectionID:              "trainingrun-controller." + v1alpha1.Group,
		LeaderElectionNamespace:       o.namespace,
		LeaderElectionReleaseOnCancel: true, // the program ends with its manager
	})
	if err != nil {
		return err
	}
	if err := mgr.AddHealthzCheck("ping", healthz.Ping); err != nil {
		return err
	}
	if err := mgr.AddReadyzCheck("ping", healthz.Ping); err != nil {
		return err
	}
	if err := setUp(ctx, mgr); err != nil {
		return err
	}
	return mgr.Start(ctx)
}
