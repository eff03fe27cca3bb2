package e2e

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/restmapper"
)

// account is whom the manifests of examples/controller give rights to.
var account rbacv1.Subject

const controllerManifests = "../examples/controller/manifests/*.yaml"

// prepare gives the cluster what the tests need: a node, and the rights of the
// manifests of examples/controller.
func prepare(ctx context.Context) error {
	client, err := kubernetes.NewForConfig(admin)
	if err != nil {
		return err
	}
	node := &corev1.Node{ObjectMeta: v1.ObjectMeta{Name: nodeName}, Spec: corev1.NodeSpec{Unschedulable: true}}
	if _, err := client.CoreV1().Nodes().Create(ctx, node, v1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
		return err
	}
	return apply(ctx, controllerManifests, func(obj *unstructured.Unstructured) bool {
		switch obj.GetKind() {
		case "ClusterRoleBinding":
			subjects, _, _ := unstructured.NestedSlice(obj.Object, "subjects")
			subject, _ := subjects[0].(map[string]any)
			account.Name, _ = subject["name"].(string)
			account.Namespace, _ = subject["namespace"].(string)
			return true
		case "Namespace", "ServiceAccount", "ClusterRole", "Role", "RoleBinding":
			return true
		}
		return false
	})
}

// apply applies those of the objects in the files that want wants, as
// kubectl apply --server-side does.
func apply(ctx context.Context, pattern string, want func(*unstructured.Unstructured) bool) error {
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		return fmt.Errorf("no files %s: %w", pattern, err)
	}
	client, err := dynamic.NewForConfig(admin)
	if err != nil {
		return err
	}
	found, err := discovery.NewDiscoveryClientForConfig(admin)
	if err != nil {
		return err
	}
	mapper := restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(found))
	for _, file := range files {
		objs, err := readObjects(file)
		if err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		for _, obj := range objs {
			if !want(obj) {
				continue
			}
			mapping, err := mapper.RESTMapping(obj.GroupVersionKind().GroupKind(), obj.GroupVersionKind().Version)
			if err != nil {
				return err
			}
			if err := applyObject(ctx, client, mapping.Resource, obj); err != nil {
				return fmt.Errorf("%s: %s %s: %w", file, obj.GetKind(), obj.GetName(), err)
			}
		}
	}
	return nil
}

func applyObject(ctx context.Context, client dynamic.Interface, resource schema.GroupVersionResource, obj *unstructured.Unstructured) error {
	body, err := obj.MarshalJSON()
	if err != nil {
		return err
	}
	_, err = client.Resource(resource).Namespace(obj.GetNamespace()).Patch(ctx, obj.GetName(), types.ApplyPatchType, body,
		v1.PatchOptions{FieldManager: "jobwright-e2e", Force: new(true)})
	return err
}

func readObjects(file string) (objs []*unstructured.Unstructured, err error) {
	content, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(content), 4096)
	for {
		obj := &unstructured.Unstructured{}
		err := decoder.Decode(&obj.Object)
		if errors.Is(err, io.EOF) {
			return objs, nil
		}
		if err != nil {
			return nil, err
		}
		if len(obj.Object) > 0 {
			objs = append(objs, obj)
		}
	}
}
