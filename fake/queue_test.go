package fake_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/jobwright/jobwright/fake"
)

func newQueue() (*fake.Queue, *fake.Clock) {
	clock := fake.NewClock(noon())
	return fake.NewQueue(clock), clock
}

// drain takes what is due, one key after the other.
func drain(q *fake.Queue) []string {
	var keys []string
	for key, ok := q.Take(); ok; key, ok = q.Take() {
		keys = append(keys, key)
		q.Done(key)
	}
	return keys
}

func TestQueueWorksAKeyAddedTwiceOnce(t *testing.T) {
	q, _ := newQueue()
	for _, key := range []string{"b", "a", "b"} {
		q.Add(key)
	}
	equal(t, "keys", drain(q), []string{"b", "a"})
}

func TestQueueQueuesAKeyAddedWhileInWorkAgainAtDone(t *testing.T) {
	q, _ := newQueue()
	q.Add("a")
	q.Take()
	q.Add("a")
	if key, ok := q.Take(); ok {
		t.Errorf("Take gave %q while it was in work", key)
	}
	equal(t, "items", q.Items(), []fake.Item{{Key: "a", Due: noon()}})
	q.Done("a")
	equal(t, "keys after Done", drain(q), []string{"a"})
}

func TestQueueDoneOfAKeyNotInWorkDoesNothing(t *testing.T) {
	q, _ := newQueue()
	q.Add("a")
	q.Done("a")
	equal(t, "keys", drain(q), []string{"a"})
}

func TestQueueTakesTheEarliestAddAfter(t *testing.T) {
	for _, c := range []struct {
		name   string
		delays []time.Duration
		want   time.Duration
	}{
		{"earlier first", []time.Duration{time.Second, time.Minute}, time.Second},
		{"earlier last", []time.Duration{time.Minute, time.Second}, time.Second},
		{"none at all", []time.Duration{time.Minute, 0}, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			q, clock := newQueue()
			for _, d := range c.delays {
				q.AddAfter("a", d)
			}
			equal(t, "first item", q.Items()[0], fake.Item{Key: "a", Due: noon().Add(c.want)})
			clock.Advance(c.want)
			if _, ok := q.Take(); !ok {
				t.Errorf("nothing is due after %v", c.want)
			}
		})
	}
}

func TestQueueLeavesADelayedKeyWhereItIsWhenItIsAddedNow(t *testing.T) {
	q, clock := newQueue()
	q.AddAfter("a", time.Minute)
	q.Add("a")
	equal(t, "keys now", drain(q), []string{"a"})
	clock.Advance(time.Minute)
	equal(t, "keys a minute later", drain(q), []string{"a"})
}

func TestQueueItemsAreSortedByDueTimeThenKey(t *testing.T) {
	q, _ := newQueue()
	q.AddAfter("later", time.Second)
	q.AddAfter("also later", time.Second)
	q.Add("z")
	q.Add("y")
	equal(t, "items", q.Items(), []fake.Item{
		{Key: "y", Due: noon()},
		{Key: "z", Due: noon()},
		{Key: "also later", Due: noon().Add(time.Second)},
		{Key: "later", Due: noon().Add(time.Second)},
	})
	equal(t, "Len", q.Len(), 4)
}

func TestQueueKeysThatComeDueTogetherAreTakenByTimeThenKey(t *testing.T) {
	q, clock := newQueue()
	q.AddAfter("c", 2*time.Second)
	q.AddAfter("b", time.Second)
	q.AddAfter("a", 2*time.Second)
	clock.Advance(time.Hour)
	q.Add("last")
	equal(t, "keys", drain(q), []string{"b", "a", "c", "last"})
}

func TestQueueBacksOffByRequeues(t *testing.T) {
	q, _ := newQueue()
	q.BaseDelay, q.MaxDelay = time.Second, 5*time.Second
	for _, want := range []time.Duration{1, 2, 4, 5, 5} {
		q.AddRateLimited("a")
		equal(t, "due", q.Items()[0].Due, noon().Add(want*time.Second))
		q.ShutDown() // Drops the item, so that the next delay shows.
		fresh, _ := newQueue()
		fresh.BaseDelay, fresh.MaxDelay = q.BaseDelay, q.MaxDelay
		fresh.Requeued("a", q.NumRequeues("a"))
		q = fresh
	}
	equal(t, "requeues", q.NumRequeues("a"), 5)
	q.Forget("a")
	equal(t, "requeues once forgotten", q.NumRequeues("a"), 0)
}

func TestQueueDefaultDelays(t *testing.T) {
	for requeues, want := range map[int]time.Duration{
		0:       5 * time.Millisecond,
		1:       10 * time.Millisecond,
		1 << 40: 10 * time.Minute,
	} {
		q, _ := newQueue()
		q.Requeued("a", requeues)
		q.AddRateLimited("a")
		equal(t, "due", q.Items()[0].Due, noon().Add(want))
	}
}

func TestQueueShutDown(t *testing.T) {
	q, clock := newQueue()
	q.Add("due")
	q.AddAfter("later", time.Second)
	q.ShutDown()
	q.Add("ignored")
	q.AddAfter("ignored too", 0)
	clock.Advance(time.Minute)
	if key, shutdown := q.Get(); key != "due" || shutdown {
		t.Errorf("Get gave %q, %v, want what was due before", key, shutdown)
	}
	if key, shutdown := q.Get(); !shutdown {
		t.Errorf("Get gave %q, want shutdown", key)
	}
}

// blocked starts a Get and fails if it does not block.
func blocked(t *testing.T, q *fake.Queue) <-chan string {
	t.Helper()
	got := make(chan string, 1)
	go func() {
		key, shutdown := q.Get()
		if shutdown {
			key = "shutdown"
		}
		got <- key
	}()
	synctest.Wait()
	select {
	case key := <-got:
		t.Fatalf("Get gave %q, want it to block", key)
	default:
	}
	return got
}

func TestB89_QueueFollowsItsClockOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q, clock := newQueue()
		q.AddAfter("a", time.Minute)
		got := blocked(t, q)
		time.Sleep(time.Hour) // Of the bubble: real time must not matter.
		synctest.Wait()
		clock.Advance(time.Minute - 1)
		synctest.Wait()
		if len(got) > 0 {
			t.Fatalf("Get gave %q before its time", <-got)
		}
		clock.Advance(1)
		equal(t, "key", <-got, "a")
	})
}

func TestQueueGetWakes(t *testing.T) {
	for name, wake := range map[string]func(*fake.Queue){
		"a":        func(q *fake.Queue) { q.Add("a") },
		"again":    func(q *fake.Queue) { q.Done("again") },
		"shutdown": func(q *fake.Queue) { q.ShutDown() },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				q, _ := newQueue()
				q.Add("again")
				q.Take()
				if name == "again" {
					q.Add("again")
				}
				got := blocked(t, q)
				wake(q)
				equal(t, "key", <-got, name)
			})
		})
	}
}

func TestQueueWakesByItselfWithAClockThatRunsByItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := fake.NewQueue(realClock{})
		q.AddAfter("late", time.Hour)
		got := blocked(t, q)
		q.AddAfter("soon", time.Minute)
		start := time.Now()
		equal(t, "key", <-got, "soon")
		equal(t, "after", time.Since(start), time.Minute)
	})
}
