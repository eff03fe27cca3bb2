package slowstart

import (
	"context"
	"errors"
)

// Config is how fast the batches grow and what bounds them. The zero value is
// ready to use; a negative field counts as zero.
type Config struct {
	// Initial is the size of the first batch. Zero: 1.
	Initial int

	// Largest is the size beyond which batches do not grow, the first one
	// included. Zero: they double without limit.
	Largest int

	// InFlight is how many calls run at once at most. Zero: 64.
	InFlight int
}

// Result is how far a Run got. Attempted - Succeeded calls failed.
type Result struct {
	// Succeeded is the number of calls that returned nil.
	Succeeded int

	// Attempted is the number of calls that were started: those with the
	// indexes 0 to Attempted-1. The others were not and will not be.
	Attempted int
}

// Run calls call with each index from 0 to n-1, in batches of Initial calls,
// then twice as many, and so on. After a batch with a failure it starts
// nothing further, nor after ctx has ended; it always waits for the calls in
// flight. A negative n counts as zero.
//
// The error joins the errors of all calls that failed, in the order of their
// indexes and as they were returned, followed by ctx.Err if ctx had ended by the
// time Run gave up with calls left to start. It is nil if and only if every call
// was made and succeeded.
//
// Each call gets ctx itself, so that calls in flight can end with it; one that
// has to be finished can use [context.WithoutCancel]. Calls are made from
// several goroutines at once. A panic in a call is not recovered.
func Run(ctx context.Context, n int, cfg Config, call func(ctx context.Context, i int) error) (Result, error) {
	inFlight := orDefault(cfg.InFlight, 64)
	largest := orDefault(cfg.Largest, n)
	size := orDefault(cfg.Initial, 1)

	var b batch
	work := func() {
		for ctx.Err() == nil {
			i, ok := b.take()
			if !ok {
				return
			}
			if err := call(ctx, i); err != nil {
				b.fail(i, err)
			}
		}
	}
	helper := func() { // one closure for every goroutine of every batch
		defer b.busy.Done()
		work()
	}
	for b.end < n && len(b.failed) == 0 && ctx.Err() == nil {
		size = min(size, largest, n-b.end)
		b.extend(size)
		b.run(min(size, inFlight), work, helper)
		size *= 2
	}

	attempted := b.attempted()
	result := Result{Succeeded: attempted - len(b.failed), Attempted: attempted}
	errs := b.errors()
	if attempted < n {
		errs = append(errs, ctx.Err())
	}
	return result, errors.Join(errs...)
}

func orDefault(value, otherwise int) int {
	if value > 0 {
		return value
	}
	return otherwise
}
