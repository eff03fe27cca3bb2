package expectations_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobwright/jobwright/expectations"
)

const modelTTL = 10 * time.Second

// model is the plainest Tracker: it looks at every key in every step.
type model map[int]*modelEntry

type modelEntry struct {
	creations int
	deletions map[types.UID]bool
	age       time.Duration
}

func (m model) raise(key int) *modelEntry {
	if m[key] == nil {
		m[key] = &modelEntry{deletions: map[types.UID]bool{}}
	}
	m[key].age = 0
	return m[key]
}

func (m model) settle() {
	for key, e := range m {
		if e.creations <= 0 && len(e.deletions) == 0 || e.age > modelTTL {
			delete(m, key)
		}
	}
}

func (m model) pending(key int) pending {
	if e := m[key]; e != nil {
		return pending{max(0, e.creations), len(e.deletions)}
	}
	return pending{}
}

// step does to both what the two bytes say and returns it in words.
func step(tr *expectations.Tracker[int], m model, c *clock, op, arg byte) string {
	key, n := int(op>>4)%3, int(arg%8)-2
	first, second := types.UID(rune('a'+arg%5)), types.UID(rune('a'+arg/5%5))
	e := m[key]
	switch op % 8 {
	case 0:
		tr.ExpectCreations(key, n)
		if n > 0 {
			m.raise(key).creations += n
		}
		return fmt.Sprintf("ExpectCreations(%d, %d)", key, n)
	case 1:
		tr.ExpectDeletions(key, first, second)
		e = m.raise(key)
		e.deletions[first], e.deletions[second] = true, true
		return fmt.Sprintf("ExpectDeletions(%d, %s, %s)", key, first, second)
	case 2:
		tr.CreationObserved(key)
		if e != nil {
			e.creations = max(0, e.creations-1)
		}
		return fmt.Sprintf("CreationObserved(%d)", key)
	case 3:
		tr.LowerCreations(key, n)
		if e != nil {
			e.creations = max(0, e.creations-max(0, n))
		}
		return fmt.Sprintf("LowerCreations(%d, %d)", key, n)
	case 4:
		tr.DeletionObserved(key, first)
		if e != nil {
			delete(e.deletions, first)
		}
		return fmt.Sprintf("DeletionObserved(%d, %s)", key, first)
	case 5:
		tr.Forget(key)
		delete(m, key)
		return fmt.Sprintf("Forget(%d)", key)
	case 6:
		by := time.Duration(arg%8) * time.Second
		c.step(by)
		for _, e := range m {
			e.age += by
		}
		return fmt.Sprintf("the clock steps forward by %v", by)
	default:
		by := time.Duration(arg) * time.Second
		c.step(-by)
		return fmt.Sprintf("the clock steps back by %v", by)
	}
}

func FuzzTracker(f *testing.F) {
	f.Add([]byte{0, 3, 2, 0, 1, 7, 4, 2, 4, 1})                               // met one by one
	f.Add([]byte{0, 7, 16, 7, 6, 6, 6, 5, 32, 3, 0, 4})                       // two keys expire, a third does not
	f.Add([]byte{1, 6, 6, 7, 7, 200, 17, 9, 6, 4, 6, 7, 6, 7})                // set back between two keys
	f.Add([]byte{0, 5, 6, 7, 0, 3, 6, 7, 2, 0, 6, 7})                         // restarted TTL
	f.Add([]byte{0, 7, 1, 3, 3, 7, 5, 0, 4, 3, 2, 0})                         // forgotten, then observed
	f.Add([]byte{0, 3, 16, 3, 32, 3, 21, 0, 6, 6, 16, 3, 6, 6})               // forgotten in the middle, then anew
	f.Add([]byte{0, 3, 16, 3, 0, 3, 6, 7, 16, 3, 6, 4, 32, 7, 6, 6, 7, 9, 6}) // moved to the back
	f.Fuzz(func(t *testing.T, ops []byte) {
		c := newClock()
		tr := expectations.New[int](expectations.Config{TTL: modelTTL, Clock: c})
		m := model{}
		for i := 0; i+1 < len(ops); i += 2 {
			did := step(tr, m, c, ops[i], ops[i+1])
			m.settle()
			if ops[i]&8 != 0 && tr.Len() != len(m) { // in half of the steps before asking for keys
				t.Fatalf("step %d, %s: Len = %d, want %d", i/2, did, tr.Len(), len(m))
			}
			for key := range 3 {
				var got pending
				got.Creations, got.Deletions = tr.Pending(key)
				if diff := cmp.Diff(m.pending(key), got); diff != "" {
					t.Fatalf("step %d, %s: Pending(%d) (-model +got):\n%s", i/2, did, key, diff)
				}
				if got, want := tr.Satisfied(key), m[key] == nil; got != want {
					t.Fatalf("step %d, %s: Satisfied(%d) = %t, want %t", i/2, did, key, got, want)
				}
			}
			if tr.Len() != len(m) {
				t.Fatalf("step %d, %s: Len = %d, want %d", i/2, did, tr.Len(), len(m))
			}
		}
	})
}
