package e2e

import (
	"context"
	"strings"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobwright/jobwright/jobcontrol/kube"
)

// A quota stops a Job half-way; the user is told, and the rest follows when the
// quota is raised, though nothing tells the controller of that.
func TestQuota(t *testing.T) {
	w := newWorld(t)
	w.control(kube.Config{})
	quota := &corev1.ResourceQuota{
		ObjectMeta: metav1.ObjectMeta{Name: "pods"},
		Spec:       corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{corev1.ResourcePods: resource.MustParse("2")}},
	}
	quotas := w.client.CoreV1().ResourceQuotas(w.namespace)
	if _, err := quotas.Create(t.Context(), quota, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	watch, err := quotas.Watch(ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for event := range watch.ResultChan() { // until the quota is in force
		if current, ok := event.Object.(*corev1.ResourceQuota); ok && len(current.Status.Hard) > 0 {
			watch.Stop()
		}
	}
	w.submit(newJob("j", 4, 4))
	w.awaitPods("j", 2)
	w.awaitEvent("j", "FailedCreate", "exceeded quota")
	if job := w.awaitJob("j", "two are active", func(job *batchv1.Job) bool { return job.Status.Active == 2 }); job.Status.Failed != 0 {
		t.Errorf("failed %d, want 0: no pod has failed", job.Status.Failed)
	}
	raise := []byte(`{"spec":{"hard":{"pods":"10"}}}`)
	if _, err := quotas.Patch(t.Context(), "pods", types.MergePatchType, raise, metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	w.awaitPods("j", 4)
	for range 4 {
		w.finish("j", succeeds)
	}
	w.counts(w.awaitEnd("j", batchv1.JobComplete, batchv1.JobReasonCompletionsReached), 4, 0)
	w.wantPods("j", 4)
}

// Admission refuses the pods of a Job until somebody changes its mind, as a
// webhook would.
func TestAdmissionRefuses(t *testing.T) {
	w := newWorld(t)
	w.control(kube.Config{})
	policies := w.client.AdmissionregistrationV1()
	policy := &admissionv1.ValidatingAdmissionPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: w.namespace},
		Spec: admissionv1.ValidatingAdmissionPolicySpec{
			FailurePolicy: new(admissionv1.Fail),
			MatchConstraints: &admissionv1.MatchResources{
				NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: w.namespace}},
				ResourceRules: []admissionv1.NamedRuleWithOperations{{RuleWithOperations: admissionv1.RuleWithOperations{
					Operations: []admissionv1.OperationType{admissionv1.Create},
					Rule:       admissionv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"pods"}},
				}}},
			},
			Validations: []admissionv1.Validation{{Expression: "has(object.metadata.labels) && 'approved' in object.metadata.labels", Message: "not approved", Reason: new(metav1.StatusReasonForbidden)}},
		},
	}
	if _, err := policies.ValidatingAdmissionPolicies().Create(t.Context(), policy, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := policies.ValidatingAdmissionPolicyBindings().Create(t.Context(), &admissionv1.ValidatingAdmissionPolicyBinding{
		ObjectMeta: metav1.ObjectMeta{Name: w.namespace},
		Spec:       admissionv1.ValidatingAdmissionPolicyBindingSpec{PolicyName: w.namespace, ValidationActions: []admissionv1.ValidationAction{admissionv1.Deny}},
	}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = policies.ValidatingAdmissionPolicies().Delete(t.Context(), w.namespace, metav1.DeleteOptions{})
	}()
	w.awaitRefusal()

	w.submit(newJob("j", 2, 2))
	w.awaitEvent("j", "FailedCreate", "not approved")
	job := w.awaitJob("j", "started without pods", func(job *batchv1.Job) bool { return job.Status.StartTime != nil })
	w.counts(job, 0, 0)
	if err := policies.ValidatingAdmissionPolicyBindings().Delete(t.Context(), w.namespace, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	w.finish("j", succeeds)
	w.finish("j", succeeds)
	w.counts(w.awaitEnd("j", batchv1.JobComplete, batchv1.JobReasonCompletionsReached), 2, 0)
	w.wantPods("j", 2)
}

// awaitRefusal returns when pods of the namespace are refused. The API server
// takes a while to know a policy, and nothing tells when it does: one has to ask.
func (w *world) awaitRefusal() {
	w.t.Helper()
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{GenerateName: "probe-"}, Spec: newJob("probe", 1, 1).Spec.Template.Spec}
	again := time.NewTicker(50 * time.Millisecond)
	defer again.Stop()
	for timeout := w.timeout(); ; {
		_, err := w.client.CoreV1().Pods(w.namespace).Create(w.t.Context(), pod, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		if err != nil && strings.Contains(err.Error(), "not approved") {
			return
		}
		select {
		case <-again.C:
		case <-timeout:
			w.t.Fatalf("pods are not refused: %v", err)
		}
	}
}

// awaitEvent returns when the Job has been told of something.
func (w *world) awaitEvent(job, reason, message string) {
	w.t.Helper()
	events, err := w.client.CoreV1().Events(w.namespace).Watch(w.t.Context(), metav1.ListOptions{
		FieldSelector: "involvedObject.name=" + job + ",reason=" + reason,
	})
	if err != nil {
		w.t.Fatal(err)
	}
	defer events.Stop()
	timeout := w.timeout()
	for {
		select {
		case event := <-events.ResultChan():
			if told, ok := event.Object.(*corev1.Event); ok && strings.Contains(told.Message, message) {
				return
			}
		case <-timeout:
			w.t.Fatalf("no event %s of %s that says %q", reason, job, message)
		}
	}
}
