package jobcontrol_test

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/jobwright/jobwright/fake"
	"github.com/jobwright/jobwright/jobcontrol"
)

// recountVector is one recorded sync of the original algorithm: what it knew,
// and what it did.
type recountVector struct {
	ID string `json:"id"`
	In struct {
		Now       time.Time     `json:"now"`
		Job       *batchv1.Job  `json:"job"`
		Pods      []*corev1.Pod `json:"pods"`
		Satisfied bool          `json:"satisfied"`
		Retries   int           `json:"retries"`
	} `json:"in"`
	Want syncResult `json:"want"`
}

// syncResult is what a sync did.
type syncResult struct {
	Creates      int                `json:"creates"`
	Deletes      []string           `json:"deletes"`
	Status       *batchv1.JobStatus `json:"status"`
	RequeueAfter string             `json:"requeueAfter"`
	Events       []string           `json:"events"`
	Error        bool               `json:"error"`
	Forget       bool               `json:"forget"`
}

// TestRecountVectors replays every *.jsonl.gz in the folder named by
// JOBCONTROL_RECOUNT_VECTORS (default: testdata/recount) through the pure core
// and through Controller.Sync.
func TestRecountVectors(t *testing.T) {
	passed, failed, _ := replay(t, "JOBCONTROL_RECOUNT_VECTORS", "recount", func(v recountVector) (diff, departs string) {
		if diff := cmp.Diff(v.Want, planned(t, v), cmpopts.EquateEmpty()); diff != "" {
			return v.ID + " through Plan (-want +got):\n" + diff, ""
		}
		if diff := cmp.Diff(v.Want, synced(t, v), cmpopts.EquateEmpty()); diff != "" {
			return v.ID + " through Sync (-want +got):\n" + diff, ""
		}
		return "", ""
	})
	fmt.Printf("vectors: %d passed, %d failed\n", passed, failed)
}

// replay reads every *.jsonl.gz in the folder named by the environment, or else
// in that folder of testdata, and checks each line: a difference fails the test,
// unless it is a departure with a name.
func replay[V any](t *testing.T, env, folder string, check func(V) (diff, departs string)) (passed, failed, departed int) {
	t.Helper()
	dir := os.Getenv(env)
	if dir == "" {
		dir = filepath.Join("testdata", folder)
	}
	for _, file := range vectorFiles(t, dir) {
		for line := range vectorLines(t, file) {
			var v V
			if err := json.Unmarshal(line, &v); err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			switch diff, departs := check(v); {
			case diff == "":
				passed++
			case departs != "":
				departed++
				t.Logf("a departure: %s", departs)
			default:
				failed++
				t.Error(diff)
			}
		}
	}
	if passed == 0 {
		t.Errorf("no vector passed in %s", dir)
	}
	return passed, failed, departed
}

// planned is what the pure core makes of a vector.
func planned(t *testing.T, v recountVector) syncResult {
	t.Helper()
	d, err := jobcontrol.Plan(jobcontrol.Snapshot{
		Job: v.In.Job, Pods: v.In.Pods, Now: v.In.Now,
		Satisfied: v.In.Satisfied, Retries: v.In.Retries, Accounting: jobcontrol.Recount,
	})
	if err != nil {
		t.Fatalf("%s: Plan: %v", v.ID, err)
	}
	out := d.Settle(jobcontrol.AllDone(d))
	got := syncResult{
		Creates: len(d.Create),
		Status:  out.Status,
		Error:   out.Retry != nil,
		Forget:  out.Forget,
	}
	for _, del := range d.Delete {
		got.Deletes = append(got.Deletes, del.Pod.Name)
	}
	slices.Sort(got.Deletes)
	for _, e := range out.Events {
		got.Events = append(got.Events, e.Type+" "+e.Reason+" "+e.Message)
	}
	if out.Wake.After != 0 {
		got.RequeueAfter = out.Wake.After.String()
	}
	return got
}

// vectorFiles lists the recordings in a folder.
func vectorFiles(t *testing.T, dir string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.jsonl.gz"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no *.jsonl.gz in %s (%v)", dir, err)
	}
	return files
}

// vectorLines yields the lines of a recording.
func vectorLines(t *testing.T, file string) func(yield func([]byte) bool) {
	return func(yield func([]byte) bool) {
		f, err := os.Open(file)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		z, err := gzip.NewReader(f)
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		for r := bufio.NewReader(z); ; {
			line, err := r.ReadBytes('\n')
			if len(line) > 0 && !yield(line) {
				return
			}
			if err == io.EOF {
				return
			}
			if err != nil {
				t.Fatalf("%s: %v", file, err)
			}
		}
	}
}

// synced is what Controller.Sync makes of a vector, with the fakes around it.
func synced(t *testing.T, v recountVector) syncResult {
	t.Helper()
	const forever = 1 << 62 // how long a Controller waits for what is unseen: not part of the algorithm
	h := newHarness(t, v.In.Now, jobcontrol.Config{Accounting: jobcontrol.Recount, Patience: forever})
	h.load(v.In.Job, v.In.Pods)
	key := v.In.Job.Namespace + "/" + v.In.Job.Name
	h.queue.Requeued(key, v.In.Retries)
	if !v.In.Satisfied {
		jobcontrol.ExpectCreation(h.controller, v.In.Job.UID)
	}
	next, err := h.controller.Sync(t.Context(), key)
	got := syncResult{
		Creates: len(h.control.Calls(fake.Create)),
		Status:  h.statusWritten(),
		Events:  h.events,
		Error:   err != nil,
		Forget:  next.Forget,
	}
	for _, call := range h.control.Calls(fake.Delete) {
		got.Deletes = append(got.Deletes, call.Pod.Name)
	}
	slices.Sort(got.Deletes)
	if next.After != 0 && next.After != forever {
		got.RequeueAfter = next.After.String()
	}
	return got
}
