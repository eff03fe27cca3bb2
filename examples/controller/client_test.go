package main

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

func TestFindCluster(t *testing.T) {
	config := writeKubeconfig(t, "https://there:6443")
	empty := filepath.Join(t.TempDir(), "empty")
	undecided := filepath.Join(t.TempDir(), "undecided")
	text, err := os.ReadFile(config)
	if err != nil {
		t.Fatal(err)
	}
	for path, text := range map[string]string{empty: "", undecided: strings.ReplaceAll(string(text), "current-context: a", "")} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, tt := range map[string]struct {
		flag, env, context string
		namespace, err     string
	}{
		"flag":                   {config, "", "", "ns", ""},
		"another context":        {config, "", "b", "default", ""},
		"environment":            {"", empty + ":" + config, "", "ns", ""},
		"flag over environment":  {config, "/nowhere", "", "ns", ""},
		"missing":                {"/nowhere", "", "", "", "-kubeconfig /nowhere: stat /nowhere: no such file"},
		"missing in environment": {"", "/nowhere", "", "", "KUBECONFIG=/nowhere: there is no context in it"},
		"unknown context":        {config, "", "prod", "", `there is no context "prod", but: a, b`},
		"no current context":     {undecided, "", "", "", "give -context, one of: a, b"},
		"context of nothing":     {"", "", "a", "", "-context a: of which kubeconfig?"},
		"nothing":                {"", "", "", "", "KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set"},
	} {
		t.Run(name, func(t *testing.T) {
			outsideCluster(t)
			t.Setenv("KUBECONFIG", tt.env)
			found, err := findCluster(tt.flag, tt.context)
			if tt.err == "" {
				if err != nil || found.config.Host != "https://there:6443" || found.namespace != tt.namespace {
					t.Errorf("%+v, %v, want namespace %s", found, err, tt.namespace)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), tt.err) {
				t.Errorf("error %v, want %q", err, tt.err)
			}
		})
	}
}

// Every call ends some time, but no watch is cut; writes are fenced, reads are
// not, and neither is what the program does for itself.
func TestClients(t *testing.T) {
	var request *http.Request
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		request = r
		http.Error(w, "not here", http.StatusNotFound)
	}))
	defer server.Close()
	o := options{qps: 50, burst: 50, requestTimeout: 7 * time.Second, name: "a.b/c", election: election{renew: 10 * time.Second}}
	c, err := newClients(&rest.Config{Host: server.URL}, o, func() error { return errors.New("fenced") })
	if err != nil {
		t.Fatal(err)
	}
	read := func(client kubernetes.Interface) error {
		_, err := client.CoreV1().Pods("ns").Get(t.Context(), "p", metav1.GetOptions{})
		return err
	}
	create := func(client kubernetes.Interface) error {
		_, err := client.CoreV1().Pods("ns").Create(t.Context(), &corev1.Pod{}, metav1.CreateOptions{})
		return err
	}
	watch := func(client kubernetes.Interface) error {
		_, err := client.CoreV1().Pods("ns").Watch(t.Context(), metav1.ListOptions{})
		return err
	}
	for name, tt := range map[string]struct {
		client  kubernetes.Interface
		call    func(kubernetes.Interface) error
		timeout string
		sent    bool
	}{
		"watch":               {c.watch, watch, "", true},
		"list before a watch": {c.watch, read, "", true},
		"read":                {c.write, read, "7s", true},
		"write":               {c.write, create, "", false},
		"write of its own":    {c.plain, create, "7s", true},
		"write of the lease":  {c.lease, create, "5s", true},
	} {
		t.Run(name, func(t *testing.T) {
			request = nil
			if err := tt.call(tt.client); err == nil || strings.Contains(err.Error(), "fenced") == tt.sent {
				t.Errorf("error %v, want a call that is sent: %v", err, tt.sent)
			}
			if (request != nil) != tt.sent {
				t.Fatalf("sent: %v, want %v", request != nil, tt.sent)
			}
			if request == nil {
				return
			}
			if diff := cmp.Diff(tt.timeout, request.URL.Query().Get("timeout")); diff != "" {
				t.Errorf("timeout (-want +got):\n%s", diff)
			}
			if agent := request.UserAgent(); !strings.HasPrefix(agent, "jobwright-controller/") || !strings.Contains(agent, "a.b/c") {
				t.Errorf("user agent %q", agent)
			}
		})
	}
}
