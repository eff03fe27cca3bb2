package main

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
)

// result is what a run left.
type result struct {
	code           int
	stdout, stderr string
}

func runArgs(stdin string, args ...string) result {
	var stdout, stderr bytes.Buffer
	code := run(args, shell{}, stdio{strings.NewReader(stdin), &stdout, &stderr})
	return result{code, stdout.String(), stderr.String()}
}

// job returns the Job on standard output.
func (r result) job(t *testing.T) *batchv1.Job {
	t.Helper()
	job, err := decodeJob([]byte(r.stdout))
	if err != nil {
		t.Fatalf("standard output is no Job: %v\n%s\n%s", err, r.stdout, r.stderr)
	}
	return job
}

// summary is the status of a Job in a line.
func summary(job *batchv1.Job) string {
	status := &job.Status
	s := fmt.Sprintf("active %d, succeeded %d, failed %d", status.Active, status.Succeeded, status.Failed)
	if status.CompletedIndexes != "" {
		s += ", completed " + status.CompletedIndexes
	}
	if status.FailedIndexes != nil {
		s += ", failed for good " + *status.FailedIndexes
	}
	for _, c := range status.Conditions {
		if c.Status == corev1.ConditionTrue {
			s += strings.TrimSuffix(fmt.Sprintf(", %s %s", c.Type, c.Reason), " ")
		}
	}
	return s
}

// manifestTest is what a manifest in testdata comes to.
type manifestTest struct {
	name, accounting string
	code             int
	want             string
	told             []string // on standard error
}

var manifestTests = []manifestTest{
	{"parallel", "tracked", 0, "active 0, succeeded 8, failed 0, SuccessCriteriaMet CompletionsReached, Complete CompletionsReached",
		[]string{"[parallel-00003] parallel-00003 begins", "pods: 3 active, 0 succeeded, 0 failed; "}},
	{"work-queue", "tracked", 0, "active 0, succeeded 3, failed 0, SuccessCriteriaMet CompletionsReached, Complete CompletionsReached",
		[]string{"] item a", "] item i", "pods: 0 active, 3 succeeded, 0 failed; "}},
	{"retry", "tracked", 0, "active 0, succeeded 6, failed 2, SuccessCriteriaMet CompletionsReached, Complete CompletionsReached",
		[]string{"/main] no luck", ": main exit code 3", ": fetch exit code 0, main exit code 0"}},
	{"deadline", "tracked", 1, "active 0, succeeded 0, failed 2, FailureTarget DeadlineExceeded, Failed DeadlineExceeded",
		[]string{"[deadline-00001] asked to stop", "[deadline-00002] asked to stop", "pods: 0 active, 0 succeeded, 0 failed, 2 stopped; "}},
	{"backoff-limit", "tracked", 1, "active 0, succeeded 0, failed 3, FailureTarget BackoffLimitExceeded, Failed BackoffLimitExceeded",
		[]string{"no luck today", ": exit code 7"}},
	{"backoff-limit", "recount", 1, "active 0, succeeded 0, failed 3, Failed BackoffLimitExceeded",
		[]string{"no luck today", ": exit code 7"}},
	{"work-queue", "recount", 0, "active 0, succeeded 3, failed 0, Complete",
		[]string{"] item a", "] item i", "pods: 0 active, 3 succeeded, 0 failed; "}},
	{"indexed", "tracked", 0, "active 0, succeeded 4, failed 1, completed 0-3, SuccessCriteriaMet CompletionsReached, Complete CompletionsReached",
		[]string{"] index 0 on indexed-0\n", "] index 3 on indexed-3\n", "pod indexed-2-00003 (index 2, attempt 1) failed after ",
			"(index 2, attempt 2) succeeded after "}},
	{"backoff-limit-per-index", "tracked", 1,
		"active 0, succeeded 4, failed 3, completed 0-2,4, failed for good 3, FailureTarget FailedIndexes, Failed FailedIndexes",
		[]string{"failed for good after ", ": index 3\n", "(index 1, attempt 2) succeeded after ", "(index 3, attempt 2) failed after "}},
	{"pod-failure-policy", "tracked", 1, "active 0, succeeded 0, failed 2, FailureTarget PodFailurePolicy, Failed PodFailurePolicy",
		[]string{"pod pod-failure-policy-1-00002 (index 1, attempt 1) failed after ", ": exit code 42: FailJob\n",
			"pod pod-failure-policy-0-00001 (index 0, attempt 1) stopped after "}},
	{"ignore-and-fail-index", "tracked", 1,
		"active 0, succeeded 2, failed 1, completed 0,2, failed for good 1, FailureTarget FailedIndexes, Failed FailedIndexes",
		[]string{": exit code 75: Ignore\n", ": exit code 65: FailIndex\n", "(index 0, attempt 3) succeeded after "}},
	{"success-policy", "tracked", 0, "active 0, succeeded 1, failed 0, completed 0, SuccessCriteriaMet SuccessPolicy, Complete SuccessPolicy",
		[]string{"(index 1, attempt 1) stopped after ", "(index 2, attempt 1) stopped after ", "SuccessPolicy: Matched rules at index 0\n"}},
}

func TestManifests(t *testing.T) {
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	t.Run("all", func(t *testing.T) {
		for _, tt := range manifestTests {
			t.Run(tt.name+"/"+tt.accounting, func(t *testing.T) {
				t.Parallel()
				tt.check(t, runArgs("", "-backoff", "50ms", "-accounting", tt.accounting, "testdata/"+tt.name+".yaml"))
			})
		}
	})
	left, err := os.ReadDir(tmp)
	if err != nil || len(left) > 0 {
		t.Errorf("left behind in the temporary folder: %v, %v", left, err)
	}
}

func (tt *manifestTest) check(t *testing.T, r result) {
	t.Helper()
	if r.code != tt.code {
		t.Errorf("exit status %d, want %d", r.code, tt.code)
	}
	job := r.job(t)
	if diff := cmp.Diff(tt.want, summary(job)); diff != "" {
		t.Errorf("final Job (-want +got):\n%s", diff)
	}
	if job.Name != tt.name {
		t.Errorf("name %s", job.Name)
	}
	for _, line := range tt.told {
		if !strings.Contains(r.stderr, line) {
			t.Errorf("not told: %s", line)
		}
	}
	if strings.Contains(r.stderr, "level=") {
		t.Error("the controller complains")
	}
	if t.Failed() {
		t.Log(r.stderr)
	}
}

func TestRunWritesLogsPictureAndJSON(t *testing.T) {
	dir := t.TempDir()
	logs, picture := filepath.Join(dir, "logs"), filepath.Join(dir, "run.svg")
	manifest := strings.Replace(minimal, `["true"]`, `[sh, -c, "echo from the container"]`, 1)
	r := runArgs(manifest, "-o", "json", "-logs", logs, "-svg", picture, "-")
	if r.code != 0 || !strings.HasPrefix(r.stdout, "{") {
		t.Errorf("exit status %d, standard output:\n%s", r.code, r.stdout)
	}
	r.job(t)
	if log, err := os.ReadFile(filepath.Join(logs, "job-00001", "main.log")); string(log) != "from the container\n" {
		t.Errorf("log %q, %v", log, err)
	}
	if strings.Contains(r.stderr, "from the container") {
		t.Errorf("the output is on standard error as well:\n%s", r.stderr)
	}
	svg, err := os.ReadFile(picture)
	if err != nil || !bytes.Contains(svg, []byte("job-00001")) {
		t.Errorf("no picture of the pod: %v", err)
	}
	wellFormed(t, svg)
}

func wellFormed(t *testing.T, svg []byte) {
	t.Helper()
	for d := xml.NewDecoder(bytes.NewReader(svg)); ; {
		switch _, err := d.Token(); {
		case errors.Is(err, io.EOF):
			return
		case err != nil:
			t.Fatal(err)
		}
	}
}

func TestOnFailureRestartsInTheSamePod(t *testing.T) {
	manifest := strings.NewReplacer("Never", "OnFailure", `["true"]`,
		`[sh, -c, 'mkdir "$VOLUME_V/once" && exit 4; echo again']
        volumeMounts: [{name: v, mountPath: /v}]
      volumes: [{name: v}]`).Replace(minimal)
	r := runArgs(manifest, "-backoff", "1ms", "-")
	if r.code != 0 || !strings.HasPrefix(summary(r.job(t)), "active 0, succeeded 1, failed 0, ") {
		t.Errorf("exit status %d, %s", r.code, summary(r.job(t)))
	}
	for _, line := range []string{"pod job-00001: main exit code 4, restart 1", "[job-00001] again"} {
		if !strings.Contains(r.stderr, line) {
			t.Errorf("not told: %s\n%s", line, r.stderr)
		}
	}
}

func TestRunRefusesBeforeAnythingStarts(t *testing.T) {
	dir := t.TempDir()
	starts := strings.Replace(minimal, `["true"]`, "[touch, "+dir+"/started]", 1)
	for name, tt := range map[string]struct {
		stdin string
		args  []string
		want  string
	}{
		"arguments":              {"", nil, "local: no manifest given\n"},
		"unsupported field":      {starts + "      hostNetwork: true\n", []string{"-"}, "local: standard input: spec.template.spec.hostNetwork: Forbidden: "},
		"unknown field":          {starts + "      hostNetwrk: true\n", []string{"-"}, `local: standard input: unknown field "spec.template.spec.hostNetwrk"`},
		"no such manifest":       {"", []string{"none.yaml"}, "local: open none.yaml: "},
		"no place for a picture": {starts, []string{"-svg", dir + "/none/run.svg", "-"}, "local: open " + dir + "/none/run.svg: "},
		"no place for logs":      {starts, []string{"-logs", "/dev/null/logs", "-"}, "local: mkdir /dev/null"},
	} {
		t.Run(name, func(t *testing.T) {
			r := runArgs(tt.stdin, tt.args...)
			if r.code != 2 || r.stdout != "" || !strings.HasPrefix(r.stderr, tt.want) {
				t.Errorf("exit status %d, stdout %q, stderr %q, want 2, nothing and %q", r.code, r.stdout, r.stderr, tt.want)
			}
			if _, err := os.Stat(dir + "/started"); err == nil {
				t.Error("a container was started")
			}
		})
	}
	t.Run("help is no failure", func(t *testing.T) {
		if r := runArgs("", "-h"); r.code != 0 || !strings.Contains(r.stderr, "Exit status") {
			t.Errorf("exit status %d, stderr %q", r.code, r.stderr)
		}
	})
}

func TestRunFailsWhenTheResultCannotBeWritten(t *testing.T) {
	var stderr bytes.Buffer
	closed, w := io.Pipe()
	closed.Close()
	code := run([]string{"-"}, shell{}, stdio{strings.NewReader(minimal), w, &stderr})
	if code != 1 || !strings.Contains(stderr.String(), "local: io: read/write on closed pipe") {
		t.Errorf("exit status %d, stderr %q", code, stderr.String())
	}
}
