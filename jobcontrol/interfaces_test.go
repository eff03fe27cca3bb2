package jobcontrol_test

import (
	"reflect"
	"testing"

	"github.com/jobwright/jobwright/jobcontrol"
)

// TestB85InterfacesAreSmall: what embedders implement is what differs between
// them, and each interface asks for little.
func TestB85InterfacesAreSmall(t *testing.T) {
	for _, small := range []reflect.Type{
		reflect.TypeFor[jobcontrol.PodControl](), reflect.TypeFor[jobcontrol.JobCache](), reflect.TypeFor[jobcontrol.JobClient](),
		reflect.TypeFor[jobcontrol.PodStore](), reflect.TypeFor[jobcontrol.Scheduler](), reflect.TypeFor[jobcontrol.Retrier](),
		reflect.TypeFor[jobcontrol.Source](), reflect.TypeFor[jobcontrol.Clock](), reflect.TypeFor[jobcontrol.EventSink](),
		reflect.TypeFor[jobcontrol.Expiry](),
	} {
		if n := small.NumMethod(); n > 3 {
			t.Errorf("%v has %d methods, want at most 3", small, n)
		}
	}
}
