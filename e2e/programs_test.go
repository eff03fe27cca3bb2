package e2e

import (
	"bufio"
	"encoding/pem"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// program is one of the examples, at work as a process of its own. What it asks
// of the API server goes through the world's requests.
type program struct {
	w    *world
	name string
	cmd  *exec.Cmd

	mu      sync.Mutex
	changed chan struct{} // closed at the next change of what follows
	log     strings.Builder
	exited  bool
}

// run builds an example, with the race detector, and starts it as a user of the
// cluster. It ends with the test.
func (w *world) run(example, as string, args ...string) *program {
	w.t.Helper()
	cacheDir, err := os.UserCacheDir()
	if err != nil {
		w.t.Fatal(err)
	}
	binary := filepath.Join(cacheDir, "jobwright-e2e", example)
	build := exec.Command("go", "build", "-race", "-o", binary, ".")
	build.Dir = filepath.Join("..", "examples", example)
	if out, err := build.CombinedOutput(); err != nil {
		w.t.Fatalf("build %s: %v\n%s", example, err, out)
	}

	p := &program{w: w, name: example, changed: make(chan struct{})}
	p.cmd = exec.Command(binary, append([]string{"-kubeconfig", w.kubeconfig(as)}, args...)...)
	stderr, err := p.cmd.StderrPipe()
	if err != nil {
		w.t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	go p.read(stderr)
	w.t.Cleanup(func() {
		_ = p.cmd.Process.Kill()
		p.wait()
		if w.t.Failed() {
			w.t.Logf("log of %s:\n%s", example, p.log.String())
		}
		if strings.Contains(p.log.String(), "DATA RACE") {
			w.t.Errorf("%s: data race\n%s", example, p.log.String())
		}
	})
	return p
}

// read keeps what the program logs, and notes its end.
func (p *program) read(stderr io.Reader) {
	lines := bufio.NewScanner(stderr)
	for lines.Scan() {
		p.note(func() { p.log.WriteString(lines.Text() + "\n") })
	}
	_ = p.cmd.Wait() // the state says more
	p.note(func() { p.exited = true })
}

func (p *program) note(change func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change()
	close(p.changed)
	p.changed = make(chan struct{})
}

// await returns when the program is as is says.
func (p *program) await(what string, is func() bool) {
	p.w.t.Helper()
	for timeout := p.w.timeout(); ; {
		p.mu.Lock()
		done, exited, changed, log := is(), p.exited, p.changed, p.log.String()
		p.mu.Unlock()
		if done {
			return
		}
		if exited {
			p.w.t.Fatalf("%s has ended, without: %s; its log:\n%s", p.name, what, log)
		}
		select {
		case <-changed:
		case <-timeout:
			p.w.t.Fatalf("waited in vain for %s: %s; its log:\n%s", p.name, what, log)
		}
	}
}

// awaitLog returns when the program has logged a line that matches, with the
// first group of the match.
func (p *program) awaitLog(pattern string) (group string) {
	p.w.t.Helper()
	re := regexp.MustCompile(pattern)
	p.await("log "+pattern, func() bool {
		match := re.FindStringSubmatch(p.log.String())
		if len(match) > 1 {
			group = match[1]
		}
		return match != nil
	})
	return group
}

// wait returns the exit status of the program when it has ended.
func (p *program) wait() int {
	p.w.t.Helper()
	p.await("its end", func() bool { return p.exited })
	return p.cmd.ProcessState.ExitCode()
}

func (p *program) signal(s syscall.Signal) {
	p.w.t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		p.w.t.Fatal(err)
	}
}

// kubeconfig is one for a ServiceAccount ("namespace/name"), through which every
// request passes the world's requests.
func (w *world) kubeconfig(account string) string {
	w.t.Helper()
	namespace, name, _ := strings.Cut(account, "/")
	token, err := w.client.CoreV1().ServiceAccounts(namespace).CreateToken(w.t.Context(), name, &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		w.t.Fatal(err)
	}
	config := clientcmdapi.NewConfig()
	config.Clusters["e2e"] = w.proxy()
	config.AuthInfos["e2e"] = &clientcmdapi.AuthInfo{Token: token.Status.Token}
	config.Contexts["e2e"] = &clientcmdapi.Context{Cluster: "e2e", AuthInfo: "e2e", Namespace: namespace}
	config.CurrentContext = "e2e"
	path := filepath.Join(w.t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*config, path); err != nil {
		w.t.Fatal(err)
	}
	return path
}

// proxy passes on what a process asks of the API server. It speaks TLS, for
// without it nobody sends a token.
func (w *world) proxy() *clientcmdapi.Cluster {
	w.t.Helper()
	server, err := url.Parse(admin.Host)
	if err != nil {
		w.t.Fatal(err)
	}
	transport, err := rest.TransportFor(rest.AnonymousClientConfig(admin))
	if err != nil {
		w.t.Fatal(err)
	}
	proxy := httptest.NewTLSServer(&httputil.ReverseProxy{
		Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(server) },
		Transport:     w.requests.wrap(transport),
		FlushInterval: -1, // a watch is told at once
		ErrorHandler:  func(rw http.ResponseWriter, _ *http.Request, _ error) { rw.WriteHeader(http.StatusBadGateway) },
	})
	w.t.Cleanup(func() {
		proxy.CloseClientConnections()
		proxy.Close()
	})
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: proxy.Certificate().Raw})
	return &clientcmdapi.Cluster{Server: proxy.URL, CertificateAuthorityData: ca}
}

// get is what an address of a program answers.
func get(t testing.TB, address, path string) (status int, body string) {
	t.Helper()
	response, err := http.Get("http://" + address + path)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	read, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(read)
}
