package main

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
)

var rewrite = flag.Bool("rewrite", false, "write testdata/run.svg anew")

// fixedHistory has a pod of each kind, and names and texts to be escaped and
// shortened.
func fixedHistory() *history {
	h := &history{job: "default/<&>", start: time.Unix(1000, 0)}
	at := func(seconds float64) time.Time { return h.start.Add(time.Duration(seconds * float64(time.Second))) }
	h.end = at(9)
	h.pods = []*podHistory{
		{name: "ends-well", created: at(0), running: at(1), ended: at(4), phase: corev1.PodSucceeded, end: "exit code 0"},
		{name: "fails", created: at(0), running: at(0.001), ended: at(5), phase: corev1.PodFailed, end: `exit code 128 ("<no>" & more that is too long)`},
		{name: "is-restarted", created: at(1), running: at(2), ended: at(8), phase: corev1.PodFailed,
			end: "exit code 137 (signal 9)", restarts: []time.Time{at(4), at(5)}},
		{name: "never-runs-and-has-a-name-that-is-long-00004", created: at(4), ended: at(6), phase: corev1.PodFailed, end: "removed"},
		{name: "pending", created: at(4), phase: corev1.PodPending},
		{name: "running", created: at(4), running: at(5), phase: corev1.PodRunning},
	}
	h.marks = []mark{
		{at: at(0.5), kind: batchv1.JobSuspended, message: "<later>"},
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
	if diff := cmp.Diff(string(want), got.String()); diff != "" {
		t.Errorf("picture; look at it, then run with -rewrite (-want +got):\n%s", diff)
	}
}

func TestDrawSVGOfAnySize(t *testing.T) {
	for _, n := range []int{0, 1, 31, 500} {
		t.Run(fmt.Sprintf("pods=%d", n), func(t *testing.T) {
			h := &history{job: "default/job", start: time.Unix(0, 0), end: time.Unix(0, 0)}
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
