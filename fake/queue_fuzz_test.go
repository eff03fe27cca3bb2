package fake_test

import (
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/client-go/util/workqueue"

	"github.com/jobwright/jobwright/fake"
	"github.com/jobwright/jobwright/jobcontrol"
)

// FuzzQueue holds the queue to client-go's, which runs beside it by the time of
// the bubble.
func FuzzQueue(f *testing.F) {
	// The low three bits of a step are what to do, the high four the key or the
	// seconds: 3 takes, 4 is done, 5 passes time, the others are those of do.
	f.Add([]byte{0x00, 0x03, 0x00, 0x03, 0x04, 0x03})
	f.Add([]byte{0x11, 0x21, 0x10, 0x35, 0x03, 0x14, 0x35, 0x03, 0x03})
	f.Add([]byte{0x02, 0x02, 0x12, 0x15, 0x03, 0x02, 0x06, 0x02, 0x15, 0x04, 0x03, 0x07, 0x03})
	f.Add([]byte("B0C0%\xb4C"))    // One comes due while another is added in work.
	f.Add([]byte("Y\x9dYC\x145C")) // One that came due and was not taken is delayed.
	f.Fuzz(func(t *testing.T, script []byte) {
		script = script[:min(len(script), 100)]
		synctest.Test(t, func(t *testing.T) {
			got := fake.NewQueue(realClock{})
			got.BaseDelay, got.MaxDelay = time.Second, time.Minute
			want := workqueue.NewTypedRateLimitingQueue(
				workqueue.NewTypedItemExponentialFailureRateLimiter[string](time.Second, time.Minute))
			defer want.ShutDown()
			working := map[string]bool{}
			for i, step := range script {
				op, key := step&7, string('a'+rune(step>>4)%4)
				switch op {
				case 3:
					if key := take(t, i, got, want); key != "" {
						working[key] = true
					}
				case 4:
					// Done of a key that is not in work is misuse.
					if working[key] {
						delete(working, key)
						got.Done(key)
						want.Done(key)
					}
				case 5:
					time.Sleep(time.Duration(step>>4) * time.Second)
				default:
					do(got, op, key)
					do(want, op, key)
				}
				// So that no two keys come due at once: their order is not client-go's to say.
				time.Sleep(time.Millisecond)
				synctest.Wait()
				if got.NumRequeues(key) != want.NumRequeues(key) {
					t.Fatalf("step %d: %d requeues of %s, want %d", i, got.NumRequeues(key), key, want.NumRequeues(key))
				}
			}
		})
	})
}

// do applies a step that means the same to every queue.
func do(q jobcontrol.Queue, op byte, key string) {
	switch op {
	case 0:
		q.Add(key)
	case 1:
		q.AddAfter(key, time.Duration(key[0]-'a')*3*time.Second)
	case 2:
		q.AddRateLimited(key)
	case 6:
		q.Forget(key)
	case 7:
		q.ShutDown()
	}
}

// take takes the next key that is due from both queues and compares.
func take(t *testing.T, step int, got *fake.Queue, want workqueue.TypedRateLimitingInterface[string]) string {
	t.Helper()
	var wantKey string
	if want.Len() > 0 {
		wantKey, _ = want.Get()
	}
	key, _ := got.Take()
	if key != wantKey {
		t.Fatalf("step %d: took %q, want %q", step, key, wantKey)
	}
	return key
}
