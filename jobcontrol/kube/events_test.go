package kube_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/jobwright/jobwright/jobcontrol/kube"
)

func TestEventWriterWritesEverythingBeforeItStops(t *testing.T) {
	s := newServer(t)
	w := kube.StartEvents(s, "example")
	job := &corev1.ObjectReference{Kind: "Job", Namespace: "ns", Name: "j", UID: "uid-j"}
	w.Event(job, corev1.EventTypeNormal, "LastEvent", "a word that is used inside")
	w.Event(job, corev1.EventTypeWarning, "Other", "after it")
	w.Stop()
	w.Stop()
	want := []string{"Normal LastEvent example a word that is used inside", "Warning Other example after it"}
	if diff := cmp.Diff(want, s.events(t, "j")); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}
