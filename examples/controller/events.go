package main

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/record"
)

// flushTimeout bounds how long the end of the program waits for events.
const flushTimeout = 5 * time.Second

// lastEvent is the reason of an event that is never written. Events are written
// in the order of recording, so where it arrives, all others have been.
const lastEvent = "LastEvent"

// eventWriter writes events to the API in the background.
type eventWriter struct {
	recorder    record.EventRecorder
	broadcaster record.EventBroadcaster
	written     <-chan struct{}
	endCalls    context.CancelFunc
}

// newEventWriter starts an eventWriter. Call flush when nothing records events
// any more.
func newEventWriter(client kubernetes.Interface) *eventWriter {
	ctx, cancel := context.WithCancel(context.Background())
	written := make(chan struct{})
	broadcaster := record.NewBroadcaster()
	broadcaster.StartRecordingToSink(&sink{ctx: ctx, events: client.CoreV1().Events(""), written: written})
	return &eventWriter{
		recorder:    broadcaster.NewRecorder(scheme.Scheme, corev1.EventSource{Component: component}),
		broadcaster: broadcaster,
		written:     written,
		endCalls:    cancel,
	}
}

// flush waits until what has been recorded is written, for flushTimeout at
// most: the Shutdown of a broadcaster drops what waits.
func (w *eventWriter) flush() {
	w.recorder.Event(&corev1.ObjectReference{}, corev1.EventTypeNormal, lastEvent, "")
	timer := time.NewTimer(flushTimeout)
	defer timer.Stop()
	select {
	case <-w.written:
	case <-timer.C:
	}
	w.endCalls()
	w.broadcaster.Shutdown()
}

// sink is a record.EventSink, an interface without contexts: hence the one here.
type sink struct {
	ctx     context.Context
	events  corev1client.EventInterface
	written chan<- struct{}
}

func (s *sink) Create(event *corev1.Event) (*corev1.Event, error) {
	if event.Reason == lastEvent {
		close(s.written)
		return event, nil
	}
	return s.events.CreateWithEventNamespaceWithContext(s.ctx, event)
}

func (s *sink) Update(event *corev1.Event) (*corev1.Event, error) {
	return s.events.UpdateWithEventNamespaceWithContext(s.ctx, event)
}

func (s *sink) Patch(event *corev1.Event, patch []byte) (*corev1.Event, error) {
	return s.events.PatchWithEventNamespaceWithContext(s.ctx, event, patch)
}
