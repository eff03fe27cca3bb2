package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/kubernetes/scheme"
)

// manifest returns the objects in a file of manifests/.
func manifest(t *testing.T, name string) (objs []runtime.Object) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("manifests", name))
	if err != nil {
		t.Fatal(err)
	}
	for documents := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(text), 4096); ; {
		var raw runtime.RawExtension
		if err := documents.Decode(&raw); errors.Is(err, io.EOF) {
			return objs
		} else if err != nil {
			t.Fatal(err)
		}
		obj, _, err := scheme.Codecs.UniversalDeserializer().Decode(raw.Raw, nil, nil)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		objs = append(objs, obj)
	}
}

// What rbac.yaml grants is what the program asks for at start, verb by verb.
func TestRBACGrantsWhatIsNeeded(t *testing.T) {
	var granted, needed []string
	grant := func(rules []rbacv1.PolicyRule, where string) {
		for _, rule := range rules {
			for _, group := range rule.APIGroups {
				for _, resource := range rule.Resources {
					for _, verb := range rule.Verbs {
						granted = append(granted, strings.Join([]string{where, verb, group, resource}, " "))
					}
				}
			}
		}
	}
	for _, obj := range manifest(t, "rbac.yaml") {
		switch obj := obj.(type) {
		case *rbacv1.ClusterRole:
			grant(obj.Rules, "")
		case *rbacv1.Role:
			grant(obj.Rules, obj.Namespace)
		}
	}
	for _, r := range rights(options{elect: true, election: election{namespace: "jobwright"}}) {
		resource := strings.TrimSuffix(r.resource+"/"+r.subresource, "/")
		for _, verb := range r.verbs {
			needed = append(needed, strings.Join([]string{r.namespace, verb, r.group, resource}, " "))
		}
	}
	slices.Sort(granted)
	slices.Sort(needed)
	if diff := cmp.Diff(needed, granted); diff != "" {
		t.Errorf("rights (-needed +granted):\n%s", diff)
	}
}

func TestDeploymentPassesFlagsThatParse(t *testing.T) {
	pod := manifest(t, "deployment.yaml")[0].(*appsv1.Deployment).Spec.Template.Spec
	var told bytes.Buffer
	o, err := parse(pod.Containers[0].Args, &told)
	if err != nil || !o.elect {
		t.Fatalf("options %+v, %v", o, err)
	}
	ports := map[string]string{}
	for _, p := range pod.Containers[0].Ports {
		ports[p.Name] = fmt.Sprintf(":%d", p.ContainerPort)
	}
	if diff := cmp.Diff(map[string]string{"metrics": o.metricsAddress, "health": o.healthAddress}, ports); diff != "" {
		t.Errorf("ports (-flags +ports):\n%s", diff)
	}
}

func TestSampleJobIsManagedHere(t *testing.T) {
	job := manifest(t, "job.yaml")[0].(*batchv1.Job)
	if job.Spec.ManagedBy == nil || *job.Spec.ManagedBy != defaultName {
		t.Errorf("managedBy %v, want %s", job.Spec.ManagedBy, defaultName)
	}
}
