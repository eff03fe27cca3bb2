package kube

import (
	"context"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/record"

	"github.com/jobwright/jobwright/jobcontrol"
)

// drainTimeout bounds how long Stop waits for the events recorded so far to be
// written.
const drainTimeout = 5 * time.Second

// lastEvent is the reason of an event that is never written: it is recorded
// behind all others, and where it arrives they have been written.
const lastEvent = "LastEvent"

// EventWriter is a jobcontrol.EventSink that writes events to the API in the
// background, similar ones together. Safe for concurrent use.
type EventWriter struct {
	recorder    record.EventRecorder
	broadcaster record.EventBroadcaster
	drained     <-chan struct{}
	endCalls    context.CancelFunc
	stopped     sync.Once
}

var _ jobcontrol.EventSink = (*EventWriter)(nil)

// StartEvents returns an EventWriter whose events name component as their
// source. Stop it once nothing sends events any more.
func StartEvents(client kubernetes.Interface, component string) *EventWriter {
	ctx, cancel := context.WithCancel(context.Background())
	drained := make(chan struct{})
	broadcaster := record.NewBroadcaster()
	broadcaster.StartRecordingToSink(&eventSink{ctx: ctx, events: client.CoreV1().Events(""), drained: drained})
	return &EventWriter{
		recorder:    broadcaster.NewRecorder(scheme.Scheme, corev1.EventSource{Component: component}),
		broadcaster: broadcaster,
		drained:     drained,
		endCalls:    cancel,
	}
}

// Event records an event about obj, and does not block.
func (w *EventWriter) Event(obj runtime.Object, eventType, reason, message string) {
	w.recorder.Event(obj, eventType, reason, message)
}

// Stop returns when what has been recorded is written, after 5 s at most, and
// gives up on the rest. A broadcaster that is only shut down drops what waits in
// its buffers: the events about how the last Jobs ended. Once is enough.
func (w *EventWriter) Stop() { w.stopped.Do(w.stop) }

func (w *EventWriter) stop() {
	w.recorder.Event(&corev1.ObjectReference{}, corev1.EventTypeNormal, lastEvent, "")
	timeout := time.NewTimer(drainTimeout)
	defer timeout.Stop()
	select {
	case <-w.drained:
	case <-timeout.C:
	}
	w.endCalls()
	w.broadcaster.Shutdown()
}

// eventSink is a record.EventSink whose calls can be cut short. That interface
// has no context, so this is the one place that stores one.
type eventSink struct {
	ctx     context.Context
	events  corev1client.EventInterface
	drained chan<- struct{}
}

// Create is called from one goroutine, in the order of recording.
func (s *eventSink) Create(event *corev1.Event) (*corev1.Event, error) {
	if event.Reason == lastEvent && event.InvolvedObject == (corev1.ObjectReference{}) {
		close(s.drained)
		return event, nil
	}
	return s.events.CreateWithEventNamespaceWithContext(s.ctx, event)
}

func (s *eventSink) Update(event *corev1.Event) (*corev1.Event, error) {
	return s.events.UpdateWithEventNamespaceWithContext(s.ctx, event)
}

func (s *eventSink) Patch(event *corev1.Event, patch []byte) (*corev1.Event, error) {
	return s.events.PatchWithEventNamespaceWithContext(s.ctx, event, patch)
}
