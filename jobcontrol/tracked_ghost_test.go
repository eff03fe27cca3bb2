package jobcontrol_test

import (
	"maps"
	"slices"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobwright/jobwright/jobcontrol"
)

const swarmSeeds = 30

func lines(story []string) string { return strings.Join(story, "\n") }

// ghost sees every commit in its order, and knows the truth.
type ghost struct {
	w    *swarm
	job  *batchv1.Job
	pods map[types.UID]*corev1.Pod
	// ended holds the first outcome of each pod that ended while it held the
	// finalizer: true is failed.
	ended map[types.UID]bool
	// entered are the UIDs that ever were in uncountedTerminatedPods, by list;
	// untracked are the pods whose finalizer went without being counted.
	entered   map[types.UID]bool
	untracked map[types.UID]bool
}

func newGhost(w *swarm) *ghost {
	return &ghost{w: w, pods: map[types.UID]*corev1.Pod{}, ended: map[types.UID]bool{}, entered: map[types.UID]bool{}, untracked: map[types.UID]bool{}}
}

func (g *ghost) JobAdded(job *batchv1.Job)   { g.job = job }
func (g *ghost) JobDeleted(job *batchv1.Job) { g.w.blame("the Job is gone") }

func (g *ghost) JobUpdated(old, cur *batchv1.Job) {
	g.job = cur
	before, after := listsOf(old), listsOf(cur)
	if jobcontrol.IsFinished(old) && old.Generation == cur.Generation {
		g.w.blame("S23 a status is written after the end")
	}
	for uid, failed := range after {
		if _, stays := before[uid]; stays {
			continue
		}
		if _, again := g.entered[uid]; again {
			g.w.blame("S1 %s is listed twice", uid)
		}
		g.entered[uid] = failed
	}
	var succeeded, failed int32
	for uid, wasFailed := range before {
		if is, stays := after[uid]; stays {
			if is != wasFailed {
				g.w.blame("S6 %s changes its list", uid)
			}
			continue
		}
		if pod := g.pods[uid]; pod != nil && holdsFinalizer(pod) {
			g.w.blame("S3 %s is counted and still held", pod.Name)
		}
		if wasFailed {
			failed++
		} else {
			succeeded++
		}
	}
	if got := cur.Status.Failed - old.Status.Failed; got != failed {
		g.w.blame("S4 failed grows by %d, %d leave the list", got, failed)
	}
	if got := cur.Status.Succeeded - old.Status.Succeeded; !isIndexed(cur) && got != succeeded {
		g.w.blame("S4 succeeded grows by %d, %d leave the list", got, succeeded)
	}
}

func isIndexed(job *batchv1.Job) bool {
	return job.Spec.CompletionMode != nil && *job.Spec.CompletionMode == batchv1.IndexedCompletion
}

// listsOf is uncountedTerminatedPods; true is failed.
func listsOf(job *batchv1.Job) map[types.UID]bool {
	lists := map[types.UID]bool{}
	if u := job.Status.UncountedTerminatedPods; u != nil {
		for _, uid := range u.Failed {
			lists[uid] = true
		}
		for _, uid := range u.Succeeded {
			lists[uid] = false
		}
	}
	return lists
}

func holdsFinalizer(pod *corev1.Pod) bool {
	return slices.Contains(pod.Finalizers, batchv1.JobTrackingFinalizer)
}

func hasEnded(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}

func (g *ghost) PodAdded(pod *corev1.Pod) {
	g.pods[pod.UID] = pod
	for _, kind := range []batchv1.JobConditionType{batchv1.JobFailureTarget, batchv1.JobSuccessCriteriaMet} {
		if jobcontrol.HasCondition(&g.job.Status, kind) {
			g.w.blame("S26 pod %s is made although the Job is decided", pod.Name)
		}
	}
}

func (g *ghost) PodUpdated(old, cur *corev1.Pod) {
	g.pods[cur.UID] = cur
	g.note(old)
	if holdsFinalizer(old) && !holdsFinalizer(cur) {
		g.letGo(cur)
	}
	g.note(cur)
}

func (g *ghost) PodDeleted(pod *corev1.Pod) {
	if old := g.pods[pod.UID]; holdsFinalizer(old) && !holdsFinalizer(pod) {
		g.letGo(old)
	}
	delete(g.pods, pod.UID)
}

// note keeps the first outcome.
func (g *ghost) note(pod *corev1.Pod) {
	if _, known := g.ended[pod.UID]; !known && holdsFinalizer(pod) && hasEnded(pod) {
		g.ended[pod.UID] = pod.Status.Phase == corev1.PodFailed
	}
}

// letGo holds the removal of a finalizer to S2.
func (g *ghost) letGo(pod *corev1.Pod) {
	completed, _ := jobcontrol.ParseIndexes(g.job.Status.CompletedIndexes)
	index := pod.Annotations[batchv1.JobCompletionIndexAnnotation]
	if _, listed := listsOf(g.job)[pod.UID]; listed || jobcontrol.IsFinished(g.job) {
		return
	}
	if set, err := jobcontrol.ParseIndexes(index); err == nil && set.Len() == 1 && completed.Union(set).Len() == completed.Len() {
		return
	}
	g.untracked[pod.UID] = true
	if jobcontrol.HasCondition(&g.job.Status, batchv1.JobSuccessCriteriaMet) {
		return
	}
	seen, _ := g.w.view.PodsOf("ns", g.job.UID)
	for _, known := range seen {
		if known.UID == pod.UID && hasEnded(known) {
			g.w.blame("S2 pod %s is let go uncounted although it is known to have ended: %s", pod.Name, known.Status.Phase)
		}
	}
}

// check holds what is stored to the rules that hold at all times.
func (g *ghost) check() {
	at := map[string]string{}
	for _, uid := range slices.Sorted(maps.Keys(g.pods)) {
		pod := g.pods[uid]
		if hasEnded(pod) || pod.DeletionTimestamp != nil || g.job == nil || !isIndexed(g.job) {
			continue
		}
		index := pod.Annotations[batchv1.JobCompletionIndexAnnotation]
		if other := at[index]; other != "" {
			g.w.blame("S29 %s and %s both work on index %s", other, pod.Name, index)
		}
		at[index] = pod.Name
	}
}

// atRest holds the end to the truth: what ended and was not let go uncounted is
// counted, once.
func (g *ghost) atRest(scales bool) {
	var succeeded, failed int32
	for uid, wasFailed := range g.entered {
		if wasFailed {
			failed++
		} else {
			succeeded++
		}
		_ = uid
	}
	s := g.job.Status
	if s.Failed != failed || !isIndexed(g.job) && s.Succeeded != succeeded {
		g.w.blame("succeeded %d, failed %d; %d and %d were listed", s.Succeeded, s.Failed, succeeded, failed)
	}
	for uid := range g.ended {
		_, counted := g.entered[uid]
		if !counted && !g.untracked[uid] && !isIndexed(g.job) {
			g.w.blame("S12 pod %s ended and is counted nowhere", uid)
		}
	}
	if !scales && g.job.Spec.Completions != nil && s.Succeeded > *g.job.Spec.Completions {
		g.w.blame("S13 succeeded %d of %d", s.Succeeded, *g.job.Spec.Completions)
	}
	for _, pod := range g.pods {
		if !hasEnded(pod) && pod.DeletionTimestamp == nil {
			g.w.blame("L7 pod %s runs after the end", pod.Name)
		}
	}
}
