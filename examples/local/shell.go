package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/jobwright/jobwright/jobcontrol"
)

// shell is whoever started the program and steers it by signals.
type shell struct {
	signals <-chan os.Signal
	// stop stops the program, as SIGTSTP does one that does not catch it. Where
	// nobody is there to continue it, it does nothing.
	stop func()
}

// catchSignals returns the shell behind the signals of this process.
func catchSignals() shell {
	signals := make(chan os.Signal, 8)
	for _, s := range []os.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGTSTP, syscall.SIGCONT} {
		if !signal.Ignored(s) { // as nohup(1) and shells have it
			signal.Notify(signals, s)
		}
	}
	return shell{signals, func() {
		// Go keeps its handler of SIGTSTP once there was one. SIGTTIN, which
		// nobody catches, stops as SIGTSTP does: unlike SIGSTOP not in a
		// process group that no shell watches.
		syscall.Kill(os.Getpid(), syscall.SIGTTIN)
	}}
}

// steer does with the Job what the shell asks for, until the Job has ended or
// is interrupted.
func (r *jobRun) steer(sh shell) (interrupted bool) {
	s := steering{jobRun: r, shell: sh}
	for {
		switch r.progress.jobState() {
		case jobEnded:
			return false
		case jobSuspended:
			s.idle()
		default:
			s.told = false
		}
		select {
		case <-r.progress.changed:
		case given := <-sh.signals:
			switch given {
			case syscall.SIGTSTP:
				s.suspend()
			case syscall.SIGCONT:
				s.resume()
			default:
				if s.interrupt() {
					return true
				}
			}
		}
	}
}

// steering is what has been asked for, and not yet come to pass or been undone.
type steering struct {
	*jobRun
	shell
	stopping bool // the program is to be stopped once the Job is suspended
	told     bool // that the Job is suspended
	killed   bool // the pods of a decided Job were
}

// idle is called while the Job is suspended and has no pods.
func (s *steering) idle() {
	if !s.told || s.stopping {
		s.screen.printf("suspended: fg, bg or kill -CONT %d resumes the Job", os.Getpid())
		s.told = true
	}
	if s.stopping {
		s.stopping = false
		s.screen.endProgress()
		s.stop()
	}
}

// suspend suspends the Job, to stop the program when its pods are gone. Asked a
// second time, it kills them.
func (s *steering) suspend() {
	switch state := s.progress.jobState(); {
	case s.accounting == jobcontrol.Recount:
		s.screen.printf("not suspended: -accounting recount knows no suspension")
	case state == jobDecided:
		s.screen.printf("not suspended: the Job is about to end")
	case s.stopping:
		s.kubelet.kill()
	case state == jobSuspended:
		s.stopping = true
	default:
		s.screen.printf("suspending: the pods are being stopped; Ctrl-Z again kills them")
		s.setSuspend(true)
		s.stopping = true
	}
}

// resume has the Job go on, if it is suspended or about to be.
func (s *steering) resume() {
	s.stopping = false
	s.setSuspend(false)
}

// interrupt says whether the run is to end before the Job has. A Job whose end
// is known keeps it: its pods are killed, unless they were.
func (s *steering) interrupt() bool {
	if s.progress.jobState() < jobDecided || s.killed {
		s.screen.printf("interrupted: the pods are being stopped; interrupt again to kill them")
		return true
	}
	s.screen.printf("interrupted: the Job is about to end, its pods are killed")
	s.kubelet.kill()
	s.killed = true
	return false
}

// setSuspend writes spec.suspend. Nobody else writes the spec.
func (s *steering) setSuspend(suspend bool) {
	job, err := s.cluster.FetchJob(context.Background(), s.job.Namespace, s.job.Name)
	if err == nil {
		job.ResourceVersion = ""
		job.Spec.Suspend = &suspend
		_, err = s.cluster.UpdateJob(context.Background(), job)
	}
	if err != nil {
		s.screen.printf("local: %v", err)
	}
}
