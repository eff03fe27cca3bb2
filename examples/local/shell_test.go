package main

import (
	"bytes"
	"os"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	batchv1 "k8s.io/api/batch/v1"
)

// scene is a run under way with scripted containers. It lives in a synctest
// bubble.
type scene struct {
	*stage
	signals chan os.Signal
	stderr  bytes.Buffer // to be read after the end
	done    chan struct{}

	job         *batchv1.Job // these after the end
	interrupted bool
}

// playJob runs the minimal manifest with more in its spec. Container main does
// the acts, one after the other.
func playJob(t *testing.T, spec string, acts []act, args ...string) *scene {
	t.Helper()
	s := &scene{
		stage:   &stage{t: t, began: time.Now(), script: map[string][]act{"main": acts}},
		signals: make(chan os.Signal, 1), done: make(chan struct{}),
	}
	o, err := parse(append(args, "-"), &s.stderr)
	if err != nil {
		t.Fatal(err)
	}
	manifest := strings.Replace(minimal, "spec:\n", "spec:\n"+spec, 1)
	r, err := prepareRun(o, stdio{strings.NewReader(manifest), nil, &s.stderr})
	if err != nil {
		t.Fatal(err)
	}
	r.kubelet.start = s.start
	go func() {
		defer close(s.done)
		defer r.cleanUp()
		s.job, s.interrupted, err = r.runJob(shell{
			signals: s.signals,
			stop:    func() { s.note("the program stops") },
		})
		if err != nil {
			t.Error(err)
		}
	}()
	return s
}

// send sends a signal after a while and waits for what comes of it at once.
func (s *scene) send(after time.Duration, signal syscall.Signal) {
	time.Sleep(after) // of the bubble: no time passes
	s.signals <- signal
	synctest.Wait()
}

// wantEnd waits for the end.
func (s *scene) wantEnd(interrupted bool, want string, told ...string) {
	s.t.Helper()
	<-s.done
	if got := summary(s.job); s.interrupted != interrupted || got != want {
		s.t.Errorf("interrupted %v, %s, want %v, %s", s.interrupted, got, interrupted, want)
	}
	for _, line := range told {
		if !strings.Contains(s.stderr.String(), line) {
			s.t.Errorf("not told: %s\n%s", line, s.stderr.String())
		}
	}
}

const completed = "active 0, succeeded 1, failed 0, SuccessCriteriaMet CompletionsReached, Complete CompletionsReached"

func TestSuspendAndResume(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		// The deadline counts unbroken activity: 6 and 8 seconds are no 10.
		s := playJob(t, "  activeDeadlineSeconds: 10\n", []act{{takes: forever, code: 143}, {takes: 8 * time.Second}})
		s.send(6*time.Second, syscall.SIGTSTP)
		s.send(100*time.Second, syscall.SIGCONT)
		s.wantEnd(false, completed, "suspending: ", "pod job-00001 stopped after 6s: exit code 143\n",
			"job default/job Suspended after 6s: JobSuspended", "suspended: fg, bg or kill -CONT ", "job default/job Resumed after 1m46s: ")
		s.wantLog("0s main starts", "6s main is asked to end", "6s main ends with 143", "6s the program stops",
			"1m46s main starts", "1m54s main ends with 0")
		if *s.job.Spec.Suspend {
			t.Error("the final Job is to be suspended")
		}
	})
}

func TestSuspendTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := playJob(t, "", []act{{takes: forever, code: 1}, {takes: forever, code: 2}, {takes: time.Second}})
		for range 2 {
			s.send(time.Second, syscall.SIGTSTP)
			s.send(time.Second, syscall.SIGCONT)
		}
		s.wantEnd(false, completed)
		s.wantLog("0s main starts", "1s main is asked to end", "1s main ends with 1", "1s the program stops",
			"2s main starts", "3s main is asked to end", "3s main ends with 2", "3s the program stops",
			"4s main starts", "5s main ends with 0")
	})
}

func TestSecondSuspendKills(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := playJob(t, "", []act{{takes: forever, stubborn: true}})
		s.send(time.Second, syscall.SIGTSTP)
		s.send(5*time.Second, syscall.SIGTSTP)
		s.send(time.Second, syscall.SIGTERM) // kill does that to a stopped job of a shell
		s.wantEnd(true, "active 0, succeeded 0, failed 0, Suspended JobSuspended")
		s.wantLog("0s main starts", "1s main is asked to end", "6s main ends with 137", "6s the program stops")
	})
}

func TestResumeBeforeThePodsAreGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := playJob(t, "", []act{{takes: 10 * time.Second, stubborn: true}, {takes: forever, code: 1}, {takes: 2 * time.Second}})
		s.send(time.Second, syscall.SIGTSTP)
		s.send(time.Second, syscall.SIGCONT)
		s.send(time.Second, syscall.SIGTSTP) // not the second one of before
		s.send(17*time.Second, syscall.SIGCONT)
		s.wantEnd(false, completed)
		s.wantLog("0s main starts", "1s main is asked to end", "2s main starts",
			"3s main is asked to end", "3s main ends with 1", "10s main ends with 0", "10s the program stops",
			"20s main starts", "22s main ends with 0")
	})
}

func TestStartSuspended(t *testing.T) {
	t.Run("resumed", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s := playJob(t, "  suspend: true\n", []act{{takes: time.Second}})
			s.send(time.Hour, syscall.SIGCONT)
			s.wantEnd(false, completed, "job default/job Suspended after 0s: ", "suspended: fg, bg or kill -CONT ")
			s.wantLog("1h0m0s main starts", "1h0m1s main ends with 0")
		})
	})
	t.Run("stopped and resumed", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s := playJob(t, "  suspend: true\n", []act{{takes: time.Second}})
			s.send(time.Second, syscall.SIGTSTP)
			s.send(time.Second, syscall.SIGCONT)
			s.wantEnd(false, completed)
			if strings.Contains(s.stderr.String(), "suspending: ") {
				t.Errorf("told of pods that there are not:\n%s", s.stderr.String())
			}
			s.wantLog("1s the program stops", "2s main starts", "3s main ends with 0")
		})
	})
	t.Run("interrupted", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s := playJob(t, "  suspend: true\n", nil)
			s.send(time.Second, syscall.SIGINT)
			s.wantEnd(true, "active 0, succeeded 0, failed 0, Suspended JobSuspended", "interrupted: ")
		})
	})
}

func TestWhatCannotBeSuspended(t *testing.T) {
	t.Run("a Job whose end is known", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s := playJob(t, "  activeDeadlineSeconds: 5\n", []act{{takes: 20 * time.Second, stubborn: true}})
			s.send(6*time.Second, syscall.SIGTSTP)
			s.wantEnd(false, "active 0, succeeded 0, failed 1, FailureTarget DeadlineExceeded, Failed DeadlineExceeded",
				"not suspended: the Job is about to end\n")
			s.wantLog("0s main starts", "5s main is asked to end", "20s main ends with 0")
		})
	})
	t.Run("a Job under Recount", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s := playJob(t, "", []act{{takes: 2 * time.Second}}, "-accounting", "recount")
			s.send(time.Second, syscall.SIGTSTP)
			s.wantEnd(false, "active 0, succeeded 1, failed 0, Complete", "not suspended: -accounting recount knows no suspension\n")
		})
	})
}

func TestInterruptOfADecidedJob(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := playJob(t, "  activeDeadlineSeconds: 5\n", []act{{takes: 20 * time.Second, stubborn: true}})
		s.send(6*time.Second, syscall.SIGINT)
		s.wantEnd(false, "active 0, succeeded 0, failed 1, FailureTarget DeadlineExceeded, Failed DeadlineExceeded",
			"interrupted: the Job is about to end, its pods are killed\n")
		s.wantLog("0s main starts", "5s main is asked to end", "6s main ends with 137")
	})
}
