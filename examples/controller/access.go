package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// checkTimeout bounds the first call, which finds out that nobody is there.
const checkTimeout = 10 * time.Second

// right is what the program needs to be allowed.
type right struct {
	group, resource, subresource string
	namespace                    string // empty: all
	verbs                        []string
	// missed is what will not work without it; empty: nothing would.
	missed string
}

// rights are those that manifests/rbac.yaml grants.
func rights(o options) []right {
	all := []right{
		{group: "batch", resource: "jobs", namespace: o.namespace, verbs: []string{"get", "list", "watch"}},
		{group: "batch", resource: "jobs", subresource: "status", namespace: o.namespace, verbs: []string{"update"}},
		{resource: "pods", namespace: o.namespace, verbs: []string{"get", "list", "watch", "create", "delete", "patch"}},
		{group: "batch", resource: "jobs", subresource: "finalizers", namespace: o.namespace, verbs: []string{"update"},
			missed: "where the admission plugin OwnerReferencesPermissionEnforcement is on, no pod can be created"},
		{resource: "events", namespace: o.namespace, verbs: []string{"create", "patch"},
			missed: "nothing is told by events"},
	}
	if o.elect {
		all = append(all, right{group: "coordination.k8s.io", resource: "leases", namespace: o.election.namespace,
			verbs: []string{"get", "create", "update"}})
	}
	return all
}

// String says it as kubectl auth can-i and RBAC do.
func (r right) String() string {
	what := r.resource
	if r.group != "" {
		what += "." + r.group
	}
	if r.subresource != "" {
		what += "/" + r.subresource
	}
	where := "in all namespaces"
	if r.namespace != "" {
		where = "in namespace " + r.namespace
	}
	return strings.Join(r.verbs, ", ") + " " + what + " " + where
}

// checkAccess asks the API server who the program is there and whether it may do
// what it has to: an informer without rights would wait for ever. What is missed
// but can be done without is logged.
func checkAccess(ctx context.Context, client kubernetes.Interface, t target, needed []right, logger *slog.Logger) error {
	user, err := whoAmI(ctx, client)
	if err != nil {
		return unreachable(t.config.Host, err)
	}
	var denied []string
	for _, r := range needed {
		r.verbs, err = deniedVerbs(ctx, client, r)
		switch {
		case err != nil:
			return fmt.Errorf("ask %s what %s may do: %w", t.config.Host, user, err)
		case len(r.verbs) == 0:
		case r.missed != "":
			logger.Warn("a right is missing: "+r.missed, "user", user, "missing", r.String())
		default:
			denied = append(denied, r.String())
		}
	}
	if len(denied) > 0 {
		return fmt.Errorf("%s lacks rights: %s; manifests/rbac.yaml grants them to a ServiceAccount, -namespace is for who has them in one namespace only", user, strings.Join(denied, "; "))
	}
	logger.Info("connected", "server", t.config.Host, "user", user)
	return nil
}

func whoAmI(ctx context.Context, client kubernetes.Interface) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	review, err := client.AuthenticationV1().SelfSubjectReviews().Create(ctx, &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
	if apierrors.IsForbidden(err) || apierrors.IsNotFound(err) {
		return "this user", nil // who may not ask that may do other things
	}
	if err != nil {
		return "", err
	}
	return review.Status.UserInfo.Username, nil
}

// deniedVerbs returns those of the verbs that the user may not.
func deniedVerbs(ctx context.Context, client kubernetes.Interface, r right) (denied []string, err error) {
	for _, verb := range r.verbs {
		review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
			ResourceAttributes: &authorizationv1.ResourceAttributes{
				Namespace: r.namespace, Verb: verb, Group: r.group, Resource: r.resource, Subresource: r.subresource,
			},
		}}
		review, err := client.AuthorizationV1().SelfSubjectAccessReviews().Create(ctx, review, metav1.CreateOptions{})
		if err != nil {
			return nil, err
		}
		if !review.Status.Allowed {
			denied = append(denied, verb)
		}
	}
	return denied, nil
}

// unreachable says what to do about the error of the first call.
func unreachable(host string, err error) error {
	const which = "-kubeconfig and -context say which cluster it is"
	if wrapped, ok := errors.AsType[*url.Error](err); ok {
		err = wrapped.Err // without the call, which nobody knows
	}
	switch {
	case apierrors.IsUnauthorized(err):
		return fmt.Errorf("the API server %s does not accept the credentials (%w): they may have expired, or be those of another cluster; %s", host, err, which)
	case errors.As(err, new(*apierrors.StatusError)):
		return fmt.Errorf("the API server %s: %w", host, err)
	case errors.As(err, new(*tls.CertificateVerificationError)):
		return fmt.Errorf("the API server %s is not who the kubeconfig says (%w): look at its certificate-authority and server; %s", host, err, which)
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("the API server %s does not answer within %v: look whether it runs and whether the network lets this through; %s", host, checkTimeout, which)
	}
	return fmt.Errorf("cannot reach the API server %s (%w): look whether it runs; %s", host, err, which)
}
