package e2e

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"github.com/jobwright/jobwright/jobcontrol"
	"github.com/jobwright/jobwright/jobcontrol/kube"
)

// exampleManager is the name of examples/controller by default.
const exampleManager = "jobwright.dev/job-controller"

// patience is how long a test waits for what must come.
const patience = 2 * time.Minute

// world is a namespace of the cluster, with what a test does in it. Its Jobs are
// managed under a name of their own, so that tests run side by side, and beside
// the Job controller of the cluster.
type world struct {
	t         testing.TB
	namespace string
	manager   string // spec.managedBy of its Jobs
	client    kubernetes.Interface
	requests  *requests // of the controllers
	kubelet   *kubelet
	ended     func(types.UID) // told once of each Job that ends, if not nil

	mu      sync.Mutex
	changed chan struct{} // closed at the next change of what follows
	jobs    map[string]*batchv1.Job
	pods    map[string]*corev1.Pod
	ours    map[types.UID]bool      // Jobs that are the world's controllers'
	owners  map[types.UID]types.UID // of the pods, as last seen
	created map[types.UID]int       // pods ever seen of a Job
}

// newWorld returns an empty namespace in which nothing runs yet but a kubelet,
// for a test that runs beside others.
func newWorld(t *testing.T) *world {
	t.Helper()
	t.Parallel()
	return newSerialWorld(t)
}

// newSerialWorld is newWorld for a test that has the cluster for itself.
func newSerialWorld(t testing.TB) *world {
	t.Helper()
	client, err := kubernetes.NewForConfig(admin)
	if err != nil {
		t.Fatal(err)
	}
	namespace, err := client.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "e2e-"},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	w := &world{
		t: t, namespace: namespace.Name, manager: "e2e.jobwright.dev/" + namespace.Name, client: client, requests: &requests{},
		changed: make(chan struct{}), jobs: map[string]*batchv1.Job{}, pods: map[string]*corev1.Pod{},
		ours: map[types.UID]bool{}, owners: map[types.UID]types.UID{}, created: map[types.UID]int{},
	}
	w.kubelet = newKubelet(w)
	w.watch()
	t.Cleanup(w.check)
	return w
}

// watch keeps jobs and pods as the API server has them.
func (w *world) watch() {
	ctx, stop := context.WithCancel(context.Background())
	factory := informers.NewSharedInformerFactoryWithOptions(w.client, 0, informers.WithNamespace(w.namespace))
	jobs, pods := factory.Batch().V1().Jobs().Informer(), factory.Core().V1().Pods().Informer()
	_, jobsErr := jobs.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(obj any) { w.jobSeen(nil, obj.(*batchv1.Job)) },
		UpdateFunc: func(old, cur any) { w.jobSeen(old.(*batchv1.Job), cur.(*batchv1.Job)) },
		DeleteFunc: func(obj any) { w.note(func() { delete(w.jobs, nameOf(obj)) }) },
	})
	_, podsErr := pods.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: func(obj any) { w.podSeen(obj.(*corev1.Pod), true) },
		UpdateFunc: func(old, cur any) {
			w.podSeen(cur.(*corev1.Pod), old.(*corev1.Pod).UID != cur.(*corev1.Pod).UID)
		},
		DeleteFunc: func(obj any) { w.podGone(nameOf(obj)) },
	})
	if err := errors.Join(jobsErr, podsErr); err != nil {
		w.t.Fatal(err)
	}
	factory.StartWithContext(ctx)
	w.t.Cleanup(func() { stop(); factory.Shutdown(); w.kubelet.wait() })
	if !cache.WaitForCacheSync(ctx.Done(), jobs.HasSynced, pods.HasSynced) {
		w.t.Fatal("the caches have not synced")
	}
}

func nameOf(obj any) string {
	key, _ := cache.DeletionHandlingMetaNamespaceKeyFunc(obj)
	return key[strings.Index(key, "/")+1:]
}

// jobSeen notes a Job, and that no status of it takes back what one before said.
func (w *world) jobSeen(old, cur *batchv1.Job) {
	w.note(func() { w.jobs[cur.Name] = cur })
	if w.ended != nil && jobcontrol.IsFinished(cur) && (old == nil || !jobcontrol.IsFinished(old)) {
		w.ended(cur.UID)
	}
	if old == nil || old.UID != cur.UID || cur.Spec.ManagedBy == nil || *cur.Spec.ManagedBy != w.manager {
		return
	}
	was, is := old.Status, cur.Status
	scaled := *old.Spec.Parallelism != *cur.Spec.Parallelism || cur.Spec.CompletionMode != nil && *cur.Spec.CompletionMode == batchv1.IndexedCompletion
	if is.Failed < was.Failed || is.Succeeded < was.Succeeded && !scaled {
		w.t.Errorf("Job %s counts down (S7): succeeded %d to %d, failed %d to %d", cur.Name, was.Succeeded, is.Succeeded, was.Failed, is.Failed)
	}
	if jobcontrol.IsFinished(old) && !equality.Semantic.DeepEqual(was, is) {
		w.t.Errorf("Job %s changes after its end (S23): %+v to %+v", cur.Name, was, is)
	}
}

func (w *world) podSeen(pod *corev1.Pod, added bool) {
	w.note(func() {
		w.pods[pod.Name] = pod
		owner := metav1.GetControllerOf(pod)
		if owner == nil {
			return
		}
		w.owners[pod.UID] = owner.UID
		if added {
			w.created[owner.UID]++
		}
	})
	w.kubelet.see(pod)
}

func (w *world) podGone(name string) {
	var gone *corev1.Pod
	w.note(func() { gone = w.pods[name]; delete(w.pods, name) })
	if gone != nil {
		w.kubelet.gone(gone)
	}
}

// note changes what is known of the cluster and tells those who wait for it.
func (w *world) note(change func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	change()
	close(w.changed)
	w.changed = make(chan struct{})
}

// look reads what is known of the cluster, which changes all the time.
func (w *world) look(at func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	at()
}

// await returns when the cluster is as is says. A test that waits in vain ends
// and shows what there is.
func (w *world) await(what string, is func() bool) {
	w.t.Helper()
	for timeout := w.timeout(); ; {
		var done bool
		var changed chan struct{}
		w.look(func() { done, changed = is(), w.changed })
		if done {
			return
		}
		if w.requests.wrong() {
			w.t.Fatalf("a request was wrong, while waiting for: %s", what) // check says which
		}
		select {
		case <-changed:
		case <-timeout:
			w.t.Fatalf("waited %v in vain for: %s\n%s", patience, what, w.dump())
		}
	}
}

// dump is what there is in the namespace, for a person.
func (w *world) dump() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(w.jobs)) {
		fmt.Fprintf(&b, "job %s: %+v\n", name, w.jobs[name].Status)
	}
	for _, name := range slices.Sorted(maps.Keys(w.pods)) {
		pod := w.pods[name]
		fmt.Fprintf(&b, "pod %s: %s deleting %v finalizers %v owner %v\n", name, pod.Status.Phase, pod.DeletionTimestamp, pod.Finalizers, pod.OwnerReferences)
	}
	fmt.Fprintf(&b, "requests: %v", w.requests.made())
	return b.String()
}

// check is what must hold at the end of every test.
func (w *world) check() {
	w.requests.mu.Lock()
	defer w.requests.mu.Unlock()
	for _, violation := range w.requests.violations {
		w.t.Error(violation)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for uid, name := range w.requests.owners {
		if !w.ours[uid] {
			w.t.Errorf("a pod was created for Job %s, %s, which is none of the controller's (S33, S35)", name, uid)
		}
	}
	for uid, name := range w.requests.statuses {
		if !w.ours[uid] {
			w.t.Errorf("the status of Job %s, %s was written, which is none of the controller's (S33, S35)", name, uid)
		}
	}
	for uid, name := range w.requests.touched {
		if owner := w.owners[uid]; w.theirs(owner) {
			w.t.Errorf("pod %s was patched or deleted, whose Job %s is none of the controller's (S33, S35)", name, owner)
		}
	}
}

// theirs says whether the owner of a pod is a Job of another manager that is
// there.
func (w *world) theirs(owner types.UID) bool {
	for _, job := range w.jobs {
		if job.UID == owner {
			return !w.ours[owner]
		}
	}
	return false
}

// submit stores the Job, for the world's controllers unless it says whose it is.
func (w *world) submit(job *batchv1.Job) *batchv1.Job {
	w.t.Helper()
	if job.Spec.ManagedBy == nil {
		job.Spec.ManagedBy = &w.manager
	}
	stored, err := w.client.BatchV1().Jobs(w.namespace).Create(w.t.Context(), job, metav1.CreateOptions{})
	if err != nil {
		w.t.Fatal(err)
	}
	if by := *stored.Spec.ManagedBy; by == w.manager || by == exampleManager {
		w.note(func() { w.ours[stored.UID] = true })
	}
	return stored
}

// change edits the stored Job.
func (w *world) change(name string, edit func(*batchv1.Job)) {
	w.t.Helper()
	for {
		job, err := w.client.BatchV1().Jobs(w.namespace).Get(w.t.Context(), name, metav1.GetOptions{})
		if err != nil {
			w.t.Fatal(err)
		}
		edit(job)
		if _, err = w.client.BatchV1().Jobs(w.namespace).Update(w.t.Context(), job, metav1.UpdateOptions{}); err == nil {
			return
		} else if !apierrors.IsConflict(err) {
			w.t.Fatal(err)
		}
	}
}

// remove deletes a Job and returns at once.
func (w *world) remove(name string, how metav1.DeletionPropagation) {
	w.t.Helper()
	err := w.client.BatchV1().Jobs(w.namespace).Delete(w.t.Context(), name, metav1.DeleteOptions{PropagationPolicy: &how})
	if err != nil {
		w.t.Fatal(err)
	}
}

// controller is one that runs in the test.
type controller struct {
	end  context.CancelFunc
	done chan struct{}
	err  error

	dead atomic.Bool
	// dies says of a request that the controller dies before it reaches the
	// server, or before its answer comes. nil: it lives.
	dies func(r request, answered bool) bool
	// loses says of a request that it or its answer is lost. nil: none is.
	loses func(r request, answered bool) bool
}

// wrap cuts the controller off once it is dead.
func (c *controller) wrap(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		about, err := read(r)
		if err != nil {
			return nil, err
		}
		if err := c.fault(about, false); err != nil {
			return nil, err
		}
		response, err := next.RoundTrip(r)
		if fault := c.fault(about, true); fault != nil && err == nil {
			response.Body.Close()
			return nil, fault
		}
		return response, err
	})
}

// fault is what becomes of a request before it is made, or of its answer.
func (c *controller) fault(about request, answered bool) error {
	if !c.dead.Load() && c.dies != nil && c.dies(about, answered) {
		c.die()
	}
	switch {
	case c.dead.Load():
		return errKilled
	case c.loses != nil && c.loses(about, answered):
		return context.DeadlineExceeded
	}
	return nil
}

func (c *controller) die() {
	c.dead.Store(true)
	c.end()
}

// control starts a controller of the world's Jobs, with the rights that the
// manifests of examples/controller give. It ends with the test.
func (w *world) control(cfg kube.Config) *controller {
	w.t.Helper()
	return w.start(&controller{}, cfg)
}

// start is control for a controller that may know when it is to die.
func (w *world) start(c *controller, cfg kube.Config) *controller {
	w.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	c.end, c.done = cancel, make(chan struct{})
	config := asController(admin)
	config.Wrap(w.requests.wrap)
	config.Wrap(c.wrap)
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		w.t.Fatal(err)
	}
	cfg.Namespace = w.namespace
	if cfg.Controller.Name == "" {
		cfg.Controller.Name = w.manager
	}
	if cfg.Controller.Logger == nil {
		cfg.Controller.Logger = slog.New(slog.NewTextHandler(w.t.Output(), nil))
	}
	go func() {
		defer close(c.done)
		c.err = kube.Run(ctx, client, cfg)
	}()
	w.t.Cleanup(func() {
		if err := c.stop(); err != nil {
			w.t.Errorf("Run: %v", err)
		}
	})
	return c
}

// stop ends the controller as SIGTERM would.
func (c *controller) stop() error {
	c.end()
	<-c.done
	if c.dead.Load() || errors.Is(c.err, context.Canceled) { // before its caches had synced
		return nil
	}
	return c.err
}

var errKilled = errors.New("this process is dead")

// kill ends the controller as SIGKILL would, as far as others can tell: no
// request of it reaches the server any more, and no answer reaches it.
func (c *controller) kill() {
	c.die()
	<-c.done
}

// discard takes events and keeps nothing; a controller that is killed has no
// time to write them.
type discard struct{}

func (discard) Event(runtime.Object, string, string, string) {}

// asController is config with the identity that the manifests give rights to.
func asController(config *rest.Config) *rest.Config {
	as := rest.CopyConfig(config)
	if account.Name != "" {
		as.Impersonate = rest.ImpersonationConfig{
			UserName: "system:serviceaccount:" + account.Namespace + ":" + account.Name,
			Groups:   []string{"system:serviceaccounts", "system:serviceaccounts:" + account.Namespace, "system:authenticated"},
		}
	}
	return as
}

// timeout tells when what must come has not.
func (w *world) timeout() <-chan time.Time { return time.After(patience) }
