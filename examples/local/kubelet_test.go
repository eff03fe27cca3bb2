package main

import (
	"context"
	"errors"
	"os"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestPodRunsToItsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, map[string][]act{
			"init": {{takes: time.Second}}, "a": {{takes: 2 * time.Second}}, "b": {{takes: time.Second}}})
		s.create(corev1.PodSpec{
			RestartPolicy:  corev1.RestartPolicyNever,
			InitContainers: containers("init"), Containers: containers("a", "b"),
		})
		s.wantState(0, "Pending; init running; a ContainerCreating; b ContainerCreating")
		s.wantState(time.Second, "Running ready; init Completed 0; a running; b running")
		s.wantState(time.Second, "Running; init Completed 0; a running; b Completed 0")
		s.wantState(time.Second, "Succeeded; init Completed 0; a Completed 0; b Completed 0")

		pod := s.pod(0)
		if pod.Spec.NodeName == "" || pod.Status.StartTime == nil {
			t.Error("neither node nor start time")
		}
		ended := pod.Status.ContainerStatuses[0].State.Terminated
		if took := ended.FinishedAt.Sub(ended.StartedAt.Time); took != 2*time.Second {
			t.Errorf("container a took %v, want 2s", took)
		}
		if ready := pod.Status.Conditions[len(pod.Status.Conditions)-1]; ready.Type != corev1.PodReady ||
			ready.Reason != "PodCompleted" || ready.LastTransitionTime.Sub(s.began.Truncate(time.Second)) != 2*time.Second {
			t.Errorf("Ready turned: %+v", ready)
		}
	})
}

func TestPodFails(t *testing.T) {
	for name, tt := range map[string]struct {
		script map[string][]act
		want   string
	}{
		"container with an exit code, after the others have ended": {
			map[string][]act{"init": {{}}, "a": {{takes: time.Second, code: 3}}, "b": {{takes: time.Minute}}},
			"Failed; init Completed 0; a Error 3; b Completed 0"},
		"init container with an exit code": {
			map[string][]act{"init": {{code: 4}}},
			"Failed; init Error 4; a ContainerCreating; b ContainerCreating"},
		"container that does not start": {
			map[string][]act{"init": {{}}, "a": {{fails: errors.New("no such program")}}, "b": {{}}},
			"Failed; init Completed 0; a StartError 128; b Completed 0"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newStage(t, tt.script)
				s.create(corev1.PodSpec{RestartPolicy: corev1.RestartPolicyNever,
					InitContainers: containers("init"), Containers: containers("a", "b")})
				s.wantState(time.Hour, tt.want)
			})
		})
	}
}

func TestOnFailureRestartsInPlaceWithBackOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fail := act{takes: time.Second, code: 1}
		s := newStage(t, map[string][]act{"a": {
			fail, fail, fail, fail, {takes: 10 * time.Minute, code: 1}, fail, {takes: time.Second}}})
		s.create(corev1.PodSpec{RestartPolicy: corev1.RestartPolicyOnFailure, Containers: containers("a")})
		s.wantState(2*time.Second, "Running; a CrashLoopBackOff restarts 1")
		s.wantState(10*time.Second, "Running ready; a running restarts 2")
		s.wantState(time.Hour, "Succeeded; a Completed 0 restarts 6")
		s.wantLog(
			"0s a starts", "1s a ends with 1",
			"1s a starts", "2s a ends with 1", // the first restart comes at once
			"12s a starts", "13s a ends with 1",
			"33s a starts", "34s a ends with 1",
			"1m14s a starts", "11m14s a ends with 1", // ran for long: all is forgiven
			"11m14s a starts", "11m15s a ends with 1",
			"11m25s a starts", "11m26s a ends with 0")
		if last := s.pod(0).Status.ContainerStatuses[0].LastTerminationState.Terminated; last == nil || last.ExitCode != 1 {
			t.Errorf("lastState %+v, want exit code 1", last)
		}
	})
}

func TestBackOffOfRestartsIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		acts := make([]act, 12)
		for i := range acts {
			acts[i] = act{takes: time.Second, code: 1}
		}
		acts[11].code = 0
		s := newStage(t, map[string][]act{"a": acts})
		s.create(corev1.PodSpec{RestartPolicy: corev1.RestartPolicyOnFailure, Containers: containers("a")})
		// 0, 10, 20, 40, 80, 160 seconds, then 300 each.
		s.wantState(310*time.Second+5*300*time.Second+12*time.Second, "Succeeded; a Completed 0 restarts 11")
	})
}

// B43: restarts of an init container are counted while the pod is Pending.
func TestB43InitContainerRestartsAreCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, map[string][]act{"init": {{code: 1}, {code: 1}, {}}, "a": {{}}})
		s.create(corev1.PodSpec{RestartPolicy: corev1.RestartPolicyOnFailure,
			InitContainers: containers("init"), Containers: containers("a")})
		s.wantState(time.Second, "Pending; init CrashLoopBackOff restarts 1; a ContainerCreating")
		s.wantState(time.Hour, "Succeeded; init Completed 0 restarts 2; a Completed 0")
	})
}

func TestSidecarsServeUntilTheContainersHaveEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, map[string][]act{
			"one":  {{takes: time.Second, code: 1}, {takes: forever}},
			"init": {{takes: 2 * time.Second}},
			"two":  {{takes: forever, stubborn: true}},
			"a":    {{takes: 3 * time.Second}},
		})
		s.create(corev1.PodSpec{
			RestartPolicy:                 corev1.RestartPolicyNever,
			TerminationGracePeriodSeconds: new(int64(5)),
			InitContainers:                []corev1.Container{sidecar("one"), containers("init")[0], sidecar("two")},
			Containers:                    containers("a"),
		})
		s.wantState(2*time.Second, "Running ready; one running restarts 1; init Completed 0; two running; a running")
		s.wantState(8*time.Second, "Succeeded; one Completed 0 restarts 1; init Completed 0; two Error 137; a Completed 0")
		s.wantLog(
			"0s one starts", "0s init starts",
			"1s one ends with 1", "1s one starts",
			"2s init ends with 0", "2s two starts", "2s a starts",
			"5s a ends with 0",
			"5s two is asked to end", "10s two ends with 137",
			"10s one is asked to end", "10s one ends with 0")
	})
}

func TestPodIsStoppedWhileASidecarCannotStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fail := act{fails: errors.New("no such program")}
		s := newStage(t, map[string][]act{"one": {fail, fail, fail}})
		pod := s.create(corev1.PodSpec{RestartPolicy: corev1.RestartPolicyNever,
			InitContainers: []corev1.Container{sidecar("one")}, Containers: containers("a")})
		s.wantState(time.Second, "Pending; one CrashLoopBackOff restarts 1; a ContainerCreating")
		if err := s.cluster.Delete(context.Background(), pod); err != nil {
			t.Fatal(err)
		}
		s.wantState(0, "gone")
	})
}

func TestPodDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, map[string][]act{"init": {{takes: forever}}})
		s.create(corev1.PodSpec{
			RestartPolicy: corev1.RestartPolicyOnFailure, ActiveDeadlineSeconds: new(int64(7)),
			InitContainers: containers("init"), Containers: containers("a"),
		})
		s.wantState(7*time.Second, "Failed DeadlineExceeded; init Completed 0; a ContainerCreating")
		s.wantLog("0s init starts", "7s init is asked to end", "7s init ends with 0")
	})
	t.Run("a container that ends well when asked", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s := newStage(t, map[string][]act{"a": {{takes: forever}}})
			s.create(corev1.PodSpec{
				RestartPolicy: corev1.RestartPolicyNever, ActiveDeadlineSeconds: new(int64(7)), Containers: containers("a"),
			})
			s.wantState(7*time.Second, "Failed DeadlineExceeded; a Completed 0")
		})
	})
}

func TestStopAndKill(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, map[string][]act{"a": {{takes: forever, stubborn: true}}})
		s.create(corev1.PodSpec{RestartPolicy: corev1.RestartPolicyNever, Containers: containers("a")})
		s.kubelet.stop()
		s.wantState(29*time.Second, "Running ready; a running") // 30 s is the API's default grace
		s.kubelet.kill()
		s.kubelet.wait()
		s.wantState(0, "Failed Terminated; a Error 137")
		s.wantLog("0s a starts", "0s a is asked to end", "29s a ends with 137")

		if _, err := s.cluster.Create(context.Background(), &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "a-late-one"}}); err != nil {
			t.Fatal(err)
		}
		if late := s.pod(time.Hour); late.Name != "a-late-one" || late.Spec.NodeName != "" {
			t.Errorf("a pod created after the stop was started: %v", state(late))
		}
	})
}

func TestVolumesLastAsLongAsThePod(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, map[string][]act{"a": {{takes: time.Second}}})
		var dir string
		start := s.kubelet.start
		s.kubelet.start = func(c command) (process, error) {
			dir = c.argv[1]
			return start(c)
		}
		spec := corev1.PodSpec{RestartPolicy: corev1.RestartPolicyNever,
			Volumes: []corev1.Volume{{Name: "data"}}, Containers: containers("a")}
		spec.Containers[0].Args = []string{"$(VOLUME_DATA)"}
		spec.Containers[0].VolumeMounts = []corev1.VolumeMount{{Name: "data"}}
		s.create(spec)
		if info, err := os.Stat(dir); err != nil || !info.IsDir() {
			t.Errorf("no folder while the pod runs: %v", err)
		}
		s.wantState(time.Second, "Succeeded; a Completed 0")
		if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("the folder is still there: %v", err)
		}
	})
}
