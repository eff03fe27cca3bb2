package e2e

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
)

// requests watches what controllers ask of the API server: it counts, it
// notes what must not be (S33, S43 of the reliability rules).
type requests struct {
	// anyForm says that requests may be of other forms too: those of another
	// controller, or about another kind.
	anyForm bool

	mu         sync.Mutex
	counts     map[string]int
	owners     map[types.UID]string // of the pods created, with their names
	statuses   map[types.UID]string // Jobs whose status was written, with their names
	touched    map[types.UID]string // pods patched or deleted, with their names
	violations []string
}

// request is what a request is about.
type request struct {
	verb, resource string // "create pods", "update jobs/status"
	namespace      string
	name           string
	body           []byte
}

func (r request) String() string { return r.verb + " " + r.resource }

// wrap is for rest.Config.
func (q *requests) wrap(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) { return q.roundTrip(next, r) })
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func (q *requests) roundTrip(next http.RoundTripper, r *http.Request) (*http.Response, error) {
	about, err := read(r)
	if err != nil {
		return nil, err
	}
	if !q.anyForm {
		if fault := q.check(about, r); fault != nil {
			q.violated("%s %s/%s: %v", about, about.namespace, about.name, fault)
		}
	}
	q.count(about.String())
	response, err := next.RoundTrip(r)
	// A patch of a pod that another has replaced under its name is answered so too.
	if err == nil && response.StatusCode == http.StatusUnprocessableEntity && about.String() != "patch pods" {
		told, _ := io.ReadAll(response.Body)
		response.Body.Close()
		response.Body = io.NopCloser(bytes.NewReader(told))
		q.violated("%s %s/%s is answered 422: %s\nsent: %s", about, about.namespace, about.name, readable(told), readable(about.body))
	}
	return response, err
}

// readable is a body as a person reads it; most are protobuf.
func readable(body []byte) string {
	if obj, _, err := scheme.Codecs.UniversalDeserializer().Decode(body, nil, nil); err == nil {
		if text, err := json.Marshal(obj); err == nil {
			return string(text)
		}
	}
	return string(body)
}

func read(r *http.Request) (request, error) {
	about := request{verb: map[string]string{
		http.MethodGet: "get", http.MethodPost: "create", http.MethodPut: "update", http.MethodPatch: "patch", http.MethodDelete: "delete",
	}[r.Method]}
	path := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	for i, part := range path { // .../v1/[namespaces/NS/]RESOURCE[/NAME[/SUBRESOURCE]]
		if !strings.HasPrefix(part, "v1") || i == 0 {
			continue
		}
		rest := path[i+1:]
		if len(rest) > 2 && rest[0] == "namespaces" {
			about.namespace, rest = rest[1], rest[2:]
		}
		switch {
		case len(rest) > 2:
			about.resource, about.name = rest[0]+"/"+rest[2], rest[1]
		case len(rest) > 1:
			about.resource, about.name = rest[0], rest[1]
		case len(rest) > 0:
			about.resource = rest[0]
		}
		break
	}
	if about.verb == "get" && about.name == "" {
		about.verb = "list"
		if r.URL.Query().Get("watch") != "" {
			about.verb = "watch"
		}
	}
	if r.Body != nil {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return about, err
		}
		r.Body.Close()
		r.Body = io.NopCloser(bytes.NewReader(body))
		about.body = body
	}
	return about, nil
}

// check says what is wrong with a request, if it is not one of those that a Job
// controller makes.
func (q *requests) check(about request, r *http.Request) error {
	switch about.String() {
	case "list jobs", "watch jobs", "list pods", "watch pods", "get jobs", "get pods",
		"create events", "patch events", "update events",
		"get leases", "create leases", "update leases",
		"create selfsubjectaccessreviews", "create selfsubjectreviews":
		return nil
	case "create pods":
		return decoded(about, q.checkCreation)
	case "patch pods":
		return q.checkPatch(about, r)
	case "delete pods":
		return decoded(about, func(o *metav1.DeleteOptions) error {
			if o.Preconditions == nil || o.Preconditions.UID == nil {
				return errors.New("no UID precondition")
			}
			q.keep(&q.touched, *o.Preconditions.UID, about.name)
			return nil
		})
	case "update jobs/status":
		return decoded(about, func(job *batchv1.Job) error {
			if job.ResourceVersion == "" || job.UID == "" {
				return errors.New("no resource version or no UID")
			}
			q.keep(&q.statuses, job.UID, job.Name)
			return nil
		})
	case "delete jobs":
		return decoded(about, func(o *metav1.DeleteOptions) error {
			if o.Preconditions == nil || o.Preconditions.UID == nil || o.Preconditions.ResourceVersion == nil {
				return errors.New("no precondition of UID and resource version")
			}
			return nil
		})
	}
	return errors.New("not a request of a Job controller")
}

// decoded passes the body to check as what it should be.
func decoded[T any](about request, check func(*T) error) error {
	obj, _, err := scheme.Codecs.UniversalDeserializer().Decode(about.body, nil, nil)
	if err != nil {
		return err
	}
	typed, ok := any(obj).(*T)
	if !ok {
		return fmt.Errorf("the body is a %T", obj)
	}
	return check(typed)
}

// checkCreation is S32: whose the pod is, what holds it, and which index it has,
// alike wherever it is said.
func (q *requests) checkCreation(pod *corev1.Pod) error {
	owner := metav1.GetControllerOf(pod)
	if owner == nil || owner.Kind != "Job" || len(pod.OwnerReferences) != 1 {
		return fmt.Errorf("owners %v are not one Job", pod.OwnerReferences)
	}
	if !slices.Contains(pod.Finalizers, batchv1.JobTrackingFinalizer) {
		return fmt.Errorf("finalizers %v", pod.Finalizers)
	}
	// A Job with a selector of its own has no labels but those of its template.
	if uid, ok := pod.Labels[batchv1.ControllerUidLabel]; ok && (uid != string(owner.UID) || pod.Labels[batchv1.JobNameLabel] != owner.Name) {
		return fmt.Errorf("labels %v do not name Job %s, %s", pod.Labels, owner.Name, owner.UID)
	}
	q.keep(&q.owners, owner.UID, owner.Name)
	index, indexed := pod.Annotations[batchv1.JobCompletionIndexAnnotation]
	if indexed && (pod.Labels[batchv1.JobCompletionIndexAnnotation] != index || !strings.HasSuffix(pod.Spec.Hostname, "-"+index) ||
		!strings.HasSuffix(pod.GenerateName, "-"+index+"-")) {
		return fmt.Errorf("index %s is not that of label, hostname and name: %v, %q, %q", index, pod.Labels, pod.Spec.Hostname, pod.GenerateName)
	}
	return nil
}

// checkPatch: of a pod, only finalizers and owners are changed, and only of the
// pod that was meant.
func (q *requests) checkPatch(about request, r *http.Request) error {
	if got := r.Header.Get("Content-Type"); got != string(types.StrategicMergePatchType) {
		return fmt.Errorf("patch of type %q", got)
	}
	var patch map[string]map[string]json.RawMessage
	if err := json.Unmarshal(about.body, &patch); err != nil {
		return err
	}
	metadata := patch["metadata"]
	if len(patch) != 1 || metadata["uid"] == nil {
		return fmt.Errorf("patch %s", about.body)
	}
	for field := range metadata {
		switch field {
		case "uid", "finalizers", "$deleteFromPrimitiveList/finalizers", "ownerReferences":
		default:
			return fmt.Errorf("patch of metadata.%s", field)
		}
	}
	var uid types.UID
	if err := json.Unmarshal(metadata["uid"], &uid); err != nil {
		return err
	}
	q.keep(&q.touched, uid, about.name)
	return nil
}

func (q *requests) count(what string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.counts == nil {
		q.counts = make(map[string]int)
	}
	q.counts[what]++
}

// keep notes what a request was about, to be looked at when the test ends.
func (q *requests) keep(what *map[types.UID]string, uid types.UID, name string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if *what == nil {
		*what = make(map[types.UID]string)
	}
	(*what)[uid] = name
}

func (q *requests) violated(format string, args ...any) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.violations = append(q.violations, fmt.Sprintf(format, args...))
}

// wrong says whether anything was violated.
func (q *requests) wrong() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.violations) > 0
}

// made is how many requests of each kind were made: "patch pods".
func (q *requests) made() map[string]int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return maps.Clone(q.counts)
}
