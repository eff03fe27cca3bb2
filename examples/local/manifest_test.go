package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"

	"github.com/jobwright/jobwright/jobcontrol"
)

// minimal is a manifest that can be run; tests add to it.
const minimal = `apiVersion: batch/v1
kind: Job
metadata:
  name: job
spec:
  template:
    spec:
      restartPolicy: Never
      containers:
      - name: main
        command: ["true"]
`

func TestReadManifest(t *testing.T) {
	const asJSON = `{"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "job"}, "spec": {"template": {"spec":
		{"restartPolicy": "Never", "containers": [{"name": "main", "command": ["true"]}]}}}}`
	file := filepath.Join(t.TempDir(), "job.yaml")
	if err := os.WriteFile(file, []byte(minimal), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct{ file, stdin string }{
		"file":                         {file, ""},
		"standard input":               {"-", minimal},
		"JSON":                         {"-", asJSON},
		"comments and empty documents": {"-", "# a comment\n---\n" + minimal + "---\n# the end\n"},
		"as read from a cluster":       {"-", minimal + "status: {succeeded: 3}\n"},
	} {
		t.Run(name, func(t *testing.T) {
			job, err := readManifest(options{manifest: tt.file, accounting: jobcontrol.Tracked}, strings.NewReader(tt.stdin))
			if err != nil {
				t.Fatal(err)
			}
			if job.Name != "job" || job.Namespace != "default" || job.UID == "" || *job.Spec.BackoffLimit != 6 {
				t.Errorf("not named, placed, identified and defaulted: %+v", job)
			}
			if diff := cmp.Diff(batchv1.JobStatus{}, job.Status); diff != "" {
				t.Errorf("status at the start (-want +got):\n%s", diff)
			}
		})
	}
}

func TestReadManifestRefuses(t *testing.T) {
	for name, tt := range map[string]struct{ manifest, want string }{
		"unknown field": {strings.Replace(minimal, "spec:", "spec:\n  paralellism: 2", 1), `unknown field "spec.paralellism"`},
		"unknown field deep down": {minimal + "        comand: [x]\n",
			`unknown field "spec.template.spec.containers[0].comand"`},
		"field given twice": {minimal + "        command: [x]\n", `key "command" already set in map`},
		"wrong type":        {strings.Replace(minimal, "spec:", "spec:\n  parallelism: two", 1), "parallelism"},
		"another kind":      {strings.Replace(minimal, "kind: Job", "kind: CronJob", 1), "this runs a batch/v1 Job, not batch/v1 CronJob"},
		"another group":     {"apiVersion: apps/v1\nkind: Deployment\n", "this runs a batch/v1 Job, not apps/v1 Deployment"},
		"no kind":           {"metadata: {name: x}\n", "apiVersion and kind must be there: batch/v1, Job"},
		"two documents":     {minimal + "---\n" + minimal, "more than one document"},
		"nothing":           {"# only a comment\n", "no Job in it"},
		"no YAML":           {"{", "yaml"},
		"spec out of range": {strings.Replace(minimal, "spec:", "spec:\n  parallelism: -1", 1), "spec.parallelism"},
		"restart policy":    {strings.Replace(minimal, "Never", "Always", 1), "spec.template.spec.restartPolicy"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := readManifest(options{manifest: "-", accounting: jobcontrol.Tracked}, strings.NewReader(tt.manifest))
			if err == nil || !strings.Contains(err.Error(), tt.want) || !strings.HasPrefix(err.Error(), "standard input: ") {
				t.Errorf("error %v, want one that names standard input and %s", err, tt.want)
			}
		})
	}
	t.Run("file that is not there", func(t *testing.T) {
		if _, err := readManifest(options{manifest: "no/such.yaml"}, nil); err == nil || !strings.Contains(err.Error(), "no/such.yaml") {
			t.Errorf("error %v, want one that names the file", err)
		}
	})
}

func TestWriteJobReadsBack(t *testing.T) {
	job, err := decodeJob([]byte(minimal))
	if err != nil {
		t.Fatal(err)
	}
	for _, format := range []string{"yaml", "json"} {
		t.Run(format, func(t *testing.T) {
			var b bytes.Buffer
			if err := writeJob(&b, job, format); err != nil {
				t.Fatal(err)
			}
			if isJSON := strings.HasPrefix(b.String(), "{"); isJSON != (format == "json") {
				t.Errorf("not %s:\n%s", format, b.String())
			}
			back, err := decodeJob(b.Bytes())
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(job, back); diff != "" {
				t.Errorf("read back (-want +got):\n%s", diff)
			}
		})
	}
}
