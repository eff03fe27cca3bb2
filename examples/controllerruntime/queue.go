package main

import (
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// requestQueue is a queue of controller-runtime.
type requestQueue = workqueue.TypedRateLimitingInterface[reconcile.Request]

// queue is the jobcontrol.Queue before it: what is a key there is a request here.
// Get, Done and ShutDown are controller-runtime's to call, on its own queue; here
// they are for jobcontrol's Run, which this program leaves alone.
type queue struct{ requests requestQueue }

func (q queue) Add(key string)                       { q.requests.Add(requestOf(key)) }
func (q queue) AddAfter(key string, d time.Duration) { q.requests.AddAfter(requestOf(key), d) }
func (q queue) AddRateLimited(key string)            { q.requests.AddRateLimited(requestOf(key)) }
func (q queue) Forget(key string)                    { q.requests.Forget(requestOf(key)) }
func (q queue) NumRequeues(key string) int           { return q.requests.NumRequeues(requestOf(key)) }
func (q queue) Done(key string)                      { q.requests.Done(requestOf(key)) }
func (q queue) ShutDown()                            { q.requests.ShutDown() }

func (q queue) Get() (key string, shutdown bool) {
	request, shutdown := q.requests.Get()
	return request.String(), shutdown
}

// requestOf is the request for a key, "namespace/name"; its String is the key.
func requestOf(key string) reconcile.Request {
	namespace, name, _ := strings.Cut(key, "/")
	return reconcile.Request{NamespacedName: types.NamespacedName{Namespace: namespace, Name: name}}
}
