package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
)

// client-go reports errors to handlers of the process, one of which sleeps
// until a millisecond after the last error: by the clock of a bubble, decades.
func TestMain(m *testing.M) {
	utilruntime.ErrorHandlers = nil
	m.Run()
}

// outsideCluster makes the environment one where nothing says where a cluster
// is.
func outsideCluster(t *testing.T) {
	t.Helper()
	for _, name := range []string{"KUBECONFIG", "KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT"} {
		t.Setenv(name, "")
	}
}

func TestRunEndsWithAWord(t *testing.T) {
	outsideCluster(t)
	elsewhere := writeKubeconfig(t, "https://127.0.0.1:1")
	for name, tt := range map[string]struct {
		args []string
		code int
		told string
	}{
		"help":        {[]string{"-h"}, 0, "-leader-elect-lease-name NAME"},
		"bad flag":    {[]string{"-workers", "0"}, 2, "controller: -workers 0: at least 1"},
		"no cluster":  {nil, 1, "give -kubeconfig ~/.kube/config"},
		"nobody":      {[]string{"-kubeconfig", elsewhere}, 1, "cannot reach the API server https://127.0.0.1:1 (dial"},
		"as json":     {[]string{"-log-format", "json"}, 1, `"msg":"no cluster found`},
		"own name":    {[]string{"-name", "kubernetes.io/job-controller"}, 1, "must not run beside this one"},
		"bad address": {[]string{"-kubeconfig", elsewhere, "-metrics-address", "192.0.2.1:80"}, 1, "-metrics-address 192.0.2.1:80: listen"},
	} {
		t.Run(name, func(t *testing.T) {
			var stderr bytes.Buffer
			if code := run(t.Context(), tt.args, &stderr); code != tt.code || !strings.Contains(stderr.String(), tt.told) {
				t.Errorf("exit status %d, want %d and to be told %q:\n%s", code, tt.code, tt.told, stderr.String())
			}
		})
	}
}

func TestSecondSignalKills(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		signals, killed := make(chan os.Signal), make(chan int, 1)
		ctx := untilSignal(signals, func(code int) { killed <- code })
		synctest.Wait()
		if ctx.Err() != nil {
			t.Error("the context has ended before a signal")
		}
		signals <- syscall.SIGTERM
		synctest.Wait()
		if ctx.Err() == nil || len(killed) != 0 {
			t.Errorf("after a signal: context %v, killed %d times, want it ended and the program going on", ctx.Err(), len(killed))
		}
		signals <- syscall.SIGTERM
		if code := <-killed; code != 143 {
			t.Errorf("exit status %d, want 143", code)
		}
	})
}

// writeKubeconfig returns the path of a kubeconfig with the contexts a, which is
// in namespace ns and the current one, and b.
func writeKubeconfig(t *testing.T, server string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "config")
	text := strings.ReplaceAll(`
apiVersion: v1
kind: Config
current-context: a
clusters:
- {name: c, cluster: {server: "SERVER"}}
users:
- {name: u, user: {token: t}}
contexts:
- {name: a, context: {cluster: c, user: u, namespace: ns}}
- {name: b, context: {cluster: c, user: u}}
`, "SERVER", server)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
