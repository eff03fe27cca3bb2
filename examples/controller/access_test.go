package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net/url"
	"strings"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	clientfake "k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/rest"
	clienttesting "k8s.io/client-go/testing"
)

// judge is a clientset of an API server that knows the user as somebody, and
// allows what it is told.
func judge(allows func(*authorizationv1.ResourceAttributes) bool) *clientfake.Clientset {
	client := clientfake.NewSimpleClientset()
	client.PrependReactor("create", "selfsubjectreviews", func(clienttesting.Action) (bool, runtime.Object, error) {
		review := &authenticationv1.SelfSubjectReview{}
		review.Status.UserInfo.Username = "somebody"
		return true, review, nil
	})
	client.PrependReactor("create", "selfsubjectaccessreviews", func(a clienttesting.Action) (bool, runtime.Object, error) {
		review := a.(clienttesting.CreateAction).GetObject().(*authorizationv1.SelfSubjectAccessReview)
		review.Status.Allowed = allows(review.Spec.ResourceAttributes)
		return true, review, nil
	})
	return client
}

func TestCheckAccess(t *testing.T) {
	o := options{namespace: "ns", elect: true, election: election{namespace: "leases-here"}}
	for name, tt := range map[string]struct {
		denies    func(*authorizationv1.ResourceAttributes) bool
		err, told string
	}{
		"all there": {func(*authorizationv1.ResourceAttributes) bool { return false }, "", "connected"},
		"a verb": {func(a *authorizationv1.ResourceAttributes) bool { return a.Resource == "pods" && a.Verb == "delete" },
			"somebody lacks rights: delete pods in namespace ns; manifests/rbac.yaml", ""},
		"a subresource": {func(a *authorizationv1.ResourceAttributes) bool { return a.Subresource == "status" },
			"lacks rights: update jobs.batch/status in namespace ns;", ""},
		"the lease": {func(a *authorizationv1.ResourceAttributes) bool { return a.Namespace == "leases-here" },
			"lacks rights: get, create, update leases.coordination.k8s.io in namespace leases-here;", ""},
		"events": {func(a *authorizationv1.ResourceAttributes) bool { return a.Resource == "events" },
			"", "nothing is told by events"},
	} {
		t.Run(name, func(t *testing.T) {
			var told bytes.Buffer
			client := judge(func(a *authorizationv1.ResourceAttributes) bool { return !tt.denies(a) })
			err := checkAccess(t.Context(), client, target{config: &rest.Config{}}, rights(o), slog.New(slog.NewTextHandler(&told, nil)))
			if (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
				t.Errorf("error %v, want %q", err, tt.err)
			}
			if !strings.Contains(told.String(), tt.told) {
				t.Errorf("want to be told %q:\n%s", tt.told, told.String())
			}
		})
	}
}

func TestUnreachable(t *testing.T) {
	call := func(err error) error { return &url.Error{Op: "Post", URL: "https://there/apis/x", Err: err} }
	for want, err := range map[string]error{
		"does not accept the credentials":     apierrors.NewUnauthorized("no"),
		"the API server there: not this one":  apierrors.NewInternalError(errors.New("x")),
		"is not who the kubeconfig says":      call(&tls.CertificateVerificationError{Err: errors.New("unknown authority")}),
		"does not answer within 10s":          call(context.DeadlineExceeded),
		"cannot reach the API server there (": call(errors.New("connection refused")),
	} {
		if status, ok := errors.AsType[*apierrors.StatusError](err); ok && !apierrors.IsUnauthorized(err) {
			status.ErrStatus.Message = "not this one"
		}
		got := unreachable("there", err)
		if !strings.Contains(got.Error(), want) || strings.Contains(got.Error(), "apis/x") {
			t.Errorf("%v, want %q and no URL of a call", got, want)
		}
	}
}
