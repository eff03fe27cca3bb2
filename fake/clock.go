package fake

import (
	"sync"
	"time"
)

// Clock is a clock that moves only when it is told to. It is safe for
// concurrent use. Its zero value stands at the zero time.
type Clock struct {
	mu    sync.Mutex
	now   time.Time
	moved chan struct{}
}

// NewClock returns a Clock that stands at start.
func NewClock(start time.Time) *Clock {
	return &Clock{now: start}
}

// Now is the time the clock was last moved to.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// Advance moves the clock by d and wakes whoever waits on Moved. A negative d
// moves it back, as a clock that is corrected does.
func (c *Clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
	if c.moved != nil {
		close(c.moved)
		c.moved = nil
	}
}

// Moved returns a channel that is closed at the next Advance.
func (c *Clock) Moved() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.moved == nil {
		c.moved = make(chan struct{})
	}
	return c.moved
}
