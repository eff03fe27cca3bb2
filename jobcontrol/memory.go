package jobcontrol

import (
	"sync"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
)

// memory is what a Controller remembers between the syncs of a key, besides
// the expectations. It holds one record for each Job that is not finished.
type memory struct {
	mu      sync.Mutex
	records map[string]record
}

// record belongs to one UID: a Job recreated under its name starts a new one.
type record struct {
	uid     types.UID
	running bool      // a sync is under way
	again   bool      // and something has asked for another
	synced  time.Time // when the last sync ended
	// wrote is the resource version of the last status written, until the
	// cache has shown it; wroteAt is when.
	wrote   string
	wroteAt time.Time
	awaited bool // a sync has found the cache older than that
	// lost is when the answer of a creation was lost last; zero: none is open.
	lost time.Time
	// failures is what back-off remembers; nil: nothing yet.
	failures *Failures
}

// begin notes that a sync of the Job begins. It returns the UID that the key
// stood for before, if it was another, so that what is kept about that one can
// be dropped.
func (m *memory) begin(key string, uid types.UID) (before types.UID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r, known := m.records[key]
	if known && r.uid != uid {
		before, r = r.uid, record{}
	}
	r.uid, r.running, r.again = uid, true, false
	if m.records == nil {
		m.records = make(map[string]record)
	}
	m.records[key] = r
	return before
}

// end notes that the sync of the key has ended, and says whether another was
// asked for in the meantime.
func (m *memory) end(key string, now time.Time) (again bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r, known := m.records[key]
	if known {
		again = r.again
		r.running, r.again, r.synced = false, false, now
		m.records[key] = r
	}
	return again
}

// hold puts a sync that is asked for off until the batch period after the one
// under way; false: there is none.
func (m *memory) hold(key string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	r := m.records[key]
	if r.running {
		r.again = true
		m.records[key] = r
	}
	return r.running
}

// stale says whether the Job is older than what this process wrote last: a
// decision made from it would be made twice. A cache that never catches up (it
// was restored from a backup) is believed after patience.
func (m *memory) stale(key string, job *batchv1.Job, now time.Time, patience time.Duration) (stale bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r, known := m.records[key]
	if !known || r.uid != job.UID || r.wrote == "" {
		return false
	}
	order, err := resourceversion.CompareResourceVersion(job.ResourceVersion, r.wrote)
	stale = err == nil && order < 0 && now.Sub(r.wroteAt) < patience
	if r.awaited = stale; !stale {
		r.wrote = ""
	}
	m.records[key] = r
	return stale
}

// awaits says whether a sync of the key was put off until the cache shows what
// was written.
func (m *memory) awaits(key string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.records[key].awaited
}

// wrote notes the status that the sync of a key has written.
func (m *memory) wrote(key string, job *batchv1.Job, now time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if r, known := m.records[key]; known && r.uid == job.UID {
		r.wrote, r.wroteAt = job.ResourceVersion, now
		m.records[key] = r
	}
}

// failures returns what is remembered of the failures of the Job that the key
// stands for; false: nothing yet, as after a start.
func (m *memory) failures(key string) (Failures, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if f := m.records[key].failures; f != nil {
		return *f, true
	}
	return Failures{}, false
}

// remember keeps the failures for the next sync of the key.
func (m *memory) remember(key string, f Failures) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if r, known := m.records[key]; known {
		r.failures = &f
		m.records[key] = r
	}
}

// lose notes that the answer of a creation for the Job of the key was lost.
func (m *memory) lose(key string, now time.Time) { m.setLost(key, now) }

// find notes that it is known what became of every creation.
func (m *memory) find(key string) { m.setLost(key, time.Time{}) }

func (m *memory) setLost(key string, at time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if r, known := m.records[key]; known {
		r.lost = at
		m.records[key] = r
	}
}

// lost is when the answer of a creation was lost whose outcome is open; zero:
// there is none.
func (m *memory) lost(key string) time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.records[key].lost
}

// lastSync is when the last sync of the key ended; zero: there was none.
func (m *memory) lastSync(key string) time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.records[key].synced
}

// drop forgets the key and returns the UID that it stood for, if any.
func (m *memory) drop(key string) types.UID {
	m.mu.Lock()
	defer m.mu.Unlock()
	uid := m.records[key].uid
	delete(m.records, key)
	return uid
}
