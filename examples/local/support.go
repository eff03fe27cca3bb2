package main

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/jobwright/jobwright/jobcontrol"
)

// check names every field of the Job that a run on this machine would not
// honour. What is let through is listed here, so that a field that a later
// version of the API brings is refused until somebody has thought about it.
func check(job *batchv1.Job, accounting jobcontrol.Accounting) error {
	errs := checkMeta(job)
	spec := field.NewPath("spec")
	errs = append(errs, onlyFields(spec, &job.Spec, "a local run has nothing that does this",
		"parallelism", "completions", "activeDeadlineSeconds", "backoffLimit", "selector", "manualSelector", "template",
		"suspend", "completionMode", "podReplacementPolicy", // which of these a mode honours, the controller knows
		"podFailurePolicy", "successPolicy", "backoffLimitPerIndex", "maxFailedIndexes",
		"managedBy",
		"ttlSecondsAfterFinished")...) // the Job ends with the program
	errs = append(errs, checkManagedBy(spec.Child("managedBy"), job.Spec.ManagedBy)...)
	errs = append(errs, checkPod(spec.Child("template", "spec"), &job.Spec.Template.Spec)...)
	if len(errs) > 0 {
		return joinProblems(errs)
	}
	_, err := jobcontrol.Plan(jobcontrol.Snapshot{Job: job, Accounting: accounting})
	return err
}

func checkMeta(job *batchv1.Job) (errs field.ErrorList) {
	path := field.NewPath("metadata", "name")
	if job.Name == "" {
		return field.ErrorList{field.Required(path, "the pods are named after it")}
	}
	// Names become folders and log files: this also keeps them in theirs.
	for _, problem := range validation.IsDNS1123Subdomain(job.Name) {
		errs = append(errs, field.Invalid(path, job.Name, problem))
	}
	for _, problem := range validation.IsDNS1123Label(job.Namespace) {
		errs = append(errs, field.Invalid(field.NewPath("metadata", "namespace"), job.Namespace, problem))
	}
	if hostname, ok := lastHostname(job); ok {
		for _, problem := range validation.IsDNS1123Label(hostname) {
			errs = append(errs, field.Invalid(path, job.Name, fmt.Sprintf("the hostname of a pod would be %s: %s", hostname, problem)))
		}
	}
	return errs
}

// lastHostname is the longest of the hostnames that the pods of an Indexed Job
// get: each is made of the Job's name and an index.
func lastHostname(job *batchv1.Job) (hostname string, ok bool) {
	spec := &job.Spec
	if spec.CompletionMode == nil || *spec.CompletionMode != batchv1.IndexedCompletion || spec.Completions == nil || *spec.Completions < 1 {
		return "", false
	}
	return fmt.Sprintf("%s-%d", job.Name, *spec.Completions-1), true
}

// checkManagedBy refuses a Job that belongs to a controller which is not here.
func checkManagedBy(path *field.Path, name *string) field.ErrorList {
	if name == nil || *name == batchv1.JobControllerName {
		return nil
	}
	return field.ErrorList{field.NotSupported(path, *name, []string{batchv1.JobControllerName})}
}

func checkPod(path *field.Path, spec *corev1.PodSpec) field.ErrorList {
	errs := onlyFields(path, spec, "a process on this machine cannot be given this",
		"containers", "initContainers", "volumes", "restartPolicy", "terminationGracePeriodSeconds", "activeDeadlineSeconds",
		"hostname", // told in HOSTNAME
		// Where the pod runs, with what claims on the node, and under whose
		// name towards an API: here there is one node and no API.
		"nodeName", "nodeSelector", "affinity", "tolerations", "topologySpreadConstraints", "schedulerName",
		"priorityClassName", "priority", "preemptionPolicy", "overhead", "resources", "runtimeClassName",
		"serviceAccountName", "serviceAccount", "automountServiceAccountToken", "imagePullSecrets", "enableServiceLinks",
		"dnsPolicy")
	if d := spec.ActiveDeadlineSeconds; d != nil && *d <= 0 {
		errs = append(errs, field.Invalid(path.Child("activeDeadlineSeconds"), *d, "must be positive"))
	}
	if g := spec.TerminationGracePeriodSeconds; g != nil && *g < 0 {
		errs = append(errs, field.Invalid(path.Child("terminationGracePeriodSeconds"), *g, "must not be negative"))
	}
	volumes, volumeErrs := checkVolumes(path.Child("volumes"), spec.Volumes)
	errs = append(errs, volumeErrs...)
	if len(spec.Containers) == 0 {
		errs = append(errs, field.Required(path.Child("containers"), "a pod needs one"))
	}
	names := make(map[string]bool)
	for i := range spec.InitContainers {
		errs = append(errs, checkContainer(path.Child("initContainers").Index(i), &spec.InitContainers[i], volumes, names)...)
	}
	for i := range spec.Containers {
		at, c := path.Child("containers").Index(i), &spec.Containers[i]
		errs = append(errs, checkContainer(at, c, volumes, names)...)
		if c.RestartPolicy != nil {
			errs = append(errs, field.Forbidden(at.Child("restartPolicy"), "only an init container can have its own here"))
		}
	}
	return errs
}

// checkVolumes returns the names of the volumes, and what is wrong with them.
func checkVolumes(path *field.Path, volumes []corev1.Volume) (names map[string]bool, errs field.ErrorList) {
	names = make(map[string]bool)
	for i := range volumes {
		at, v := path.Index(i), &volumes[i]
		errs = append(errs, checkName(at.Child("name"), v.Name, names)...)
		errs = append(errs, onlyFields(at, &v.VolumeSource, "only emptyDir volumes exist on this machine", "emptyDir")...)
	}
	return names, errs
}

func checkContainer(path *field.Path, c *corev1.Container, volumes, names map[string]bool) field.ErrorList {
	errs := checkName(path.Child("name"), c.Name, names)
	errs = append(errs, onlyFields(path, c, "a process on this machine cannot be given this",
		"name", "command", "args", "workingDir", "env", "volumeMounts", "restartPolicy",
		// Not pulled, not limited, not forwarded.
		"image", "imagePullPolicy", "resources", "resizePolicy", "ports",
		"terminationMessagePath", "terminationMessagePolicy")...)
	if len(c.Command) == 0 {
		errs = append(errs, field.Required(path.Child("command"), "images are not pulled, so the image's own command is not known"))
	}
	errs = append(errs, checkEnv(path.Child("env"), c.Env)...)
	for i := range c.VolumeMounts {
		at, m := path.Child("volumeMounts").Index(i), &c.VolumeMounts[i]
		if !volumes[m.Name] {
			errs = append(errs, field.NotFound(at.Child("name"), m.Name))
		}
		errs = append(errs, onlyFields(at, m, "a volume is one folder here, and the container finds its path in $"+volumeVariable(m.Name),
			"name", "mountPath")...)
	}
	if p := c.RestartPolicy; p != nil && *p != corev1.ContainerRestartPolicyAlways {
		errs = append(errs, field.NotSupported(path.Child("restartPolicy"), *p,
			[]corev1.ContainerRestartPolicy{corev1.ContainerRestartPolicyAlways}))
	}
	return errs
}

// checkName checks a name that must be a DNS label of its own among names,
// and adds it to them.
func checkName(path *field.Path, name string, names map[string]bool) (errs field.ErrorList) {
	if names[name] {
		return field.ErrorList{field.Duplicate(path, name)}
	}
	names[name] = true
	for _, problem := range validation.IsDNS1123Label(name) {
		errs = append(errs, field.Invalid(path, name, problem))
	}
	return errs
}

// onlyFields refuses every field of the struct behind object that is set and
// not among the names, which are those of the manifest.
func onlyFields(path *field.Path, object any, reason string, names ...string) (errs field.ErrorList) {
	v := reflect.ValueOf(object).Elem()
	for i := range v.NumField() {
		name, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("json"), ",")
		if !slices.Contains(names, name) && !isUnset(name, v.Field(i)) {
			errs = append(errs, field.Forbidden(path.Child(name), reason))
		}
	}
	return errs
}

func isUnset(name string, v reflect.Value) bool {
	switch {
	case name == "securityContext" && !v.IsNil(): // kubectl prints one without a wish as {}
		return v.Elem().IsZero()
	case v.Kind() == reflect.Slice:
		return v.Len() == 0
	}
	return v.IsZero()
}

// joinProblems puts each problem on a line of its own when there are several.
func joinProblems[E error](problems []E) error {
	if len(problems) == 1 {
		return problems[0]
	}
	lines := make([]string, len(problems))
	for i, problem := range problems {
		lines[i] = "\n  " + problem.Error()
	}
	return fmt.Errorf("%d problems:%s", len(problems), strings.Join(lines, ""))
}
