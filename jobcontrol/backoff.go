package jobcontrol

import "time"

// backoff is the delay after this many failures in a row: none after none, base
// after the first, twice as much after each further one, never above limit.
func backoff(failures int, base, limit time.Duration) time.Duration {
	if failures <= 0 {
		return 0
	}
	delay := base
	for range failures - 1 {
		if delay > limit/2 {
			return limit
		}
		delay *= 2
	}
	return min(delay, limit)
}
