package expectations

import (
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// aging turns a clock into one that stands still where the clock steps back.
// So the list of entries stays ordered by age, and an entry raised before the
// clock was set back still expires one TTL later.
type aging struct {
	last   time.Time
	behind time.Duration // the sum of the steps back
}

func (a *aging) read(clock Clock) time.Time {
	now := clock.Now()
	a.behind += max(0, a.last.Sub(now))
	a.last = now
	return now.Add(a.behind)
}

// entry is what is outstanding for a key. It exists only while that is
// something.
type entry[K comparable] struct {
	key       K
	creations int
	deletions map[types.UID]struct{}

	raised     time.Time
	prev, next *entry[K]
}

// list holds the entries, the one raised the longest ago in front. It is
// threaded through them so that an entry costs a single allocation.
type list[K comparable] struct {
	front, back *entry[K]
}

func (l *list[K]) pushBack(e *entry[K]) {
	e.prev, e.next = l.back, nil
	if l.back != nil {
		l.back.next = e
	} else {
		l.front = e
	}
	l.back = e
}

func (l *list[K]) remove(e *entry[K]) {
	if e.prev != nil {
		e.prev.next = e.next
	} else {
		l.front = e.next
	}
	if e.next != nil {
		e.next.prev = e.prev
	} else {
		l.back = e.prev
	}
}

type systemClock struct{}

func (systemClock) Now() time.Time { return time.Now() }
