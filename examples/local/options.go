package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/jobwright/jobwright/jobcontrol"
)

// options are the arguments of the program.
type options struct {
	output     string
	logs       string
	svg        string
	backoff    time.Duration
	accounting jobcontrol.Accounting
	manifest   string
}

const usage = `Usage: local [flags] JOB.yaml

Runs the batch/v1 Job in JOB.yaml (YAML or JSON, - for standard input) to its
end on this machine, each container as a process, and prints the final Job.

Ctrl-Z (SIGTSTP) suspends the Job: its pods are stopped, then the program; fg,
bg or kill -CONT (SIGCONT) resumes it, also a Job that the manifest suspends.
Ctrl-C ends the run. Either of them a second time kills the pods.

Exit status: 0 Complete, 1 Failed, 2 input that cannot be run, 130 interrupted.

Flags:
`

// parse reads the arguments; what is wrong with them, and the help that was
// asked for, it prints to w.
func parse(args []string, w io.Writer) (options, error) {
	var o options
	flags := flag.NewFlagSet("local", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.Func("o", "`FORMAT` of the final Job on standard output: yaml (the default) or json", oneOf(&o.output, "yaml", "json"))
	flags.StringVar(&o.logs, "logs", "", "write container output to `DIR`/POD/CONTAINER.log instead of standard error")
	flags.StringVar(&o.svg, "svg", "", "draw the run into `FILE`")
	flags.DurationVar(&o.backoff, "backoff", 10*time.Second, "the first `DELAY` before failed work is tried again; later ones double")
	accounting := ""
	flags.Func("accounting", "`MODE` by which pods are counted: tracked (the default), or recount, which knows no indexes,\npolicies and suspension", oneOf(&accounting, "tracked", "recount"))
	o.output = "yaml"

	err := flags.Parse(args)
	if accounting == "recount" {
		o.accounting = jobcontrol.Recount
	}
	switch {
	case errors.Is(err, flag.ErrHelp):
		fmt.Fprint(w, usage)
		flags.SetOutput(w)
		flags.PrintDefaults()
		return o, err
	case err != nil:
	case flags.NArg() == 0:
		err = errors.New("no manifest given")
	case flags.NArg() > 1 && strings.HasPrefix(flags.Arg(1), "-"):
		err = fmt.Errorf("flags go before the manifest: %s", flags.Arg(1))
	case flags.NArg() > 1:
		err = fmt.Errorf("one manifest, not %d: %s", flags.NArg(), strings.Join(flags.Args(), " "))
	case o.backoff <= 0:
		err = fmt.Errorf("-backoff %v: must be more than 0", o.backoff)
	}
	if err != nil {
		fmt.Fprintf(w, "local: %v\n(local -h shows how it is used)\n", err)
	}
	o.manifest = flags.Arg(0)
	return o, err
}

// oneOf is the value of a flag that takes one of a few words.
func oneOf(value *string, words ...string) func(string) error {
	return func(given string) error {
		for _, word := range words {
			if given == word {
				*value = given
				return nil
			}
		}
		return fmt.Errorf("accepted: %s", strings.Join(words, ", "))
	}
}
