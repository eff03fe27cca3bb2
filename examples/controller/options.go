package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/validation"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/client-go/tools/leaderelection"
)

// options are the arguments of the program.
type options struct {
	kubeconfig, context string

	namespace   string // of the Jobs; empty: all
	name        string
	workers     int
	batchPeriod time.Duration

	qps            float64
	burst          int
	requestTimeout time.Duration

	elect    bool
	election election

	metricsAddress, healthAddress string

	verbosity int
	logFormat string
}

// election is about the lease that the leader holds.
type election struct {
	namespace, name        string
	duration, renew, retry time.Duration
}

const usage = `Usage: controller [flags]

Reconciles the batch/v1 Jobs of a cluster whose spec.managedBy is -name.

SIGTERM and SIGINT drain: the syncs under way end, the lease is released. A
second signal ends the program at once.

Exit status: 0 drained, 1 could not start or go on, 2 flags that make no sense.

Flags:
`

// defaultName is what Jobs say in spec.managedBy to have them reconciled here.
const defaultName = "jobwright.dev/job-controller"

// parse reads the arguments; what is wrong with them, and the help that was
// asked for, it prints to w.
func parse(args []string, w io.Writer) (options, error) {
	var o options
	flags := flagSet(&o)
	err := flags.Parse(args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		fmt.Fprint(w, usage)
		flags.SetOutput(w)
		flags.PrintDefaults()
		return o, err
	case err != nil:
	case flags.NArg() > 0:
		err = fmt.Errorf("there are flags only, not %q", flags.Arg(0))
	default:
		given := map[string]bool{}
		flags.Visit(func(f *flag.Flag) { given[f.Name] = true })
		err = o.check(given)
	}
	if err != nil {
		lines := strings.ReplaceAll(err.Error(), "\n", "\ncontroller: ")
		fmt.Fprintf(w, "controller: %s\n(controller -h shows how it is used)\n", lines)
	}
	o.election.name = firstOf(o.election.name, leaseName(o))
	return o, err
}

func flagSet(o *options) *flag.FlagSet {
	flags := flag.NewFlagSet("controller", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.StringVar(&o.kubeconfig, "kubeconfig", "", "`FILE` that says where the cluster is (default: what the environment variable KUBECONFIG\nnames; without it the cluster that the program runs in)")
	flags.StringVar(&o.context, "context", "", "`CONTEXT` of the kubeconfig (default: its current one)")

	flags.StringVar(&o.namespace, "namespace", "", "the `NAMESPACE` whose Jobs are reconciled (default: all)")
	flags.StringVar(&o.name, "name", defaultName, "reconcile the Jobs whose spec.managedBy is `NAME`")
	flags.IntVar(&o.workers, "workers", 5, "how many Jobs are synced at the same time")
	flags.DurationVar(&o.batchPeriod, "batch-period", time.Second, "the least `TIME` between two syncs of a Job that its pods ask for; 0: none")

	flags.Float64Var(&o.qps, "qps", 50, "calls to the API server per second, in the long run")
	flags.IntVar(&o.burst, "burst", 100, "calls to the API server at once, after quiet")
	flags.DurationVar(&o.requestTimeout, "request-timeout", 30*time.Second, "the longest `TIME` for a call that is not a watch or a list")

	e := &o.election
	flags.BoolVar(&o.elect, "leader-elect", false, "reconcile only while holding a lease, so that there can be replicas")
	flags.StringVar(&e.name, "leader-elect-lease-name", "", "`NAME` of the lease (default: made of -name and -namespace)")
	flags.StringVar(&e.namespace, "leader-elect-lease-namespace", "", "`NAMESPACE` of the lease (default: that of the pod the program runs in, or of the context of the kubeconfig)")
	flags.DurationVar(&e.duration, "leader-elect-lease-duration", 15*time.Second, "the `TIME` after which a lease that is not renewed may be taken, in whole seconds")
	flags.DurationVar(&e.renew, "leader-elect-renew-deadline", 10*time.Second, "the `TIME` after which a leader that cannot renew its lease gives up")
	flags.DurationVar(&e.retry, "leader-elect-retry-period", 2*time.Second, "the `TIME` between two attempts to take or renew the lease")

	flags.StringVar(&o.metricsAddress, "metrics-address", "", "serve /metrics on `HOST:PORT`; port 0: a free one, which is logged (default: off)")
	flags.StringVar(&o.healthAddress, "health-address", "", "serve /healthz and /readyz on `HOST:PORT`; port 0: a free one, which is logged (default: off)")

	flags.IntVar(&o.verbosity, "v", 0, "how much to log: 0 to 10, as the programs of Kubernetes count")
	flags.StringVar(&o.logFormat, "log-format", "text", "`FORMAT` of the log on standard error: text or json")
	return flags
}

// check says what makes no sense, all at once.
func (o options) check(given map[string]bool) error {
	var errs []error
	refuse := func(wrong bool, format string, args ...any) {
		if wrong {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	refuse(o.workers < 1, "-workers %d: at least 1 is needed", o.workers)
	refuse(o.qps <= 0, "-qps %v: must be more than 0", o.qps)
	refuse(o.burst < 1, "-burst %d: must be at least 1", o.burst)
	refuse(o.batchPeriod < 0, "-batch-period %v: must not be negative", o.batchPeriod)
	refuse(o.requestTimeout <= 0, "-request-timeout %v: must be more than 0", o.requestTimeout)
	refuse(o.verbosity < 0, "-v %d: must not be negative", o.verbosity)
	refuse(!slices.Contains([]string{"text", "json"}, o.logFormat), "-log-format %q: accepted: text, json", o.logFormat)
	refuse(o.metricsAddress != "" && o.metricsAddress == o.healthAddress && !strings.HasSuffix(o.healthAddress, ":0"),
		"-metrics-address and -health-address are both %s: they need one each", o.healthAddress)
	for _, a := range [][2]string{{"-metrics-address", o.metricsAddress}, {"-health-address", o.healthAddress}} {
		if _, _, err := net.SplitHostPort(a[1]); a[1] != "" && err != nil {
			refuse(true, "%s %q: must be HOST:PORT, as 127.0.0.1:8080 or :8080", a[0], a[1])
		}
	}
	errs = append(errs, o.checkNames()...)
	return errors.Join(append(errs, o.checkElection(given)...)...)
}

// checkNames goes by the rules of the API server, which would refuse the Jobs.
func (o options) checkNames() (errs []error) {
	for _, err := range utilvalidation.IsDomainPrefixedPath(field.NewPath("spec.managedBy"), o.name) {
		errs = append(errs, fmt.Errorf("-name %q: no Job can have it as spec.managedBy: %s", o.name, err.Detail))
	}
	if len(o.name) > maxManagedBy {
		errs = append(errs, fmt.Errorf("-name %q: no Job can have it as spec.managedBy: longer than %d bytes", o.name, maxManagedBy))
	}
	for _, n := range [][2]string{{"-namespace", o.namespace}, {"-leader-elect-lease-namespace", o.election.namespace}} {
		if reasons := validation.ValidateNamespaceName(n[1], false); n[1] != "" && len(reasons) > 0 {
			errs = append(errs, fmt.Errorf("%s %q: %s", n[0], n[1], strings.Join(reasons, "; ")))
		}
	}
	if reasons := utilvalidation.IsDNS1123Subdomain(o.election.name); o.election.name != "" && len(reasons) > 0 {
		errs = append(errs, fmt.Errorf("-leader-elect-lease-name %q: %s", o.election.name, strings.Join(reasons, "; ")))
	}
	return errs
}

// maxManagedBy is the bound that the API server sets.
const maxManagedBy = 63

func (o options) checkElection(given map[string]bool) (errs []error) {
	if !o.elect {
		for name := range given {
			if strings.HasPrefix(name, "leader-elect-") {
				errs = append(errs, fmt.Errorf("-%s has no effect without -leader-elect", name))
			}
		}
		slices.SortFunc(errs, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
		return errs
	}
	e := o.election
	if e.duration < time.Second || e.duration%time.Second != 0 {
		errs = append(errs, fmt.Errorf("-leader-elect-lease-duration %v: must be whole seconds, at least 1s, as a Lease has it", e.duration))
	}
	if e.renew >= e.duration {
		errs = append(errs, fmt.Errorf("-leader-elect-renew-deadline %v: must be less than the lease duration, %v", e.renew, e.duration))
	}
	if least := time.Duration(float64(e.retry) * leaderelection.JitterFactor); e.retry <= 0 || e.renew <= least {
		errs = append(errs, fmt.Errorf("-leader-elect-retry-period %v: must be more than 0, and 1.2 times it less than the renew deadline, %v", e.retry, e.renew))
	}
	return errs
}

// leaseName is a name for the lease that differs where the Jobs do.
func leaseName(o options) string {
	valid := func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '.' || r == '-' {
			return r
		}
		return '-'
	}
	name := strings.Trim(strings.Map(valid, strings.ToLower(o.name)), "-.")
	if o.namespace != "" {
		name += "-" + o.namespace
	}
	return name
}

// firstOf returns given unless it is empty.
func firstOf(given, otherwise string) string {
	if given == "" {
		return otherwise
	}
	return given
}
