package main

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobwright/jobwright/fake"
)

// B21: a pod that is deleted gets a terminal phase before it is removed,
// wherever it was.
func TestB21DeletedPodEndsAndIsRemoved(t *testing.T) {
	for name, tt := range map[string]struct {
		script  map[string][]act
		delete  time.Duration // when
		gone    time.Duration // after that
		meant   string        // last state before it is gone
		wantLog []string
	}{
		"running": {map[string][]act{"init": {{}}, "a": {{takes: forever, code: 143}}}, time.Minute, 0,
			"Failed; init Completed 0; a Error 143",
			[]string{"0s init starts", "0s init ends with 0", "0s a starts", "1m0s a is asked to end", "1m0s a ends with 143"}},
		"running, and ends well when asked": {map[string][]act{"init": {{}}, "a": {{takes: forever}}}, time.Minute, 0,
			"Succeeded; init Completed 0; a Completed 0",
			[]string{"0s init starts", "0s init ends with 0", "0s a starts", "1m0s a is asked to end", "1m0s a ends with 0"}},
		"stubborn": {map[string][]act{"init": {{}}, "a": {{takes: forever, stubborn: true}}}, time.Minute, 20 * time.Second,
			"Failed; init Completed 0; a Error 137",
			[]string{"0s init starts", "0s init ends with 0", "0s a starts", "1m0s a is asked to end", "1m20s a ends with 137"}},
		"ends by itself within its grace": {map[string][]act{"init": {{}}, "a": {{takes: 70 * time.Second, stubborn: true}}}, time.Minute, 10 * time.Second,
			"Succeeded; init Completed 0; a Completed 0",
			[]string{"0s init starts", "0s init ends with 0", "0s a starts", "1m0s a is asked to end", "1m10s a ends with 0"}},
		"between restarts": {map[string][]act{"init": {{}}, "a": {{code: 1}, {code: 1}}}, time.Second, 0,
			"Failed; init Completed 0; a CrashLoopBackOff restarts 1",
			[]string{"0s init starts", "0s init ends with 0", "0s a starts", "0s a ends with 1", "0s a starts", "0s a ends with 1"}},
		"Pending": {map[string][]act{"init": {{takes: forever}}}, time.Second, 0,
			"Failed; init Completed 0; a ContainerCreating",
			[]string{"0s init starts", "1s init is asked to end", "1s init ends with 0"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newStage(t, tt.script)
				last := &lastPod{}
				watched := s.cluster.View()
				watched.Notify(last)
				pod := s.create(corev1.PodSpec{
					RestartPolicy: corev1.RestartPolicyOnFailure, TerminationGracePeriodSeconds: new(int64(20)),
					InitContainers: containers("init"), Containers: containers("a"),
				})
				s.pod(tt.delete)
				if err := s.cluster.Delete(context.Background(), pod); err != nil {
					t.Fatal(err)
				}
				if tt.gone > 0 && s.pod(tt.gone-1) == nil {
					t.Error("removed before its containers ended")
				}
				s.wantState(1, "gone")
				s.wantLog(tt.wantLog...)
				watched.Deliver()
				if diff := cmp.Diff(tt.meant, state(last.pod)); diff != "" {
					t.Errorf("last state before the removal (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// lastPod is a handler that keeps the last pod it was told of; there are no
// Jobs in these tests.
type lastPod struct {
	fake.Handler
	pod *corev1.Pod
}

func (l *lastPod) PodAdded(pod *corev1.Pod)      { l.pod = pod }
func (l *lastPod) PodUpdated(_, cur *corev1.Pod) { l.pod = cur }
func (l *lastPod) PodDeleted(*corev1.Pod)        {}

// B21: a pod that is being deleted before it came to this machine is not
// started; it gets its terminal phase, for a finalizer may wait for that.
func TestB21PodDeletedBeforeItBeganEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, nil)
		ctx := context.Background()
		s.cluster = fake.NewCluster(systemClock{}) // one that tells the kubelet nothing by itself
		s.kubelet.cluster = s.cluster
		pod, err := s.cluster.Create(ctx, &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "pod", Finalizers: []string{"example.com/held"}},
			Spec:       corev1.PodSpec{Containers: containers("a")},
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.cluster.Delete(ctx, pod); err != nil {
			t.Fatal(err)
		}
		s.kubelet.PodAdded(pod)
		s.wantState(0, "Failed")
		s.wantLog()
		held := s.pod(0)
		held.Finalizers = nil
		if _, err := s.cluster.UpdatePod(ctx, held); err != nil {
			t.Fatal(err)
		}
		s.wantState(0, "gone")
	})
}

func TestPodRemovedWithoutGraceIsKilled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, map[string][]act{"a": {{takes: forever, stubborn: true}}})
		pod := s.create(corev1.PodSpec{RestartPolicy: corev1.RestartPolicyNever, Containers: containers("a")})
		if err := s.cluster.RemovePod(context.Background(), pod); err != nil {
			t.Fatal(err)
		}
		s.wantState(0, "gone")
		s.wantLog("0s a starts", "0s a is asked to end", "0s a ends with 137")
	})
}
