package main

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clientfake "k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
)

// newAPI is a clientset that gives pods a name and a UID and events a name,
// with a Job in it that wants a pod.
func newAPI() *clientfake.Clientset {
	client := clientfake.NewSimpleClientset(&batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "j", UID: "uid-j", ResourceVersion: "1", Generation: 1},
		Spec: batchv1.JobSpec{
			ManagedBy: new(defaultName),
			Selector:  &metav1.LabelSelector{MatchLabels: map[string]string{batchv1.ControllerUidLabel: "uid-j"}},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{batchv1.ControllerUidLabel: "uid-j", batchv1.JobNameLabel: "j"}},
				Spec:       corev1.PodSpec{RestartPolicy: corev1.RestartPolicyNever},
			},
		},
	})
	var made atomic.Int64
	client.PrependReactor("create", "*", func(a clienttesting.Action) (bool, runtime.Object, error) {
		switch obj := a.(clienttesting.CreateAction).GetObject().(type) {
		case *corev1.Pod:
			n := made.Add(1)
			obj.Name, obj.UID = fmt.Sprintf("j-%d", n), types.UID(fmt.Sprintf("uid-%d", n))
		case *corev1.Event:
			obj.Name = fmt.Sprintf("event-%d", made.Add(1))
		}
		return false, nil, nil
	})
	return client
}

func newTestProgram(t *testing.T, client *clientfake.Clientset, elect bool) *program {
	t.Helper()
	o, err := parse(nil, t.Output())
	if err != nil {
		t.Fatal(err)
	}
	p := &program{
		o: o, logger: slog.New(slog.NewTextHandler(t.Output(), nil)), metrics: newMetrics(),
		clients: clients{watch: client, write: client, plain: client, lease: client},
		caches:  newCaches(client, ""),
	}
	if elect {
		p.o.election.namespace = "ns"
		if p.leader, err = newLeader(client, p.o.election, p.metrics.leads("l"), p.logger); err != nil {
			t.Fatal(err)
		}
	}
	return p
}

// writes are what the clientset was asked to write, in order.
func writes(client *clientfake.Clientset) (writes []string) {
	for _, a := range client.Actions() {
		what := a.GetVerb() + " " + strings.TrimSuffix(a.GetResource().Resource+"/"+a.GetSubresource(), "/")
		if !slices.Contains([]string{"create", "update", "patch", "delete"}, a.GetVerb()) {
			continue
		}
		if create, ok := a.(clienttesting.CreateAction); ok {
			if event, ok := create.GetObject().(*corev1.Event); ok {
				what += " " + event.Reason
			}
		}
		if len(writes) == 0 || writes[len(writes)-1] != what { // leases are renewed
			writes = append(writes, what)
		}
	}
	return writes
}

// A sync that is under way when the program is told to end goes to its end, with
// the lease held; then the lease is released, and all events have been written.
func TestDrain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		// One clientset each: while one makes a call wait, it makes all wait.
		client, leases, events := newAPI(), clientfake.NewSimpleClientset(), newAPI()
		creating, answer := make(chan struct{}), make(chan struct{})
		client.PrependReactor("create", "pods", func(clienttesting.Action) (bool, runtime.Object, error) {
			close(creating)
			<-answer
			return false, nil, nil
		})
		events.PrependReactor("create", "events", func(clienttesting.Action) (bool, runtime.Object, error) {
			time.Sleep(time.Second) // of the bubble
			return false, nil, nil
		})
		p := newTestProgram(t, client, false)
		p.o.election.namespace = "ns"
		p.clients.plain = events
		var err error
		if p.leader, err = newLeader(leases, p.o.election, p.metrics.leads("l"), p.logger); err != nil {
			t.Fatal(err)
		}
		p.leader.lease.Interface = newLease(leases, "me").Interface
		leases.PrependReactor("update", "leases", func(a clienttesting.Action) (bool, runtime.Object, error) {
			lease := a.(clienttesting.UpdateAction).GetObject().(*coordinationv1.Lease)
			if valueOf(lease.Spec.HolderIdentity) == "" && !slices.Contains(writes(client), "update jobs/status") {
				t.Error("released in the middle of a sync")
			}
			return false, nil, nil
		})
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- p.run(ctx) }()
		<-creating
		if err := p.ready(); err != nil {
			t.Errorf("not ready while it works: %v", err)
		}
		stop()
		time.Sleep(time.Minute)
		synctest.Wait()
		if err := p.ready(); err == nil || p.mayWrite() != nil || holder(t, leases) != "me" {
			t.Errorf("while it drains: ready %v, may write %v, holder %q, want not ready but writing", err, p.mayWrite(), holder(t, leases))
		}
		close(answer)
		if err := <-ended; err != nil || holder(t, leases) != "" {
			t.Errorf("ended with %v, holder %q, want none", err, holder(t, leases))
		}
		got := append(writes(client), writes(events)...)
		if diff := cmp.Diff([]string{"create pods", "update jobs/status", "create events SuccessfulCreate"}, got); diff != "" {
			t.Errorf("writes (-want +got):\n%s", diff)
		}
	})
}

func TestWithoutElection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := newAPI()
		p := newTestProgram(t, client, false)
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- p.run(ctx) }()
		time.Sleep(time.Minute)
		stop()
		if err := <-ended; err != nil {
			t.Errorf("ended with %v", err)
		}
		if diff := cmp.Diff([]string{"create events SuccessfulCreate", "create pods", "update jobs/status"}, sorted(writes(client))); diff != "" {
			t.Errorf("writes (-want +got):\n%s", diff)
		}
	})
}

// A standby has its caches filled and works off nothing.
func TestStandbyIsReady(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := newAPI()
		leads := newCampaign(t, client)
		p := newTestProgram(t, client, true)
		var err error
		if p.leader, err = newLeader(client, leads.election, func(bool) {}, p.logger); err != nil {
			t.Fatal(err)
		}
		if err := p.ready(); err == nil || err.Error() != "caches not synced: jobs, pods" {
			t.Errorf("ready before the start: %v", err)
		}
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- p.run(ctx) }()
		time.Sleep(time.Minute)
		synctest.Wait()
		if err := p.ready(); err != nil {
			t.Errorf("standby: %v, want ready", err)
		}
		if p.mayWrite() == nil {
			t.Error("a standby may write")
		}
		for _, w := range writes(client) {
			if !strings.HasSuffix(w, "leases") {
				t.Errorf("a standby has written: %s", w)
			}
		}
		stop()
		if err := <-ended; err != nil {
			t.Errorf("ended with %v", err)
		}
		leads.stop()
		close(leads.drain)
		<-leads.ended
	})
}

func TestHealthHandler(t *testing.T) {
	p := newTestProgram(t, newAPI(), true)
	ask := func(path string) string {
		w := httptest.NewRecorder()
		p.healthHandler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
		return fmt.Sprintf("%d %s", w.Code, strings.TrimSpace(w.Body.String()))
	}
	got := map[string]string{"alive": ask("/healthz"), "empty": ask("/readyz"), "other": ask("/")}
	p.ending.Store(true)
	got["draining"], got["draining, alive"] = ask("/readyz"), ask("/healthz")
	want := map[string]string{
		"alive": "200 ok", "empty": "503 caches not synced: jobs, pods", "other": "404 404 page not found",
		"draining": "503 draining", "draining, alive": "200 ok",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("answers (-want +got):\n%s", diff)
	}
}

// A leader that neither renews its lease nor ends is not alive.
func TestHealthOfAStuckLeader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := clientfake.NewSimpleClientset()
		c := newCampaign(t, client)
		p := newTestProgram(t, client, false)
		p.leader = c.leader
		stuck := make(chan struct{})
		c.fault.Store(new(func(string) error {
			<-stuck
			return nil
		}))
		got := []bool{p.alive(nil) == nil}
		for range 4 {
			time.Sleep(10 * time.Second)
			got = append(got, p.alive(nil) == nil)
		}
		if diff := cmp.Diff([]bool{true, true, true, true, false}, got); diff != "" {
			t.Errorf("alive (-want +got):\n%s", diff)
		}
		close(stuck)
		close(c.drain)
		c.stop()
		<-c.ended
	})
}

func TestListenLogsTheAddress(t *testing.T) {
	var told bytes.Buffer
	p := newTestProgram(t, newAPI(), false)
	p.logger = slog.New(slog.NewTextHandler(&told, nil))
	p.o.metricsAddress, p.o.healthAddress = "127.0.0.1:0", "127.0.0.1:0"
	stop, err := p.listen()
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	for what, path := range map[string]string{"serving metrics": "/metrics", "serving health": "/healthz"} {
		_, rest, _ := strings.Cut(told.String(), fmt.Sprintf("msg=%q address=", what))
		address, _, _ := strings.Cut(rest, "\n")
		response, err := http.Get("http://" + address + path)
		if err != nil {
			t.Fatalf("%v in the log:\n%s", err, told.String())
		}
		response.Body.Close()
		if response.StatusCode != http.StatusOK {
			t.Errorf("%s: %s", path, response.Status)
		}
	}
}
