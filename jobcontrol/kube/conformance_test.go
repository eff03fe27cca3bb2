package kube_test

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobwright/jobwright/fake"
	"github.com/jobwright/jobwright/jobcontrol/kube"
)

func TestPodControlConforms(t *testing.T) {
	fake.TestPodControl(t, func(t *testing.T) fake.Subject {
		s := newServer(t)
		return fake.Subject{
			Control: kube.NewPodControl(s, nil),
			Pod: func(ctx context.Context, namespace, name string) (*corev1.Pod, error) {
				return s.CoreV1().Pods(namespace).Get(ctx, name, metav1.GetOptions{})
			},
		}
	})
}
