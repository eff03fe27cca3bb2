package main

import (
	"bytes"
	"cmp"
	"flag"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobwright/jobwright/jobcontrol"
)

var rewrite = flag.Bool("rewrite", false, "write testdata/run.svg anew")

// fixedHistory has a pod of each kind, and names and texts to be escaped and
// shortened.
func fixedHistory() *history {
	h := &history{job: named("default", "<&>"), start: time.Unix(1000, 0)}
	at := func(seconds float64) time.Time { return h.start.Add(time.Duration(seconds * float64(time.Second))) }
	h.end = at(9)
	h.pods = []*podHistory{
		{name: "ends-well", created: at(0), running: at(1), ended: at(4), phase: corev1.PodSucceeded, end: "exit code 0"},
		{name: "fails", created: at(0), running: at(0.001), ended: at(5), phase: corev1.PodFailed, end: `exit code 128 ("<no>" & more that is too long)`},
		{name: "is-restarted", created: at(1), running: at(2), ended: at(8), phase: corev1.PodFailed,
			end: "exit code 137 (signal 9)", restarts: []time.Time{at(4), at(5)}},
		{name: "never-runs-and-has-a-name-that-is-long-00004", created: at(4), ended: at(6), phase: corev1.PodFailed, stopped: true, end: "removed"},
		{name: "pending", created: at(4), phase: corev1.PodPending},
		{name: "running", created: at(4), running: at(5), phase: corev1.PodRunning},
	}
	h.marks = []mark{
		{at: at(0.5), kind: batchv1.JobSuspended, reason: "JobSuspended", message: "<later>"},
		{at: at(1.5), kind: resumed, reason: "JobResumed"},
		{at: at(8), kind: batchv1.JobFailureTarget, reason: "BackoffLimitExceeded"},
		{at: at(8.5), kind: batchv1.JobFailed, reason: "BackoffLimitExceeded"},
	}
	return h
}

func TestDrawSVG(t *testing.T) {
	const golden = "testdata/run.svg"
	var got bytes.Buffer
	if err := drawSVG(&got, fixedHistory()); err != nil {
		t.Fatal(err)
	}
	wellFormed(t, got.Bytes())
	if *rewrite {
		if err := os.WriteFile(golden, got.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := gocmp.Diff(string(want), got.String()); diff != "" {
		t.Errorf("picture; look at it, then run with -rewrite (-want +got):\n%s", diff)
	}
}

// Rows are by index and attempt, whenever the pods were created, and say what a
// failure came to.
func TestDrawSVGByIndex(t *testing.T) {
	h := &history{job: named("default", "job"), start: time.Unix(0, 0), end: time.Unix(9, 0), attempts: map[int]int{0: 3, 1: 1, 10: 1}}
	pod := func(index, attempt int, change func(*podHistory)) {
		p := &podHistory{name: fmt.Sprintf("pod-%d", len(h.pods)), index: index, attempt: attempt,
			created: h.start, ended: h.end, phase: corev1.PodFailed, end: "exit code 1"}
		change(p)
		h.pods = append(h.pods, p)
	}
	pod(10, 1, func(p *podHistory) { p.action = batchv1.PodFailurePolicyActionFailIndex })
	pod(1, 1, func(p *podHistory) { p.phase = corev1.PodSucceeded })
	pod(0, 1, func(p *podHistory) { p.stopped = true })
	pod(0, 2, func(*podHistory) {})
	pod(0, 3, func(*podHistory) {})
	var err error
	if h.failedIndexes, err = jobcontrol.ParseIndexes("0,10"); err != nil {
		t.Fatal(err)
	}
	h.marks = []mark{
		{at: time.Unix(1, 0), kind: batchv1.JobSuspended}, {at: time.Unix(2, 0), kind: resumed}, {at: time.Unix(3, 0), kind: batchv1.JobSuspended},
		{at: time.Unix(8, 0), kind: batchv1.JobFailureTarget, reason: "Because"}, {at: time.Unix(9, 0), kind: batchv1.JobFailed, reason: "Because"},
	}
	var b bytes.Buffer
	if err := drawSVG(&b, h); err != nil {
		t.Fatal(err)
	}
	wellFormed(t, b.Bytes())
	var got []string
	for _, m := range regexp.MustCompile(`>([^<>]+)</text>|fill="`+suspendedColour+`"()`).FindAllStringSubmatch(b.String(), -1) {
		got = append(got, cmp.Or(m[1], "(shade)"))
	}
	want := []string{"Job default/job", "Failed (Because) after 9s · 5 pods: 1 succeeded, 3 failed, 1 stopped",
		"pending", "running", "succeeded", "failed", "stopped", "(shade)", "suspended", "Job condition",
		"(shade)", "(shade)", "0s", "1s", "2s", "3s", "4s", "5s", "6s", "7s", "8s", "9s",
		"index 0, attempt 1", "index 0, attempt 2", "index 0, attempt 3", "index 1, attempt 1", "index 10, attempt 1",
		"Suspended 1s", "Resumed 2s", "Suspended 3s", "FailureTarget: Because 8s", "Failed 9s",
		"stopped", "exit code 1", "exit code 1: index failed", "exit code 1: FailIndex"}
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Errorf("texts of the picture (-want +got):\n%s", diff)
	}
}

func TestDrawSVGOfAnySize(t *testing.T) {
	for _, n := range []int{0, 1, 31, 500} {
		t.Run(fmt.Sprintf("pods=%d", n), func(t *testing.T) {
			h := &history{job: named("default", "job"), start: time.Unix(0, 0), end: time.Unix(0, 0)}
			for i := range n {
				h.pods = append(h.pods, &podHistory{name: fmt.Sprintf("job-%05d", i), created: h.start, phase: corev1.PodPending})
			}
			var b bytes.Buffer
			if err := drawSVG(&b, h); err != nil {
				t.Fatal(err)
			}
			wellFormed(t, b.Bytes())
			if rows := strings.Count(b.String(), `text-anchor="end">job-`); rows != n {
				t.Errorf("%d rows, want %d", rows, n)
			}
			if strings.Contains(b.String(), "NaN") || strings.Contains(b.String(), "Inf") {
				t.Error("a number that is none")
			}
		})
	}
}

func named(namespace, name string) *batchv1.Job {
	return &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
}
