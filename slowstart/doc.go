// Package slowstart makes a number of calls in batches that double in size as
// long as all goes well.
//
// When a thousand calls are wanted and something is wrong for all of them (a
// quota, a webhook, a revoked permission), they should not all be made to learn
// it. [Run] makes 1 call, then 2, 4, 8 and so on, and stops after the first
// batch in which a call failed. It guarantees:
//
//   - calls start in the order of their index, each at most once, so that those
//     attempted are exactly the indexes below Result.Attempted;
//   - a batch starts after every call of the one before has returned, and only
//     if all of them succeeded;
//   - no more calls are in flight than Config.InFlight, and none when Run
//     returns;
//   - a context that ends starts nothing more, also within a batch;
//   - errors come in the order of their index, whichever call ended first.
//
// Run keeps no state, so any number of them can run at once. It uses no more
// goroutines than calls in flight, its own among them, and while no call fails
// it allocates nothing that grows with their number. The smallest use:
//
//	done, err := slowstart.Run(ctx, len(pods), slowstart.Config{}, func(ctx context.Context, i int) error {
//		return create(ctx, pods[i])
//	})
//	skipped := len(pods) - done.Attempted
package slowstart
