package main

import (
	"bytes"
	"strings"
	"testing"
	"time"
)

func TestParseRefuses(t *testing.T) {
	for args, want := range map[string]string{
		"extra":                                  `there are flags only, not "extra"`,
		"-bogus":                                 "not defined: -bogus",
		"-workers 0":                             "-workers 0: at least 1",
		"-qps 0":                                 "-qps 0: must be more",
		"-burst 0":                               "-burst 0: must be",
		"-batch-period -1s":                      "-batch-period -1s: must not be negative",
		"-request-timeout 0":                     "-request-timeout 0s: must be more",
		"-v -1":                                  "-v -1: must not",
		"-log-format xml":                        "accepted: text, json",
		"-name job":                              "acme.io/foo",
		"-name a.b/" + strings.Repeat("x", 60):   "longer than 63",
		"-namespace A":                           `-namespace "A": `,
		"-metrics-address 80":                    `-metrics-address "80": must be HOST:PORT`,
		"-health-address :1 -metrics-address :1": "both :1",
		"-leader-elect-lease-name x":             "-leader-elect-lease-name has no effect without -leader-elect",
		"-leader-elect-renew-deadline 5s":        "has no effect",
		"-leader-elect -leader-elect-lease-name A":           `-leader-elect-lease-name "A": `,
		"-leader-elect -leader-elect-lease-duration 10500ms": "must be whole seconds",
		"-leader-elect -leader-elect-renew-deadline 15s":     "must be less than the lease duration, 15s",
		"-leader-elect -leader-elect-retry-period 9s":        "less than the renew deadline, 10s",
		"-leader-elect -leader-elect-retry-period 0s":        "must be more than 0",
		"-qps 0 -workers 0":                                  "controller: -workers 0: at least 1 is needed\ncontroller: -qps 0: must be more than 0\n",
	} {
		t.Run(args, func(t *testing.T) {
			var told bytes.Buffer
			if _, err := parse(strings.Fields(args), &told); err == nil || !strings.Contains(told.String(), want) {
				t.Errorf("error %v, want one and to be told %q:\n%s", err, want, told.String())
			}
		})
	}
}

func TestParseAccepts(t *testing.T) {
	for args, want := range map[string]func(options) bool{
		"": func(o options) bool {
			return o.name == defaultName && o.namespace == "" && !o.elect && o.metricsAddress == "" && o.healthAddress == "" &&
				o.election.duration == 15*time.Second && o.election.renew == 10*time.Second && o.election.retry == 2*time.Second
		},
		"-metrics-address 127.0.0.1:0 -health-address 127.0.0.1:0": func(o options) bool { return o.healthAddress == "127.0.0.1:0" },
		"-leader-elect": func(o options) bool { return o.elect && o.election.name == "jobwright.dev-job-controller" },
		"-leader-elect -name a.b/C_d -namespace ns":                        func(o options) bool { return o.election.name == "a.b-c-d-ns" },
		"-leader-elect -leader-elect-lease-name x -leader-elect=true -v 4": func(o options) bool { return o.election.name == "x" && o.verbosity == 4 },
	} {
		t.Run(args, func(t *testing.T) {
			var told bytes.Buffer
			if o, err := parse(strings.Fields(args), &told); err != nil || !want(o) {
				t.Errorf("options %+v, error %v", o, err)
			}
		})
	}
}
