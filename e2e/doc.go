// Package e2e runs Jobwright on a real kube-apiserver with etcd, as its users do:
//
//	go test ./...
//
// builds and starts the control plane of ./cluster on loopback, with its data in
// a temporary folder, and stops it at the end, whatever happens. The first build
// takes minutes. With E2E_KUBECONFIG set to the path of a kubeconfig, the tests
// run on that cluster instead, with its Job controller beside ours; they need the
// rights of an administrator, and leave namespaces e2e-* and a node that is none.
//
// What is real: the API server, its admission, the garbage collector, quota and
// namespace controllers, the Job controller of Kubernetes for the Jobs that are
// its own, and the examples, which run as processes. What stands in: the kubelet,
// which moves pods through their phases as a test says. Controllers in the tests
// have the rights of the manifests of examples/controller and no more.
//
// Every request of a controller passes through requests, which fails the test
// on one that is not of the few forms that a Job controller needs, and on an
// answer 422, but to the patch of a pod: a status of ours that the API server
// refuses is a bug.
//
//	go test -run XXX -bench . -timeout 3h
//
// runs the same Jobs under our controller and under that of Kubernetes, and
// prints what each took and wrote; docs/BENCHMARKS.md keeps what came of it.
package e2e
