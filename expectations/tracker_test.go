package expectations_test

import (
	"math"
	"runtime"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobwright/jobwright/expectations"
)

// clock is a Clock that moves when told to.
type clock struct{ now time.Time }

func newClock() *clock { return &clock{now: time.Date(2026, time.March, 1, 9, 0, 0, 0, time.UTC)} }

func (c *clock) Now() time.Time        { return c.now }
func (c *clock) step(by time.Duration) { c.now = c.now.Add(by) }

// pending is what Pending returns, as one value.
type pending struct{ Creations, Deletions int }

func checkPending[K comparable](t *testing.T, tracker *expectations.Tracker[K], key K, want pending) {
	t.Helper()
	var got pending
	got.Creations, got.Deletions = tracker.Pending(key)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Pending(%v) (-want +got):\n%s", key, diff)
	}
	if satisfied := tracker.Satisfied(key); satisfied != (want == pending{}) {
		t.Errorf("Satisfied(%v) = %t with %+v outstanding", key, satisfied, want)
	}
}

func checkLen[K comparable](t *testing.T, tracker *expectations.Tracker[K], want int) {
	t.Helper()
	if got := tracker.Len(); got != want {
		t.Errorf("Len = %d, want %d", got, want)
	}
}

func TestCounts(t *testing.T) {
	type tracker = expectations.Tracker[string]
	tests := []struct {
		name string
		do   func(*tracker)
		want pending
	}{
		{"nothing expected", func(*tracker) {}, pending{}},
		{"expecting no creation is expecting nothing", func(tr *tracker) { tr.ExpectCreations("k", 0) }, pending{}},
		{"a negative number is none", func(tr *tracker) { tr.ExpectCreations("k", -1) }, pending{}},
		{"expecting no deletion is expecting nothing", func(tr *tracker) { tr.ExpectDeletions("k") }, pending{}},
		{"creations add up", func(tr *tracker) {
			tr.ExpectCreations("k", 2)
			tr.ExpectCreations("k", 3)
		}, pending{5, 0}},
		{"creations do not overflow", func(tr *tracker) {
			tr.ExpectCreations("k", math.MaxInt)
			tr.ExpectCreations("k", 1)
		}, pending{math.MaxInt, 0}},
		{"deletions add up", func(tr *tracker) {
			tr.ExpectDeletions("k", "a", "b")
			tr.ExpectDeletions("k", "b", "c")
		}, pending{0, 3}},
		{"creations are observed one by one", func(tr *tracker) {
			tr.ExpectCreations("k", 3)
			tr.CreationObserved("k")
		}, pending{2, 0}},
		{"creations are lowered", func(tr *tracker) {
			tr.ExpectCreations("k", 3)
			tr.LowerCreations("k", 2)
		}, pending{1, 0}},
		{"creations are not lowered below zero", func(tr *tracker) {
			tr.ExpectCreations("k", 3)
			tr.ExpectDeletions("k", "a")
			tr.LowerCreations("k", 4)
			tr.ExpectCreations("k", 1)
		}, pending{1, 1}},
		{"lowering by a negative number changes nothing", func(tr *tracker) {
			tr.ExpectCreations("k", 3)
			tr.LowerCreations("k", -1)
		}, pending{3, 0}},
		{"creations met, deletions outstanding", func(tr *tracker) {
			tr.ExpectCreations("k", 1)
			tr.ExpectDeletions("k", "a")
			tr.CreationObserved("k")
		}, pending{0, 1}},
		{"deletions met, creations outstanding", func(tr *tracker) {
			tr.ExpectCreations("k", 1)
			tr.ExpectDeletions("k", "a")
			tr.DeletionObserved("k", "a")
		}, pending{1, 0}},
		{"what belongs to another key does not count", func(tr *tracker) {
			tr.ExpectCreations("k", 1)
			tr.ExpectDeletions("k", "a")
			tr.ExpectCreations("other", 1)
			tr.CreationObserved("other")
			tr.DeletionObserved("other", "a")
			tr.Forget("other")
		}, pending{1, 1}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			tr := expectations.New[string](expectations.Config{})
			test.do(tr)
			checkPending(t, tr, "k", test.want)
			checkLen(t, tr, min(1, test.want.Creations+test.want.Deletions))
		})
	}
}

func TestTTL(t *testing.T) {
	tests := []struct {
		name      string
		ttl, want time.Duration
	}{
		{"5 minutes by default", 0, 5 * time.Minute},
		{"5 minutes instead of less than nothing", -time.Second, 5 * time.Minute},
		{"as configured", 10 * time.Second, 10 * time.Second},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			c := newClock()
			tr := expectations.New[string](expectations.Config{TTL: test.ttl, Clock: c})
			tr.ExpectCreations("k", 1)
			c.step(test.want)
			checkPending(t, tr, "k", pending{1, 0})
			c.step(1)
			checkPending(t, tr, "k", pending{})
			checkLen(t, tr, 0)
		})
	}
}

func TestExpectingMoreStartsTheTTLAnew(t *testing.T) {
	for name, more := range map[string]func(*expectations.Tracker[string]){
		"creations": func(tr *expectations.Tracker[string]) { tr.ExpectCreations("k", 1) },
		"deletions": func(tr *expectations.Tracker[string]) { tr.ExpectDeletions("k", "a") },
	} {
		t.Run(name, func(t *testing.T) {
			c := newClock()
			tr := expectations.New[string](expectations.Config{TTL: time.Minute, Clock: c})
			more(tr)
			tr.ExpectCreations("younger", 1)
			c.step(time.Minute)
			more(tr)
			c.step(time.Second)
			if tr.Satisfied("k") {
				t.Error("satisfied one TTL after the first expectation, want one after the latest")
			}
			if !tr.Satisfied("younger") {
				t.Error("another key is not satisfied after its TTL")
			}
			c.step(time.Minute)
			checkPending(t, tr, "k", pending{})
		})
	}
}

func TestNothingExpectedDoesNotStartTheTTLAnew(t *testing.T) {
	c := newClock()
	tr := expectations.New[string](expectations.Config{TTL: time.Minute, Clock: c})
	tr.ExpectCreations("k", 1)
	c.step(time.Minute)
	tr.ExpectCreations("k", 0)
	tr.ExpectDeletions("k")
	c.step(1)
	checkPending(t, tr, "k", pending{})
}

// What expired is not added to: it was taken for lost.
func TestExpectingAfterTheTTLStartsFromZero(t *testing.T) {
	c := newClock()
	tr := expectations.New[string](expectations.Config{TTL: time.Minute, Clock: c})
	tr.ExpectCreations("k", 5)
	tr.ExpectDeletions("k", "a")
	c.step(time.Hour)
	tr.ExpectCreations("k", 1)
	checkPending(t, tr, "k", pending{1, 0})
}

func TestClockStepsBack(t *testing.T) {
	c := newClock()
	tr := expectations.New[string](expectations.Config{TTL: time.Minute, Clock: c})
	tr.ExpectCreations("before", 1)
	c.step(-24 * time.Hour)
	tr.ExpectCreations("after", 1)
	c.step(time.Minute)
	checkLen(t, tr, 2)
	c.step(1)
	checkPending(t, tr, "before", pending{})
	checkPending(t, tr, "after", pending{})
	checkLen(t, tr, 0)
}

func TestNoClockIsTheSystemClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tr := expectations.New[string](expectations.Config{})
		tr.ExpectCreations("k", 1)
		time.Sleep(5 * time.Minute) // of the bubble's clock
		checkPending(t, tr, "k", pending{1, 0})
		time.Sleep(time.Nanosecond)
		checkPending(t, tr, "k", pending{})
	})
}

func TestForget(t *testing.T) {
	tr := expectations.New[string](expectations.Config{})
	for _, key := range []string{"a", "b", "c"} {
		tr.ExpectCreations(key, 2)
		tr.ExpectDeletions(key, "x")
	}
	tr.Forget("b")
	tr.Forget("unknown")
	checkPending(t, tr, "a", pending{2, 1})
	checkPending(t, tr, "b", pending{})
	checkPending(t, tr, "c", pending{2, 1})
	tr.CreationObserved("b")
	tr.DeletionObserved("b", "x")
	checkLen(t, tr, 2)
}

// The key is a pointer here so that the collector tells whether the Tracker
// still holds it.
func TestNothingStaysBehind(t *testing.T) {
	type owner struct{ _ [64]byte }
	for name, end := range map[string]func(*expectations.Tracker[*owner], *clock, *owner){
		"met": func(tr *expectations.Tracker[*owner], _ *clock, key *owner) {
			tr.CreationObserved(key)
			tr.DeletionObserved(key, "a")
		},
		"forgotten": func(tr *expectations.Tracker[*owner], _ *clock, key *owner) { tr.Forget(key) },
		"expired, only another key is used": func(tr *expectations.Tracker[*owner], c *clock, _ *owner) {
			c.step(time.Hour)
			tr.ExpectCreations(new(owner), 1)
		},
		"expired, only counted": func(tr *expectations.Tracker[*owner], c *clock, _ *owner) {
			c.step(time.Hour)
			tr.Len()
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := newClock()
			tr := expectations.New[*owner](expectations.Config{Clock: c})
			held := make([]weak.Pointer[owner], 3)
			for i := range held {
				key := new(owner)
				held[i] = weak.Make(key)
				tr.ExpectCreations(key, 1)
				tr.ExpectDeletions(key, "a")
			}
			runtime.GC()
			for i := range held {
				key := held[i].Value()
				if key == nil {
					t.Fatal("the key is not held while something is outstanding")
				}
				end(tr, c, key)
			}
			runtime.GC()
			for i := range held {
				if held[i].Value() != nil {
					t.Errorf("key %d is still held", i)
				}
			}
			runtime.KeepAlive(tr)
		})
	}
}

func uids(names ...string) []types.UID {
	uids := make([]types.UID, len(names))
	for i, name := range names {
		uids[i] = types.UID(name)
	}
	return uids
}
