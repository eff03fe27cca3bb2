package main

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/json"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/jobwright/jobwright/jobcontrol"
)

// serializer reads manifests, YAML or JSON, and writes them as YAML or as JSON.
func serializer(asYAML bool) *json.Serializer {
	scheme := runtime.NewScheme()
	if err := batchv1.AddToScheme(scheme); err != nil {
		panic(err) // the same types every time: it fails always or never
	}
	return json.NewSerializerWithOptions(json.DefaultMetaFactory, scheme, scheme,
		json.SerializerOptions{Yaml: asYAML, Pretty: true, Strict: true})
}

// readManifest returns the Job in the manifest, a file or "-" for stdin, ready
// to be stored: defaulted, with a UID, and known to be honoured here in full.
func readManifest(o options, stdin io.Reader) (*batchv1.Job, error) {
	name, data, err := "standard input", []byte(nil), error(nil)
	if o.manifest == "-" {
		data, err = io.ReadAll(stdin)
	} else {
		name = o.manifest
		data, err = os.ReadFile(name)
	}
	if err != nil {
		return nil, err
	}
	job, err := decodeJob(data)
	if err == nil {
		prepare(job)
		err = check(job, o.accounting)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return job, nil
}

// decodeJob reads the one Job in the data. Fields that a Job does not have are
// an error that names them: a misspelt one would otherwise be ignored.
func decodeJob(data []byte) (*batchv1.Job, error) {
	document, err := onlyDocument(data)
	if err != nil {
		return nil, err
	}
	object, kind, err := serializer(true).Decode(document, nil, nil)
	strict, isStrict := runtime.AsStrictDecodingError(err)
	switch wanted := batchv1.SchemeGroupVersion.WithKind("Job"); {
	case runtime.IsMissingKind(err), runtime.IsMissingVersion(err):
		return nil, errors.New("apiVersion and kind must be there: batch/v1, Job")
	case kind != nil && *kind != wanted:
		return nil, fmt.Errorf("this runs a batch/v1 Job, not %s %s", kind.GroupVersion(), kind.Kind)
	case isStrict:
		return nil, joinProblems(strict.Errors())
	case kind == nil && err != nil:
		return nil, fmt.Errorf("not a manifest: %w", err)
	case err != nil:
		return nil, err
	}
	return object.(*batchv1.Job), nil
}

// onlyDocument returns the one YAML document in the data that is more than
// comments.
func onlyDocument(data []byte) ([]byte, error) {
	var only []byte
	documents := yaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(data)))
	for {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		if isBlank(document) {
			continue
		}
		if only != nil {
			return nil, errors.New("more than one document: this runs one Job")
		}
		only = document
	}
	if only == nil {
		return nil, errors.New("no Job in it")
	}
	return only, nil
}

func isBlank(document []byte) bool {
	for line := range strings.Lines(string(document)) {
		line = strings.TrimSpace(line)
		if line != "" && !strings.HasPrefix(line, "#") && line != "---" {
			return false
		}
	}
	return true
}

// prepare does to a Job what an API server does to one that is created.
func prepare(job *batchv1.Job) {
	job.ObjectMeta = metav1.ObjectMeta{
		Namespace:   cmp.Or(job.Namespace, metav1.NamespaceDefault),
		Name:        job.Name,
		UID:         uuid.NewUUID(),
		Labels:      job.Labels,
		Annotations: job.Annotations,
	}
	job.Status = batchv1.JobStatus{}
	jobcontrol.Default(job)
}

// writeJob writes the Job with its apiVersion and kind, as yaml or json.
func writeJob(w io.Writer, job *batchv1.Job, format string) error {
	job = job.DeepCopy()
	job.SetGroupVersionKind(batchv1.SchemeGroupVersion.WithKind("Job"))
	return serializer(format == "yaml").Encode(job, w)
}
