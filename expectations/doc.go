// Package expectations remembers what a controller asked an API for and has
// not yet seen come true in its cache.
//
// A cache lags. A controller that created two pods and looks again before they
// show up would create two more. So it notes before each call what it expects,
// its event handlers note what arrives, and as long as something is outstanding
// it creates and deletes nothing. A [Tracker] guarantees:
//
//   - a creation is expected by count, a deletion by UID: a deletion that is
//     seen twice, as an update and as a delete, counts once, and a deletion
//     that somebody else asked for does not count;
//   - no count goes below zero, whatever arrives unexpectedly or twice;
//   - a key with nothing outstanding is satisfied, and so is one that has waited
//     for longer than the TTL: a lost event delays a controller, it does not
//     stop it;
//   - what is met, expired or forgotten leaves nothing behind, even if nobody
//     asks about its key again.
//
// The key names the owner and should hold its UID, so that an owner that is
// deleted and created again under the same name starts clean. Where creations
// fill slots, such as the nodes of a cluster, the slot can be part of it.
//
// A Tracker is safe for concurrent use, starts no goroutine, and every call
// takes constant time, amortized and per UID given. The smallest use:
//
//	tracker.ExpectCreations(owner.UID, 1)
//	if err := create(pod); err != nil {
//		tracker.LowerCreations(owner.UID, 1)
//	}
package expectations
