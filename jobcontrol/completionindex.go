package jobcontrol

import (
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// noIndex is the index of a pod that has none, or contradicts itself.
const noIndex = -1

// indexer reads the completion index of pods (KEP-2214).
type indexer struct {
	jobName string
	name    string // of the annotation and the label
}

// of returns the index of a pod, or noIndex. The annotation says it; label and
// hostname, where the pod has them, must say the same. A pod is created with all
// three alike and cannot change its hostname, so one that contradicts itself was
// edited, and nobody knows which index it works on.
func (x indexer) of(pod *corev1.Pod) int {
	text, ok := pod.Annotations[x.name]
	if !ok {
		return noIndex
	}
	index := readIndex(text)
	if label, ok := pod.Labels[x.name]; ok && label != text {
		return noIndex
	}
	if index >= 0 && pod.Spec.Hostname != "" && x.contradicts(pod.Spec.Hostname, text) {
		return noIndex
	}
	return index
}

// contradicts says whether a hostname is that of another index of the Job. One
// of another form, which only an adopted pod can have, says nothing.
func (x indexer) contradicts(hostname, index string) bool {
	if at := len(x.jobName) + 1; len(hostname) == at+len(index) && hostname[at:] == index {
		return false // the usual case, without a look at the rest
	}
	rest, ok := strings.CutPrefix(hostname, x.jobName)
	if !ok || len(rest) < 2 || rest[0] != '-' || rest[1:] == index {
		return false
	}
	return readIndex(rest[1:]) >= 0
}

// readIndex reads the digits of an index: the hot path of Plan, without an
// error to allocate. What is not an index in the API's form is noIndex.
func readIndex(text string) int {
	if len(text) == 0 || len(text) > 10 || len(text) > 1 && text[0] == '0' {
		return noIndex
	}
	n := 0
	for i := range len(text) {
		digit := text[i] - '0'
		if digit > 9 {
			return noIndex
		}
		n = n*10 + int(digit)
	}
	if n > 1<<31-1 {
		return noIndex
	}
	return n
}

// failuresBefore reads how often the index of a pod had failed, counted and
// ignored, when the pod was created (KEP-3850).
func failuresBefore(pod *corev1.Pod, names Names) (counted, ignored int32) {
	read := func(name string) int32 {
		n, err := strconv.ParseInt(pod.Annotations[name], 10, 32)
		if err != nil || n < 0 {
			return 0
		}
		return int32(n)
	}
	return read(names.failureCount()), read(names.ignoredFailureCount())
}
