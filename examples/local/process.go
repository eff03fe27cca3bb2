package main

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// command is a container as it is to be run.
type command struct {
	pod, container string
	argv           []string
	env            []string // NAME=value, each name once
	dir            string   // "": that of this program
	prefix         string   // of each line of output that goes to the screen
}

// exit is how a process ended.
type exit struct {
	code   int32 // 128+n for one ended by signal n
	signal int32 // 0: it ended by itself
}

// process is a container that was started. Wait is called once; the others
// any number of times, also after the end, when they do nothing.
type process interface {
	// Wait blocks until the process has ended, and ends what it has left
	// behind.
	Wait() exit
	// Terminate asks all of the container to end.
	Terminate()
	// Kill ends the container.
	Kill()
}

// machine starts containers as processes.
type machine struct {
	logs   string // folder for POD/CONTAINER.log; "": output goes to the screen
	screen *screen
	// marker is the value of markerVariable in the environment of every process
	// of this run, which no other process has. By it those are found that left
	// the process group of their container.
	marker string
}

// markerVariable tells a process that it belongs to a container of a run.
const markerVariable = "JOBWRIGHT_CONTAINER"

// orphanOutputDelay is how long the output of a container is read on once the
// container has ended: a process that escaped may keep it open for ever.
const orphanOutputDelay = time.Second

// start starts the container in a process group of its own.
func (m *machine) start(c command) (process, error) {
	path, err := lookPath(c.argv[0], c.env)
	if err != nil {
		return nil, err
	}
	if c.dir != "" {
		// Otherwise the error of the start would blame the program.
		if _, err := os.Stat(c.dir); err != nil {
			return nil, fmt.Errorf("workingDir: %w", err)
		}
	}
	out, drain, err := m.output(c)
	if err != nil {
		return nil, err
	}
	marker := markerVariable + "=" + m.marker + "/" + c.pod + "/" + c.container
	cmd := &exec.Cmd{
		Path: path, Args: c.argv, Dir: c.dir, Env: append(c.env, marker),
		Stdout: out, Stderr: out,
		SysProcAttr: &syscall.SysProcAttr{Setpgid: true},
	}
	err = cmd.Start()
	out.Close()
	if err != nil {
		drain()
		return nil, err
	}
	return &osProcess{cmd: cmd, marker: marker, drain: drain}, nil
}

// output returns the file that a container writes to, and what waits until all
// that was written has been passed on.
func (m *machine) output(c command) (file *os.File, drain func(), err error) {
	if m.logs != "" {
		dir := filepath.Join(m.logs, c.pod)
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return nil, nil, err
		}
		// A container that is started again goes on in its log.
		file, err = os.OpenFile(filepath.Join(dir, c.container+".log"), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o644)
		return file, func() {}, err
	}
	r, w, err := os.Pipe()
	if err != nil {
		return nil, nil, err
	}
	copied := make(chan struct{})
	go func() {
		defer close(copied)
		lines := &lineWriter{screen: m.screen, prefix: c.prefix}
		io.Copy(lines, r) // ends at the end of the pipe, or at the deadline below
		lines.Close()
		r.Close()
	}()
	return w, func() {
		r.SetReadDeadline(time.Now().Add(orphanOutputDelay))
		<-copied
	}, nil
}

// osProcess is a process and what it started.
type osProcess struct {
	cmd    *exec.Cmd
	marker string
	drain  func()
}

func (p *osProcess) Wait() exit {
	p.cmd.Wait() // its error is the exit status, which is read below
	syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL)
	killMarked(p.marker)
	p.drain()
	status := p.cmd.ProcessState.Sys().(syscall.WaitStatus)
	if status.Signaled() {
		return exit{code: 128 + int32(status.Signal()), signal: int32(status.Signal())}
	}
	return exit{code: int32(status.ExitStatus())}
}

func (p *osProcess) Terminate() { p.signal(syscall.SIGTERM) }

// Kill leaves what escaped the process group to Wait, which comes to it as
// soon as the process has ended.
func (p *osProcess) Kill() { p.signal(syscall.SIGKILL) }

// signal sends the signal to the process group, if the process is still there
// to keep the number of the group its own.
func (p *osProcess) signal(signal syscall.Signal) {
	if p.cmd.Process.Signal(syscall.Signal(0)) == nil {
		syscall.Kill(-p.cmd.Process.Pid, signal)
	}
}

// lookPath finds a program as execvp does, by the PATH that the container has
// and not by ours.
func lookPath(name string, env []string) (string, error) {
	if strings.Contains(name, "/") {
		return name, nil
	}
	for _, variable := range env {
		value, ok := strings.CutPrefix(variable, "PATH=")
		if !ok {
			continue
		}
		for _, dir := range filepath.SplitList(value) {
			path := filepath.Join(cmp.Or(dir, "."), name)
			if info, err := os.Stat(path); err == nil && !info.IsDir() && info.Mode()&0o111 != 0 {
				return path, nil
			}
		}
	}
	return "", fmt.Errorf("%s: not found in the PATH of the container", name)
}
