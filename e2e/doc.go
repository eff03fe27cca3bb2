// Package e2e runs Jobwright against a real kube-apiserver and etcd.
package e2e
