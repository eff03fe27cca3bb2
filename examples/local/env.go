package main

import (
	"cmp"
	"maps"
	"os"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// hostVariables are what a container finds of the environment of this
// machine: what an image would have brought. The rest stays out, so that a run
// does not depend on the shell it was started from.
var hostVariables = [...]string{"PATH", "HOME", "TMPDIR"}

// variables returns what the manifest gives the container by name: the folder
// of each volume that it mounts, and its env, whose values may refer to what
// stands before them.
func variables(pod *corev1.Pod, c *corev1.Container, volumeDir func(volume string) string) map[string]string {
	vars := make(map[string]string, len(c.Env)+len(c.VolumeMounts))
	for _, m := range c.VolumeMounts {
		vars[volumeVariable(m.Name)] = volumeDir(m.Name)
	}
	for _, e := range c.Env {
		if e.ValueFrom != nil {
			vars[e.Name], _ = podField(pod, e.ValueFrom.FieldRef.FieldPath)
		} else {
			vars[e.Name] = expand(e.Value, vars)
		}
	}
	return vars
}

// volumeVariable is the variable that holds the folder of a volume.
func volumeVariable(volume string) string {
	return "VOLUME_" + strings.ToUpper(strings.ReplaceAll(volume, "-", "_"))
}

// environ returns the whole environment of a container's process: the
// machine's part, the pod's hostname as HOSTNAME, and vars, of which each wins
// over those before it.
func environ(pod *corev1.Pod, vars map[string]string) []string {
	env := map[string]string{"HOSTNAME": cmp.Or(pod.Spec.Hostname, pod.Name)}
	for _, name := range hostVariables {
		if value, ok := os.LookupEnv(name); ok {
			env[name] = value
		}
	}
	maps.Copy(env, vars)
	list := make([]string, 0, len(env))
	for _, name := range slices.Sorted(maps.Keys(env)) {
		list = append(list, name+"="+env[name])
	}
	return list
}

// podField returns the value of a field of the pod that an env entry may refer
// to, and whether there is such a field. An absent label or annotation is "".
func podField(pod *corev1.Pod, path string) (string, bool) {
	switch path {
	case "metadata.name":
		return pod.Name, true
	case "metadata.namespace":
		return pod.Namespace, true
	case "metadata.uid":
		return string(pod.UID), true
	}
	if key, ok := subscript(path, "metadata.labels"); ok {
		return pod.Labels[key], true
	}
	if key, ok := subscript(path, "metadata.annotations"); ok {
		return pod.Annotations[key], true
	}
	return "", false
}

// subscript returns KEY of NAME['KEY'].
func subscript(path, name string) (key string, ok bool) {
	rest, ok := strings.CutPrefix(path, name+"['")
	if !ok {
		return "", false
	}
	key, ok = strings.CutSuffix(rest, "']")
	return key, ok && key != ""
}

// expand replaces each $(NAME) by the variable. $$ stands for one $; a
// reference to a variable that there is not, like anything else, stays as it
// is. These are the rules of the Container's documentation.
func expand(s string, vars map[string]string) string {
	var b strings.Builder
	for {
		i := strings.IndexByte(s, '$')
		if i < 0 || i == len(s)-1 {
			b.WriteString(s)
			return b.String()
		}
		b.WriteString(s[:i])
		after := s[i+1:]
		name, rest, closed := strings.Cut(after[1:], ")")
		value, known := vars[name]
		switch {
		case after[0] == '$':
			b.WriteByte('$')
			s = after[1:]
		case after[0] == '(' && closed && known:
			b.WriteString(value)
			s = rest
		case after[0] == '(' && closed:
			b.WriteString("$(" + name + ")")
			s = rest
		default:
			b.WriteByte('$')
			s = after
		}
	}
}

// checkEnv refuses what variables could not give the container.
func checkEnv(path *field.Path, env []corev1.EnvVar) (errs field.ErrorList) {
	for i, e := range env {
		at := path.Index(i)
		if e.Name == "" || strings.ContainsAny(e.Name, "=\x00") {
			errs = append(errs, field.Invalid(at.Child("name"), e.Name, "not the name of a variable"))
		}
		if e.ValueFrom == nil {
			continue
		}
		from := at.Child("valueFrom")
		errs = append(errs, onlyFields(from, e.ValueFrom, "no such object on this machine", "fieldRef")...)
		ref := e.ValueFrom.FieldRef
		if ref == nil {
			if len(errs) == 0 {
				errs = append(errs, field.Required(from.Child("fieldRef"), ""))
			}
			continue
		}
		if _, ok := podField(&corev1.Pod{}, ref.FieldPath); !ok {
			errs = append(errs, field.NotSupported(from.Child("fieldRef", "fieldPath"), ref.FieldPath, []string{
				"metadata.name", "metadata.namespace", "metadata.uid", "metadata.labels['KEY']", "metadata.annotations['KEY']"}))
		}
	}
	return errs
}
