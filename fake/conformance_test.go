package fake_test

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/jobwright/jobwright/fake"
)

func TestConformance(t *testing.T) {
	t.Run("Cluster", func(t *testing.T) {
		fake.TestPodControl(t, func(*testing.T) fake.Subject {
			cluster, _ := newCluster()
			return fake.Subject{Control: cluster, Pod: cluster.FetchPod}
		})
	})
	t.Run("PodControl", func(t *testing.T) {
		fake.TestPodControl(t, func(*testing.T) fake.Subject {
			control := &fake.PodControl{}
			return fake.Subject{Control: control, Pod: func(_ context.Context, namespace, name string) (*corev1.Pod, error) {
				for _, pod := range control.Pods(namespace) {
					if pod.Name == name {
						return pod, nil
					}
				}
				return nil, apierrors.NewNotFound(corev1.Resource("pods"), name)
			}}
		})
	})
	t.Run("PodControl before a Cluster", func(t *testing.T) {
		fake.TestPodControl(t, func(*testing.T) fake.Subject {
			cluster, _ := newCluster()
			return fake.Subject{Control: &fake.PodControl{Next: cluster}, Pod: cluster.FetchPod}
		})
	})
}
