package kube

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/record"
)

// drainTimeout bounds how long Run waits, once it is to end, for the events
// recorded so far to be written.
const drainTimeout = 5 * time.Second

// lastEvent is the reason of an event that is never written: it is recorded
// behind all others, and where it arrives they have been written.
const lastEvent = "LastEvent"

// eventLog writes events to the API in the background.
type eventLog struct {
	recorder    record.EventRecorder
	broadcaster record.EventBroadcaster
	drained     <-chan struct{}
	endCalls    context.CancelFunc
}

// startEvents returns an eventLog that is to be stopped once nothing records
// events any more.
func startEvents(client kubernetes.Interface, component string) *eventLog {
	ctx, cancel := context.WithCancel(context.Background())
	drained := make(chan struct{})
	broadcaster := record.NewBroadcaster()
	broadcaster.StartRecordingToSink(&eventSink{ctx: ctx, events: client.CoreV1().Events(""), drained: drained})
	return &eventLog{
		recorder:    broadcaster.NewRecorder(scheme.Scheme, corev1.EventSource{Component: component}),
		broadcaster: broadcaster,
		drained:     drained,
		endCalls:    cancel,
	}
}

// stop writes what has been recorded, within drainTimeout, and gives up on the
// rest. A broadcaster that is only shut down drops what waits in its buffers:
// the events about how the last Jobs ended.
func (l *eventLog) stop() {
	l.recorder.Event(&corev1.ObjectReference{}, corev1.EventTypeNormal, lastEvent, "")
	timeout := time.NewTimer(drainTimeout)
	defer timeout.Stop()
	select {
	case <-l.drained:
	case <-timeout.C:
	}
	l.endCalls()
	l.broadcaster.Shutdown()
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
	if event.Reason == lastEvent {
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
