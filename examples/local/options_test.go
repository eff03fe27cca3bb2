package main

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/jobwright/jobwright/jobcontrol"
)

func TestParse(t *testing.T) {
	for name, tt := range map[string]struct {
		args string
		want options
	}{
		"defaults": {"job.yaml", options{output: "yaml", backoff: 10 * time.Second, accounting: jobcontrol.Tracked, manifest: "job.yaml"}},
		"everything": {"-o json -logs l -svg s.svg -backoff 1s -accounting recount -",
			options{output: "json", logs: "l", svg: "s.svg", backoff: time.Second, accounting: jobcontrol.Recount, manifest: "-"}},
	} {
		t.Run(name, func(t *testing.T) {
			var stderr bytes.Buffer
			got, err := parse(strings.Fields(tt.args), &stderr)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got, cmp.AllowUnexported(options{})); diff != "" {
				t.Errorf("options (-want +got):\n%s", diff)
			}
			if stderr.Len() > 0 {
				t.Errorf("stderr: %s", stderr.String())
			}
		})
	}
}

func TestParseRefuses(t *testing.T) {
	for name, tt := range map[string]struct{ args, want string }{
		"no manifest":        {"", "no manifest given"},
		"two manifests":      {"a.yaml b.yaml", "one manifest, not 2: a.yaml b.yaml"},
		"flags behind":       {"a.yaml -o json", "flags go before the manifest: -o"},
		"unknown format":     {"-o xml a.yaml", `"xml" for flag -o: accepted: yaml, json`},
		"unknown accounting": {"-accounting exact a.yaml", `"exact" for flag -accounting: accepted: tracked, recount`},
		"unknown flag":       {"-x a.yaml", "-x"},
		"no back-off":        {"-backoff 0s a.yaml", "-backoff 0s: must be more than 0"},
	} {
		t.Run(name, func(t *testing.T) {
			var stderr bytes.Buffer
			if _, err := parse(strings.Fields(tt.args), &stderr); err == nil {
				t.Error("no error")
			}
			if !strings.Contains(stderr.String(), tt.want) {
				t.Errorf("stderr %q, want %q in it", stderr.String(), tt.want)
			}
		})
	}
}
