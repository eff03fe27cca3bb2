package kube

import (
	"encoding/binary"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/jobwright/jobwright/podsort"
)

// containerStatuses are those of a pod, and the init containers that are known
// by them to be sidecars.
type containerStatuses struct {
	containers, init []corev1.ContainerStatus
	sidecars         []corev1.Container
}

// keepStatuses gives kept, which has nothing yet, the statuses of containers that
// tell something, and returns when the containers finished; zero: they do not
// tell.
func (t *trimmer) keepStatuses(kept, pod *corev1.Pod) (finished time.Time) {
	kept.Spec.InitContainers = pod.Spec.InitContainers
	kept.Status.ContainerStatuses = pod.Status.ContainerStatuses
	kept.Status.InitContainerStatuses = pod.Status.InitContainerStatuses
	finished = podsort.FinishTime(kept)

	lastFound := false
	tells := func(s *corev1.ContainerStatus) bool {
		end := s.State.Terminated
		isLast := end != nil && !lastFound && !finished.IsZero() && end.FinishedAt.Time.Equal(finished)
		lastFound = lastFound || isLast
		return isLast || s.RestartCount != 0 || end != nil && end.ExitCode != 0
	}
	kept.Status.ContainerStatuses = filter(pod.Status.ContainerStatuses, tells)
	kept.Status.InitContainerStatuses = filter(pod.Status.InitContainerStatuses, tells)
	if !podsort.FinishTime(kept).Equal(finished) {
		kept.Status.ContainerStatuses = pod.Status.ContainerStatuses
		kept.Status.InitContainerStatuses = pod.Status.InitContainerStatuses
	}
	t.shareStatuses(kept)
	return finished
}

func filter[T any](from []T, keep func(*T) bool) (kept []T) {
	for i := range from {
		if keep(&from[i]) {
			kept = append(kept, from[i])
		}
	}
	return kept
}

// shareStatuses replaces the statuses, and the containers by which sidecars are
// known, by what is read of them.
func (t *trimmer) shareStatuses(pod *corev1.Pod) {
	containers, init := pod.Status.ContainerStatuses, pod.Status.InitContainerStatuses
	sidecars := filter(pod.Spec.InitContainers, func(c *corev1.Container) bool {
		return c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways &&
			slices.ContainsFunc(init, func(s corev1.ContainerStatus) bool { return s.Name == c.Name })
	})
	var s containerStatuses
	if len(containers)+len(init) > 0 {
		t.key = binary.AppendUvarint(t.key[:0], uint64(len(containers)))
		t.aboutStatuses(containers)
		t.key = binary.AppendUvarint(t.key, uint64(len(init)))
		t.aboutStatuses(init)
		for i := range sidecars {
			t.about(sidecars[i].Name)
		}
		s = t.statuses.of(t.key, func() containerStatuses {
			s := containerStatuses{t.trimStatuses(containers), t.trimStatuses(init), nil}
			for i := range sidecars {
				s.sidecars = append(s.sidecars, corev1.Container{Name: sidecars[i].Name, RestartPolicy: sidecars[i].RestartPolicy})
			}
			return s
		})
	}
	pod.Status.ContainerStatuses, pod.Status.InitContainerStatuses, pod.Spec.InitContainers = s.containers, s.init, s.sidecars
}

func (t *trimmer) aboutStatuses(statuses []corev1.ContainerStatus) {
	for i := range statuses {
		s := &statuses[i]
		t.about(s.Name)
		t.key = binary.AppendVarint(t.key, int64(s.RestartCount))
		if end := s.State.Terminated; end != nil {
			t.key = binary.AppendVarint(append(t.key, 1), int64(end.ExitCode))
			t.time(end.FinishedAt.Time)
		} else {
			t.key = append(t.key, 0)
		}
	}
}

func (t *trimmer) trimStatuses(statuses []corev1.ContainerStatus) []corev1.ContainerStatus {
	if len(statuses) == 0 {
		return nil
	}
	kept := make([]corev1.ContainerStatus, len(statuses))
	for i := range kept {
		s := &statuses[i]
		kept[i].Name, kept[i].RestartCount = t.text(s.Name), s.RestartCount
		if end := s.State.Terminated; end != nil {
			kept[i].State.Terminated = &corev1.ContainerStateTerminated{ExitCode: end.ExitCode, FinishedAt: end.FinishedAt}
		}
	}
	return kept
}
