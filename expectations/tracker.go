package expectations

import (
	"math"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// Clock tells the time. A Tracker calls it with its lock held, so Now must not
// call the Tracker back.
type Clock interface {
	Now() time.Time
}

// Config is what can be chosen about a Tracker. The zero value is ready to use.
type Config struct {
	// TTL is how long a key is waited for after its latest expectation: events
	// that have not come by then are taken for lost. Zero or negative: 5 minutes.
	TTL time.Duration

	// Clock measures the TTL. Nil: the system's clock.
	Clock Clock
}

// Tracker keeps what is expected and not yet observed, by key. Create one with
// [New]; it must not be copied.
type Tracker[K comparable] struct {
	ttl   time.Duration
	clock Clock

	mu      sync.Mutex
	entries map[K]*entry[K]
	ages    list[K]
	aging   aging
}

// New returns a Tracker that expects nothing.
func New[K comparable](cfg Config) *Tracker[K] {
	if cfg.TTL <= 0 {
		cfg.TTL = 5 * time.Minute
	}
	if cfg.Clock == nil {
		cfg.Clock = systemClock{}
	}
	return &Tracker[K]{ttl: cfg.TTL, clock: cfg.Clock, entries: make(map[K]*entry[K])}
}

// ExpectCreations adds n creations to what is expected for the key, and starts
// its TTL anew. Call it before the creations are asked for: their events may
// arrive before the calls return. An n of zero or less changes nothing.
func (t *Tracker[K]) ExpectCreations(key K, n int) {
	if n <= 0 {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	e := t.raise(key)
	e.creations += min(n, math.MaxInt-e.creations)
}

// ExpectDeletions adds the deletions of the objects with these UIDs to what is
// expected for the key, and starts its TTL anew. A UID that is expected already
// is expected once. Call it before the deletions are asked for. Without UIDs it
// changes nothing.
func (t *Tracker[K]) ExpectDeletions(key K, uids ...types.UID) {
	if len(uids) == 0 {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	e := t.raise(key)
	if e.deletions == nil {
		e.deletions = make(map[types.UID]struct{}, len(uids))
	}
	for _, uid := range uids {
		e.deletions[uid] = struct{}{}
	}
}

// CreationObserved notes that one creation was seen. Without one expected it
// changes nothing.
func (t *Tracker[K]) CreationObserved(key K) {
	t.LowerCreations(key, 1)
}

// LowerCreations takes back the expectation of n creations that failed or were
// never started. Of more than are expected it takes back those that are; an n
// of zero or less changes nothing.
func (t *Tracker[K]) LowerCreations(key K, n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if e := t.entries[key]; e != nil && n > 0 {
		e.creations -= min(n, e.creations)
		t.dropIfMet(e)
	}
}

// DeletionObserved notes that the deletion of the object with this UID was
// seen, or takes its expectation back because the deletion failed. A UID that
// is not expected, or no longer, changes nothing.
func (t *Tracker[K]) DeletionObserved(key K, uid types.UID) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if e := t.entries[key]; e != nil {
		delete(e.deletions, uid)
		t.dropIfMet(e)
	}
}

// Satisfied says whether nothing is outstanding for the key: nothing was
// expected, all of it was observed or taken back, or the TTL has passed.
func (t *Tracker[K]) Satisfied(key K) bool {
	creations, deletions := t.Pending(key)
	return creations == 0 && deletions == 0
}

// Pending is how many creations and deletions are outstanding for the key.
// Both are zero exactly if the key is satisfied.
func (t *Tracker[K]) Pending(key K) (creations, deletions int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.dropExpired()
	if e := t.entries[key]; e != nil {
		return e.creations, len(e.deletions)
	}
	return 0, 0
}

// Forget drops whatever is expected for the key. Call it when the owner is
// gone. Observations that arrive later change nothing.
func (t *Tracker[K]) Forget(key K) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if e := t.entries[key]; e != nil {
		t.drop(e)
	}
}

// Len is the number of keys that have something outstanding.
func (t *Tracker[K]) Len() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.dropExpired()
	return len(t.entries)
}

// raise returns the entry of the key as the youngest one. The caller adds
// something to it: an entry that expects nothing must not exist.
func (t *Tracker[K]) raise(key K) *entry[K] {
	now := t.dropExpired()
	e := t.entries[key]
	if e == nil {
		e = &entry[K]{key: key}
		t.entries[key] = e
	} else {
		t.ages.remove(e)
	}
	e.raised = now
	t.ages.pushBack(e)
	return e
}

// dropExpired drops every entry older than the TTL and returns the time by
// which entries age. Each entry is dropped once, which is what makes this
// constant time on average.
func (t *Tracker[K]) dropExpired() time.Time {
	now := t.aging.read(t.clock)
	for t.ages.front != nil && now.Sub(t.ages.front.raised) > t.ttl {
		t.drop(t.ages.front)
	}
	return now
}

func (t *Tracker[K]) dropIfMet(e *entry[K]) {
	if e.creations == 0 && len(e.deletions) == 0 {
		t.drop(e)
	}
}

func (t *Tracker[K]) drop(e *entry[K]) {
	t.ages.remove(e)
	delete(t.entries, e.key)
}
