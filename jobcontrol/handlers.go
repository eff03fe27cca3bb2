package jobcontrol

import (
	"cmp"
	"maps"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// The event methods take what informers see. They note what was seen and ask
// the queue for a sync; they decide nothing, call nobody and do not block. The
// objects stay the caller's and are not changed or kept. Call them after the
// cache that the stores read has been updated, as informers do.

// JobAdded takes a Job that the cache has begun to show.
func (c *Controller) JobAdded(job *batchv1.Job) {
	if c.isOurs(job) {
		c.queue.Add(keyOf(job.Namespace, job.Name))
	}
}

// JobUpdated takes a change of a Job. A change of its spec is acted on at once,
// one of its status within the batch period. Two UIDs are a Job deleted and
// recreated unseen.
func (c *Controller) JobUpdated(old, cur *batchv1.Job) {
	if old.UID != cur.UID {
		c.JobDeleted(old)
	}
	if !c.isOurs(cur) {
		return
	}
	key := keyOf(cur.Namespace, cur.Name)
	if old.UID != cur.UID || old.Generation != cur.Generation || cur.DeletionTimestamp != nil || c.memory.awaits(key) {
		c.queue.Add(key)
		return
	}
	c.enqueue(key, 0)
}

// JobDeleted takes a Job that is gone, as it was last seen.
func (c *Controller) JobDeleted(job *batchv1.Job) {
	key := keyOf(job.Namespace, job.Name)
	if c.cfg.Accounting == Tracked && c.isOurs(job) {
		c.orphans.note(key, job.UID)
	}
	c.queue.Add(key) // the worker forgets it, for it may be inside its last sync
}

// PodAdded takes a pod that the cache has begun to show.
func (c *Controller) PodAdded(pod *corev1.Pod) {
	owner, ok := c.ownerOf(pod)
	if !ok {
		c.orphanSeen(pod)
		return
	}
	c.living.seen(owner.uid, pod)
	c.expectations.CreationObserved(owner.uid)
	c.noteOrphan(pod, owner)
	if pod.DeletionTimestamp != nil {
		c.expectations.DeletionObserved(owner.uid, pod.UID)
	}
	c.enqueue(owner.key, 0)
}

// PodUpdated takes a change of a pod. Two UIDs are a pod deleted and another
// created under its name unseen. An update that repeats what is known, as
// informers send from time to time, is ignored.
func (c *Controller) PodUpdated(old, cur *corev1.Pod) {
	if old.UID != cur.UID {
		c.PodDeleted(old)
		c.PodAdded(cur)
		return
	}
	if old.ResourceVersion == cur.ResourceVersion && cur.ResourceVersion != "" {
		return
	}
	was, wasOwned := c.ownerOf(old)
	is, isOwned := c.ownerOf(cur)
	if wasOwned && was != is {
		c.living.over(was.uid, old)
		c.enqueue(was.key, 0)
	}
	if !isOwned {
		if wasOwned || !maps.Equal(old.Labels, cur.Labels) || c.holds(cur) {
			c.orphanSeen(cur) // nothing else makes it one to adopt or to let go
		}
		return
	}
	if was != is || hasEnded(old) {
		c.living.seen(is.uid, cur)
	}
	if cur.DeletionTimestamp != nil {
		c.expectations.DeletionObserved(is.uid, cur.UID)
	}
	if !c.holds(cur) {
		c.untracked.observed(is.uid, cur.UID)
	}
	c.noteOrphan(cur, is)
	last := was == is && hasEnded(cur) && c.living.over(is.uid, old)
	if hasEnded(cur) && !c.holds(cur) && c.isOver(is, cur.Namespace) {
		return
	}
	var delay time.Duration
	if c.cfg.Accounting == Recount && cur.Status.Phase == corev1.PodFailed && old.Status.Phase != corev1.PodFailed {
		delay = c.cfg.Backoff.after(c.queue.NumRequeues(is.key))
	}
	if last && delay == 0 {
		c.lastEnded(is)
		return
	}
	c.enqueue(is.key, delay)
}

// PodDeleted takes a pod that is gone, as it was last seen.
func (c *Controller) PodDeleted(pod *corev1.Pod) {
	owner, ok := c.ownerOf(pod)
	if !ok {
		return
	}
	c.expectations.DeletionObserved(owner.uid, pod.UID)
	c.untracked.observed(owner.uid, pod.UID)
	c.living.over(owner.uid, pod)
	if !c.isOver(owner, pod.Namespace) {
		c.enqueue(owner.key, 0)
	}
}

// isOver says whether the owner is a Job that has ended, as the cache has it: then
// a pod that holds no finalizer and does not live is nobody's business.
func (c *Controller) isOver(owner owner, namespace string) bool {
	job, err := c.jobs.Job(namespace, owner.name)
	return err == nil && job.UID == owner.uid && IsFinished(job)
}

// lastEnded asks for a sync of a Job of which no pod lives any more: at once,
// since nothing more will come, unless pods asked for are still to be seen.
func (c *Controller) lastEnded(owner owner) {
	if c.expectations.Satisfied(owner.uid) {
		c.queue.Add(owner.key)
		return
	}
	c.enqueue(owner.key, 0)
}

// orphanSeen asks for a sync of every Job that may adopt the pod, and for the
// removal of the finalizer if none may.
func (c *Controller) orphanSeen(pod *corev1.Pod) {
	if metav1.GetControllerOfNoCopy(pod) != nil {
		return // another kind's
	}
	if c.cfg.Accounting == Tracked && c.holds(pod) {
		key := keyOf(pod.Namespace, cmp.Or(pod.Labels[c.cfg.Names.jobName()], pod.Name))
		c.orphans.note(key, "")
		c.queue.Add(key)
	}
	if pod.DeletionTimestamp != nil || len(pod.Labels) == 0 {
		return
	}
	jobs, err := c.jobs.Jobs(pod.Namespace)
	if err != nil {
		c.cfg.Logger.Error("orphan pod not offered for adoption", "pod", keyOf(pod.Namespace, pod.Name), "error", err)
		return
	}
	for _, job := range jobs {
		if c.isOurs(job) && c.mayAdoptPod(job, pod) {
			c.enqueue(keyOf(job.Namespace, job.Name), 0)
		}
	}
}

// mayAdoptPod says whether the Job's selector matches a pod without owner.
func (c *Controller) mayAdoptPod(job *batchv1.Job, pod *corev1.Pod) bool {
	selector, errs := readSelector(job, c.cfg.Names)
	return len(errs) == 0 && isOrphanOf(pod, selector)
}

// owner is the Job that a pod belongs to. It is known by the UID; the key says
// where to look for it.
type owner struct {
	key, name string
	uid       types.UID
}

// ownerOf returns the owner by the controller reference, if that is of the
// kind that this Controller looks after.
func (c *Controller) ownerOf(pod *corev1.Pod) (owner, bool) {
	ref := metav1.GetControllerOfNoCopy(pod)
	if ref == nil || ref.Kind != c.cfg.Owner.Kind {
		return owner{}, false
	}
	gv, err := schema.ParseGroupVersion(ref.APIVersion)
	if err != nil || gv.Group != c.cfg.Owner.Group {
		return owner{}, false
	}
	return owner{keyOf(pod.Namespace, ref.Name), ref.Name, ref.UID}, true
}

func keyOf(namespace, name string) string { return namespace + "/" + name }

// enqueue asks for a sync after the delay, and not within the batch period of
// the last one, or of the one under way.
func (c *Controller) enqueue(key string, delay time.Duration) {
	if delay == 0 && c.cfg.BatchPeriod > 0 && c.memory.hold(key) {
		return
	}
	since := c.cfg.Clock.Now().Sub(c.memory.lastSync(key))
	if since >= 0 && since < c.cfg.BatchPeriod {
		delay = max(delay, c.cfg.BatchPeriod-since)
	}
	if delay > 0 {
		c.queue.AddAfter(key, delay)
	} else {
		c.queue.Add(key)
	}
}
