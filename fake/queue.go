package fake

import (
	"cmp"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/jobwright/jobwright/jobcontrol"
)

var _ jobcontrol.Queue = (*Queue)(nil)

// Queue is a queue of keys that behaves as client-go's typed rate-limiting
// queue does, with every state open to inspection. A key added twice is worked
// once; a key added while it is worked on is queued again at Done; of several
// AddAfter for a key the earliest wins; keys that are due are taken first in,
// first out, and those that come due together in the order of time, then key.
//
// What is due is judged by the clock. With a *Clock, Advance wakes a blocked
// Get. Any other clock is taken to run at the speed of real time, and Get
// wakes by a timer.
//
// It starts no goroutine and is safe for concurrent use.
type Queue struct {
	// BaseDelay is the delay of the first AddRateLimited of a key; it doubles
	// with each further one. 0 means 5 ms. It is not to be changed once the
	// queue is in use.
	BaseDelay time.Duration
	// MaxDelay bounds the delay of AddRateLimited. 0 means 10 minutes. It is
	// not to be changed once the queue is in use.
	MaxDelay time.Duration

	clock jobcontrol.Clock

	mu       sync.Mutex
	due      []string             // to be taken, first in first out
	asked    map[string]time.Time // in due, or in work and wanted again: since when
	working  map[string]bool
	later    map[string]time.Time // not due yet
	requeues map[string]int
	shutDown bool
	changed  chan struct{} // closed and replaced whenever a blocked Get must look again
}

// Item is a key that waits in a Queue.
type Item struct {
	Key string
	// Due is when the key may be taken. For a key that was added without delay
	// it is the time at which it was added.
	Due time.Time
}

// NewQueue returns an empty queue that tells what is due by clock.
func NewQueue(clock jobcontrol.Clock) *Queue {
	return &Queue{
		clock:    clock,
		asked:    map[string]time.Time{},
		working:  map[string]bool{},
		later:    map[string]time.Time{},
		requeues: map[string]int{},
		changed:  make(chan struct{}),
	}
}

// Add makes the key due now. After ShutDown it does nothing.
func (q *Queue) Add(key string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.add(key, 0)
}

// AddAfter makes the key due after d, at once when d is not above 0. A key
// that is to be due earlier already stays so. After ShutDown it does nothing.
func (q *Queue) AddAfter(key string, d time.Duration) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.add(key, d)
}

// AddRateLimited makes the key due after BaseDelay*2^n, at most MaxDelay, where
// n is NumRequeues of the key, and counts one requeue more.
func (q *Queue) AddRateLimited(key string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	n := q.requeues[key]
	q.requeues[key] = n + 1
	q.add(key, q.delay(n))
}

// Forget sets the requeues of the key to none. Where the key waits it stays.
func (q *Queue) Forget(key string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	delete(q.requeues, key)
}

// NumRequeues is how often AddRateLimited was called for the key since it was
// last forgotten.
func (q *Queue) NumRequeues(key string) int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.requeues[key]
}

// Requeued records that the key was requeued n times, as if AddRateLimited had
// been called that often, and adds nothing. A test starts from a key that has
// failed before with it.
func (q *Queue) Requeued(key string, n int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.requeues[key] = n
}

// Get blocks until a key is due and takes it, or returns shutdown once the
// queue is shut down and nothing that was due is left. Each key taken must be
// given back with Done.
func (q *Queue) Get() (key string, shutdown bool) {
	for {
		// Taken before the queue looks at the clock, so that no Advance is missed.
		moved := q.moved()
		q.mu.Lock()
		key, ok := q.take()
		shutDown, changed, timeout := q.shutDown, q.changed, q.timeout()
		q.mu.Unlock()
		if ok || shutDown {
			return key, !ok
		}
		select {
		case <-changed:
		case <-moved:
		case <-timeout:
		}
	}
}

// Take is Get that does not block: ok is false when no key is due now.
func (q *Queue) Take() (key string, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.take()
}

// Done says that the work on a key that was taken has ended. A key that was
// added meanwhile is due again.
func (q *Queue) Done(key string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.working[key] {
		return
	}
	// What came due before goes first.
	q.promote()
	delete(q.working, key)
	if _, again := q.asked[key]; again {
		q.due = append(q.due, key)
	}
	q.wake()
}

// ShutDown drops what is not due yet, ignores what is added from now on, and
// makes Get return shutdown once what is due has been taken.
func (q *Queue) ShutDown() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.promote()
	clear(q.later)
	q.shutDown = true
	q.wake()
}

// Len is the number of Items.
func (q *Queue) Len() int {
	return len(q.Items())
}

// Items are the keys asked for and not taken yet, due or not, by due time, then
// key. A key in work is among them only if it was added again meanwhile.
func (q *Queue) Items() []Item {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.promote()
	items := make([]Item, 0, len(q.asked)+len(q.later))
	for key, due := range q.asked {
		items = append(items, Item{Key: key, Due: due})
	}
	for key, due := range q.later {
		items = append(items, Item{Key: key, Due: due})
	}
	slices.SortFunc(items, compareItems)
	return items
}

func compareItems(a, b Item) int {
	return cmp.Or(a.Due.Compare(b.Due), cmp.Compare(a.Key, b.Key))
}

// add makes key due after d.
func (q *Queue) add(key string, d time.Duration) {
	if q.shutDown {
		return
	}
	// What came due before goes first, and is no longer waiting.
	q.promote()
	due := q.clock.Now().Add(d)
	if waits, ok := q.later[key]; d > 0 && (!ok || due.Before(waits)) {
		q.later[key] = due
	}
	if d <= 0 {
		q.ask(key, q.clock.Now())
	}
	q.wake()
}

// ask queues a key that is due, unless it is queued or in work.
func (q *Queue) ask(key string, due time.Time) {
	if _, ok := q.asked[key]; ok {
		return
	}
	q.asked[key] = due
	if !q.working[key] {
		q.due = append(q.due, key)
	}
}

// promote moves the keys whose time has come from later to due.
func (q *Queue) promote() {
	now := q.clock.Now()
	var ripe []Item
	for key, due := range q.later {
		if !due.After(now) {
			ripe = append(ripe, Item{Key: key, Due: due})
		}
	}
	slices.SortFunc(ripe, compareItems)
	for _, item := range ripe {
		delete(q.later, item.Key)
		q.ask(item.Key, item.Due)
	}
}

// take takes the first key that is due.
func (q *Queue) take() (key string, ok bool) {
	q.promote()
	if len(q.due) == 0 {
		return "", false
	}
	key = q.due[0]
	q.due = q.due[1:]
	delete(q.asked, key)
	q.working[key] = true
	return key, true
}

// delay is the delay after n requeues.
func (q *Queue) delay(n int) time.Duration {
	base, limit := cmp.Or(q.BaseDelay, 5*time.Millisecond), cmp.Or(q.MaxDelay, 10*time.Minute)
	for ; n > 0 && base < limit; n-- {
		base *= 2
	}
	return min(base, limit)
}

// wake lets every blocked Get look again.
func (q *Queue) wake() {
	close(q.changed)
	q.changed = make(chan struct{})
}

// timeout fires when the next key comes due by a clock that runs by itself.
func (q *Queue) timeout() <-chan time.Time {
	if _, told := q.clock.(*Clock); told || len(q.later) == 0 {
		return nil
	}
	next := slices.MinFunc(slices.Collect(maps.Values(q.later)), time.Time.Compare)
	return time.After(next.Sub(q.clock.Now()))
}

// moved is closed when a clock that moves only when told has moved.
func (q *Queue) moved() <-chan struct{} {
	if clock, told := q.clock.(*Clock); told {
		return clock.Moved()
	}
	return nil
}
