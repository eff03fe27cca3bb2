package e2e

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"
)

// admin is the cluster under test, with every right.
var admin *rest.Config

func TestMain(m *testing.M) {
	code, err := runTests(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, "e2e:", err)
		code = 1
	}
	os.Exit(code)
}

func runTests(m *testing.M) (code int, err error) {
	flag.Parse()
	if !isSet("test.parallel") { // tests wait more than they work
		if err := flag.Set("test.parallel", "8"); err != nil {
			return 0, err
		}
	}
	klog.SetLogger(klog.Logger{}) // of reflectors whose controller was killed, mostly
	kubeconfig := os.Getenv("E2E_KUBECONFIG")
	if kubeconfig == "" {
		started, stop, err := startCluster()
		if err != nil {
			return 0, err
		}
		defer stop()
		kubeconfig = started
	}
	if admin, err = clientcmd.BuildConfigFromFlags("", kubeconfig); err != nil {
		return 0, err
	}
	admin.QPS = -1
	admin.ContentType = "application/vnd.kubernetes.protobuf"
	admin.AcceptContentTypes = "application/vnd.kubernetes.protobuf,application/json"
	if err := prepare(context.Background()); err != nil {
		return 0, err
	}
	return m.Run(), nil
}

func isSet(name string) (set bool) {
	flag.Visit(func(f *flag.Flag) { set = set || f.Name == name })
	return set
}

// startCluster builds and starts ./cluster and returns the path of its
// kubeconfig. The cluster ends with this process, whatever that ends of.
func startCluster() (kubeconfig string, stop func(), err error) {
	// Kept from run to run, since it is large: it is linked anew when it must be.
	cacheDir, err := os.UserCacheDir()
	if err != nil {
		return "", nil, err
	}
	program := filepath.Join(cacheDir, "jobwright-e2e", "cluster")
	if out, err := exec.Command("go", "build", "-o", program, "./cluster").CombinedOutput(); err != nil {
		return "", nil, fmt.Errorf("build ./cluster: %w\n%s", err, out)
	}
	jobs := "job-controller" // it has the Jobs without managedBy, and ours are none of its business
	if isSet("test.bench") {
		jobs = "" // benchmarks start their own
	}
	cmd := exec.Command(program, "-stdin", "-job-controllers", jobs)
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return "", nil, err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return "", nil, err
	}
	if err := cmd.Start(); err != nil {
		return "", nil, err
	}
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		stdin.Close()
		return "", nil, fmt.Errorf("start ./cluster: %w", cmd.Wait())
	}
	return strings.TrimSpace(line), func() {
		stdin.Close()
		_ = cmd.Wait()
	}, nil
}
