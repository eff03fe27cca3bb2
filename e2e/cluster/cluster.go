package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/client-go/util/keyutil"
)

// startTimeout is how long the API server may take to be ready. It takes about
// 5 s when nothing else runs.
const startTimeout = 2 * time.Minute

// cluster is a control plane whose files are in one folder.
type cluster struct {
	dir     string
	address string // of the API server, host:port

	running []*component // in the order of their start
	ended   chan *component
}

// component is one process of a cluster. It ends when its standard input does.
type component struct {
	name  string
	stdin io.Closer
	done  chan struct{}
	err   error // once done is closed
}

func (c *cluster) path(name string) string { return filepath.Join(c.dir, name) }

func (c *cluster) kubeconfig() string { return c.path("kubeconfig") }

// start returns when the API server is ready.
func (c *cluster) start(ctx context.Context, controllers string) error {
	c.ended = make(chan *component, len(components))
	var err error
	if c.address, err = freeAddress(); err != nil {
		return err
	}
	if err := c.writeFiles(); err != nil {
		return err
	}
	_, port, err := net.SplitHostPort(c.address)
	if err != nil {
		return err
	}
	etcd := "unix://" + c.path("etcd.sock")
	if err := c.run("etcd",
		"--data-dir", c.path("etcd"),
		"--listen-client-urls", etcd,
		"--advertise-client-urls", "http://127.0.0.1:0", // nobody asks for it, and a socket is refused here
		"--listen-peer-urls", "http://127.0.0.1:0",
		"--log-level", "warn",
		"--unsafe-no-fsync", // the data ends with the cluster
		"--quota-backend-bytes", fmt.Sprint(8<<30),
	); err != nil {
		return err
	}
	if err := c.run("kube-apiserver",
		"--etcd-servers", etcd,
		"--bind-address", "127.0.0.1",
		"--secure-port", port,
		"--endpoint-reconciler-type", "none",
		"--cert-dir", c.dir,
		"--token-auth-file", c.path("tokens"),
		"--authorization-mode", "RBAC",
		"--service-account-issuer", "https://cluster.local",
		"--service-account-key-file", c.path("accounts.key"),
		"--service-account-signing-key-file", c.path("accounts.key"),
		"--service-cluster-ip-range", "10.0.0.0/16",
		"--disable-admission-plugins", "ServiceAccount", // no pod runs, so none needs a token
		"--enable-admission-plugins", "OwnerReferencesPermissionEnforcement", // the strictest there is
		"--watch-cache=true",
	); err != nil {
		return err
	}
	if err := c.ready(ctx); err != nil {
		return err
	}
	return c.run("kube-controller-manager",
		"--kubeconfig", c.kubeconfig(),
		"--controllers", controllers,
		"--leader-elect=false",
		"--secure-port", "0",
		"--kube-api-qps", "1000", "--kube-api-burst", "2000",
		"--resource-quota-sync-period", "2s",
	)
}

// writeFiles writes what the components read: who the administrator is, the key
// of ServiceAccounts, and a kubeconfig.
func (c *cluster) writeFiles() error {
	const token = "administrator" // reachable on loopback only, by whoever may read the folder
	if err := os.WriteFile(c.path("tokens"), []byte(token+`,admin,admin,"system:masters"`+"\n"), 0o600); err != nil {
		return err
	}
	key, err := keyutil.MakeEllipticPrivateKeyPEM()
	if err != nil {
		return err
	}
	if err := os.WriteFile(c.path("accounts.key"), key, 0o600); err != nil {
		return err
	}
	config := clientcmdapi.NewConfig()
	config.Clusters["jobwright"] = &clientcmdapi.Cluster{Server: "https://" + c.address, CertificateAuthority: c.path("apiserver.crt")}
	config.AuthInfos["admin"] = &clientcmdapi.AuthInfo{Token: token}
	config.Contexts["jobwright"] = &clientcmdapi.Context{Cluster: "jobwright", AuthInfo: "admin"}
	config.CurrentContext = "jobwright"
	return clientcmd.WriteToFile(*config, c.kubeconfig())
}

// run starts a component, whose output goes to a file of its name.
func (c *cluster) run(name string, args ...string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	log, err := os.Create(c.path(name + ".log"))
	if err != nil {
		return err
	}
	defer log.Close() // the process has its own
	cmd := exec.Command(self, append([]string{name}, args...)...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.Dir = c.dir
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start %s: %w", name, err)
	}
	started := &component{name: name, stdin: stdin, done: make(chan struct{})}
	c.running = append(c.running, started)
	go func() {
		started.err = cmd.Wait()
		close(started.done)
		c.ended <- started
	}()
	return nil
}

// ready waits until the API server says that it is.
func (c *cluster) ready(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	// Its certificate is its own, and not written yet.
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	defer client.CloseIdleConnections()
	for again := time.NewTicker(100 * time.Millisecond); ; {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+c.address+"/readyz", nil)
		if err != nil {
			return err
		}
		if response, err := client.Do(request); err == nil {
			response.Body.Close()
			if response.StatusCode == http.StatusOK {
				return nil
			}
		}
		select {
		case <-again.C:
		case ended := <-c.ended:
			return c.failure(ended)
		case <-ctx.Done():
			if errors.Is(ctx.Err(), context.DeadlineExceeded) {
				return fmt.Errorf("the API server is not ready after %v; its log ends:\n%s", startTimeout, c.logEnd("kube-apiserver"))
			}
			return ctx.Err()
		}
	}
}

// wait returns when ctx ends or a component does.
func (c *cluster) wait(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case ended := <-c.ended:
		return c.failure(ended)
	}
}

func (c *cluster) failure(ended *component) error {
	return fmt.Errorf("%s has ended (%v); its log ends:\n%s", ended.name, ended.err, c.logEnd(ended.name))
}

// logEnd is the last of what a component has logged.
func (c *cluster) logEnd(name string) []byte {
	log, err := os.ReadFile(c.path(name + ".log"))
	if err != nil {
		return []byte(err.Error())
	}
	return log[max(0, len(log)-4000):]
}

// stop ends the components, the last one first.
func (c *cluster) stop() {
	for i := len(c.running) - 1; i >= 0; i-- {
		c.running[i].stdin.Close()
		<-c.running[i].done
	}
}

// freeAddress is one on loopback that nobody listens on.
func freeAddress() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	return l.Addr().String(), nil
}
