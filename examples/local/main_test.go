package main

import (
	"bufio"
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// asProgram, set in its environment, has the test binary be the program.
const asProgram = "JOBWRIGHT_TEST_AS_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main()
	}
	os.Exit(m.Run())
}

// Ctrl-Z gives the prompt back once the pods are gone, and fg has the Job go on.
func TestProgramStopsAndContinues(t *testing.T) {
	manifest := filepath.Join(t.TempDir(), "job.yaml")
	script := `mkdir ` + manifest + `.tried && { echo at work; exec sleep 1000; }; echo again`
	if err := os.WriteFile(manifest, []byte(strings.Replace(minimal, `["true"]`, `[sh, -c, "`+script+`"]`, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	var stdout bytes.Buffer
	cmd := exec.Command(os.Args[0], manifest)
	cmd.Env = append(os.Environ(), asProgram+"=1")
	cmd.Stdout = &stdout
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { // of one that is left when the test fails
		cmd.Process.Signal(syscall.SIGTERM)
		cmd.Process.Signal(syscall.SIGCONT)
	})
	lines := bufio.NewScanner(stderr)
	until := func(text string) {
		t.Helper()
		for lines.Scan() {
			if strings.Contains(lines.Text(), text) {
				return
			}
		}
		t.Fatalf("not told: %s", text)
	}
	signal := func(s syscall.Signal) {
		t.Helper()
		if err := cmd.Process.Signal(s); err != nil {
			t.Fatal(err)
		}
	}

	for again := range 2 {
		until("at work")
		signal(syscall.SIGTSTP)
		var status syscall.WaitStatus
		if _, err := syscall.Wait4(cmd.Process.Pid, &status, syscall.WUNTRACED, nil); err != nil || !status.Stopped() {
			t.Fatalf("not stopped: %v, %v", status, err)
		}
		until("suspended: ")
		if again == 0 {
			if err := os.Remove(manifest + ".tried"); err != nil {
				t.Fatal(err)
			}
		}
		signal(syscall.SIGCONT)
	}
	until("again")
	for lines.Scan() {
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
	if job := (result{stdout: stdout.String()}).job(t); summary(job) != completed {
		t.Errorf("final Job: %s", summary(job))
	}
}
