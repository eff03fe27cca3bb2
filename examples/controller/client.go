package main

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// target is a cluster and the namespace one is in there.
type target struct {
	config    *rest.Config
	namespace string
}

// podNamespace is where a pod finds the namespace it is in.
const podNamespace = "/var/run/secrets/kubernetes.io/serviceaccount/namespace"

// findCluster goes by the kubeconfig, by KUBECONFIG, or by what a pod finds
// around itself, in this order.
func findCluster(kubeconfig, context string) (target, error) {
	paths := os.Getenv(clientcmd.RecommendedConfigPathEnvVar)
	switch {
	case kubeconfig != "":
		return fromKubeconfig(&clientcmd.ClientConfigLoadingRules{ExplicitPath: kubeconfig}, "-kubeconfig "+kubeconfig, context)
	case paths != "":
		return fromKubeconfig(&clientcmd.ClientConfigLoadingRules{Precedence: filepath.SplitList(paths)}, "KUBECONFIG="+paths, context)
	case context != "":
		return target{}, fmt.Errorf("-context %s: of which kubeconfig? Give -kubeconfig FILE or set KUBECONFIG", context)
	}
	config, err := rest.InClusterConfig()
	if err != nil {
		if errors.Is(err, rest.ErrNotInCluster) {
			err = errors.New("KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set")
		}
		return target{}, fmt.Errorf("no cluster found: this is not a pod of one (%w), and there is neither -kubeconfig nor KUBECONFIG; for the cluster that kubectl uses give -kubeconfig ~/.kube/config", err)
	}
	namespace, err := os.ReadFile(podNamespace)
	if err != nil {
		namespace = nil // -leader-elect-lease-namespace says it
	}
	return target{config, strings.TrimSpace(string(namespace))}, nil
}

// fromKubeconfig reads the files that rules name; source says where from.
func fromKubeconfig(rules *clientcmd.ClientConfigLoadingRules, source, context string) (target, error) {
	raw, err := rules.Load()
	if err != nil {
		return target{}, fmt.Errorf("%s: %w", source, err)
	}
	if len(raw.Contexts) == 0 {
		return target{}, fmt.Errorf("%s: there is no context in it", source)
	}
	if err := checkContext(raw, context); err != nil {
		return target{}, fmt.Errorf("%s: %w", source, err)
	}
	client := clientcmd.NewNonInteractiveClientConfig(*raw, context, &clientcmd.ConfigOverrides{}, rules)
	config, err := client.ClientConfig()
	if err != nil {
		return target{}, fmt.Errorf("%s: %w", source, err)
	}
	namespace, _, err := client.Namespace()
	if err != nil {
		return target{}, fmt.Errorf("%s: %w", source, err)
	}
	return target{config, namespace}, nil
}

func checkContext(raw *clientcmdapi.Config, context string) error {
	there := strings.Join(slices.Sorted(maps.Keys(raw.Contexts)), ", ")
	if context == "" && raw.CurrentContext == "" {
		return fmt.Errorf("no context is the current one; give -context, one of: %s", there)
	}
	if name := firstOf(context, raw.CurrentContext); raw.Contexts[name] == nil {
		return fmt.Errorf("there is no context %q, but: %s", name, there)
	}
	return nil
}

// clients are the ways to the API server. Each has a rate limit of its own, so
// that a burst of pods keeps nobody from renewing the lease.
type clients struct {
	// watch is for informers. It has no timeout: that of a rest.Config is one of
	// http.Client, which would cut every watch after it.
	watch kubernetes.Interface
	// write is for the controller, while it may write.
	write kubernetes.Interface
	// plain is for events and questions.
	plain kubernetes.Interface
	// lease is for the lease. Its timeout leaves time for a second attempt.
	lease kubernetes.Interface
}

func newClients(base *rest.Config, o options, mayWrite func() error) (clients, error) {
	base = rest.CopyConfig(base)
	base.UserAgent = fmt.Sprintf("%s/%s (%s/%s) %s", component, version(), runtime.GOOS, runtime.GOARCH, o.name)
	base.QPS, base.Burst = float32(o.qps), o.burst
	base.ContentType = "application/vnd.kubernetes.protobuf"
	base.AcceptContentTypes = base.ContentType + ",application/json"
	base.Timeout = 0

	var c clients
	var errs []error
	client := func(timeout time.Duration, change func(*rest.Config)) kubernetes.Interface {
		config := rest.CopyConfig(base)
		config.Timeout = timeout
		change(config)
		set, err := kubernetes.NewForConfig(config)
		errs = append(errs, err)
		return set
	}
	same := func(*rest.Config) {}
	c.watch = client(0, same)
	c.write = client(o.requestTimeout, func(config *rest.Config) { config.Wrap(fenced(mayWrite)) })
	c.plain = client(o.requestTimeout, same)
	c.lease = client(max(o.election.renew/2, time.Second), func(config *rest.Config) { config.UserAgent += " leader-election" })
	if err := errors.Join(errs...); err != nil {
		return clients{}, fmt.Errorf("client of %s: %w", base.Host, err)
	}
	return c, nil
}

// component is how the program calls itself in the logs of API servers, in
// managedFields and in events.
const component = "jobwright-controller"

func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" {
		return "(devel)"
	}
	return info.Main.Version
}
