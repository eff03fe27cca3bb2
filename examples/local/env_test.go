package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestExpand(t *testing.T) {
	vars := map[string]string{"A": "1", "B": "$(A)", "EMPTY": ""}
	for _, tt := range []struct{ name, in, want string }{
		{"plain", "plain", "plain"},
		{"reference", "x$(A)y$(A)", "x1y1"},
		{"value is not expanded again", "$(B)", "$(A)"},
		{"empty value", "[$(EMPTY)]", "[]"},
		{"unknown stays", "$(NO)", "$(NO)"},
		{"empty name stays", "$()", "$()"},
		{"escaped", "$$(A)", "$(A)"},
		{"escaped, then reference", "$$$(A)", "$1"},
		{"two escapes", "$$$$", "$$"},
		{"shell variable stays", "$A ${A}", "$A ${A}"},
		{"never closed", "$(A", "$(A"},
		{"at the end", "a$", "a$"},
		{"empty", "", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := expand(tt.in, vars); got != tt.want {
				t.Errorf("expand(%q) = %q, want %q", tt.in, got, tt.want)
			}
		})
	}
}

func FuzzExpand(f *testing.F) {
	for _, s := range []string{"", "$", "$$", "$(A)", "$$(A)", "$(A", "a$b$(", "$($(A))", "\x00$(é)"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		escaped := strings.ReplaceAll(s, "$", "$$")
		if got := expand(escaped, map[string]string{"A": "1"}); got != s {
			t.Errorf("expand(%q) = %q, want %q: an escaped text comes out as it was", escaped, got, s)
		}
		if strings.Contains(s, "$$") {
			return
		}
		if got := expand(s, nil); got != s {
			t.Errorf("expand(%q) = %q without variables", s, got)
		}
	})
}

func TestVariables(t *testing.T) {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Name: "p-1", Namespace: "ns", UID: "u-1",
		Labels:      map[string]string{"app": "x", "example.com/a": "y"},
		Annotations: map[string]string{"note": "z"},
	}}
	field := func(name, path string) corev1.EnvVar {
		return corev1.EnvVar{Name: name, ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: path}}}
	}
	c := &corev1.Container{
		VolumeMounts: []corev1.VolumeMount{{Name: "my-data"}},
		Env: []corev1.EnvVar{
			field("NAME", "metadata.name"),
			field("NAMESPACE", "metadata.namespace"),
			field("UID", "metadata.uid"),
			field("LABEL", "metadata.labels['app']"),
			field("LONG_LABEL", "metadata.labels['example.com/a']"),
			field("NO_LABEL", "metadata.labels['none']"),
			field("NOTE", "metadata.annotations['note']"),
			{Name: "EARLIER", Value: "$(NAME) in $(VOLUME_MY_DATA)"},
			{Name: "LATER", Value: "$(LAST)"},
			{Name: "LAST", Value: "1"},
			{Name: "LAST", Value: "$(LAST)2"},
		},
	}
	want := map[string]string{
		"NAME": "p-1", "NAMESPACE": "ns", "UID": "u-1",
		"LABEL": "x", "LONG_LABEL": "y", "NO_LABEL": "", "NOTE": "z",
		"VOLUME_MY_DATA": "/v/my-data",
		"EARLIER":        "p-1 in /v/my-data", "LATER": "$(LAST)", "LAST": "12",
	}
	got := variables(pod, c, func(volume string) string { return "/v/" + volume })
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("variables (-want +got):\n%s", diff)
	}
}

func TestEnviron(t *testing.T) {
	t.Setenv("PATH", "/bin")
	t.Setenv("HOME", "/home/me")
	t.Setenv("TMPDIR", "/tmp/me")
	t.Setenv("SECRET_OF_THE_SHELL", "1")
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p-1"}}
	want := []string{"A=1", "HOME=/srv", "HOSTNAME=p-1", "PATH=/bin", "TMPDIR=/tmp/me"}
	if diff := cmp.Diff(want, environ(pod, map[string]string{"A": "1", "HOME": "/srv"})); diff != "" {
		t.Errorf("environ (-want +got):\n%s", diff)
	}
	pod.Spec.Hostname = "p-of-index-1"
	want[2] = "HOSTNAME=p-of-index-1"
	if diff := cmp.Diff(want, environ(pod, map[string]string{"A": "1", "HOME": "/srv"})); diff != "" {
		t.Errorf("environ of a pod with a hostname (-want +got):\n%s", diff)
	}
}
