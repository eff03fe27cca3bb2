package jobcontrol

import (
	"maps"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// ExpectCreation makes the Controller wait for one pod of the Job.
func ExpectCreation(c *Controller, job types.UID) { c.expectations.ExpectCreations(job, 1) }

// Schedule is what a worker does after a sync.
func Schedule(c *Controller, key string, next Next, err error) { c.schedule(key, next, err) }

// Remembered is the number of Jobs that the Controller keeps anything for.
func Remembered(c *Controller) int { return len(c.memory.records) + c.expectations.Len() }

// Living is what the Controller keeps of the pods that have not ended, by owner.
func Living(c *Controller) map[types.UID]int { return maps.Clone(c.living.pods) }

// ExpectDeletion makes the Controller wait for the deletion of a pod of the Job.
func ExpectDeletion(c *Controller, job, pod types.UID) { c.expectations.ExpectDeletions(job, pod) }

// Expected is the number of pods of the Job that the Controller waits for.
func Expected(c *Controller, job types.UID) int {
	creations, deletions := c.expectations.Pending(job)
	return creations + deletions
}

// IndexesOf returns the set of these indexes.
func IndexesOf(list []int) Indexes { return indexesOf(list) }

// ExpectUntracking makes the Controller take the pod for untracked.
func ExpectUntracking(c *Controller, job, pod types.UID) { c.untracked.expect(job, pod) }

// Remember makes the Controller remember these failures of the Job.
func Remember(c *Controller, key string, job types.UID, f Failures) {
	c.memory.begin(key, job)
	c.memory.remember(key, f)
	c.memory.end(key, time.Time{})
}

// Remembers is what the Controller remembers of the Job's failures.
func Remembers(c *Controller, key string) Failures {
	f, _ := c.memory.failures(key)
	return f
}
