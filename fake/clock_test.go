package fake_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/jobwright/jobwright/fake"
)

func TestB89_ClockMovesOnlyWhenTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clock := fake.NewClock(noon())
		time.Sleep(time.Hour) // Of the bubble.
		equal(t, "now", clock.Now(), noon())
		clock.Advance(time.Minute)
		equal(t, "now", clock.Now(), noon().Add(time.Minute))
		clock.Advance(-2 * time.Minute)
		equal(t, "now", clock.Now(), noon().Add(-time.Minute))
	})
}

func TestClockMovedIsClosedAtTheNextAdvance(t *testing.T) {
	var clock fake.Clock
	first := clock.Moved()
	select {
	case <-first:
		t.Fatal("Moved is closed before any Advance")
	default:
	}
	clock.Advance(time.Second)
	<-first
	select {
	case <-clock.Moved():
		t.Error("Moved is closed after an Advance that was before it")
	default:
	}
}
