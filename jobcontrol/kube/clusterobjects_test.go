package kube_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobwright/jobwright/jobcontrol"
)

// podShape is what the pods of a cluster are like.
type podShape struct {
	name    string
	jobSize int // pods of a Job
	indexed bool
	phase   corev1.PodPhase
	// perSecond is how many pods of the cluster become ready, or end, in a second.
	perSecond float64
}

type message interface {
	Marshal() ([]byte, error)
}

// decoded is the object as a client gets it: every string in it is its own.
func decoded[T interface {
	kruntime.Object
	Unmarshal([]byte) error
}](tb testing.TB, obj message, into T) T {
	tb.Helper()
	data, err := obj.Marshal()
	if err == nil {
		err = into.Unmarshal(data)
	}
	if err != nil {
		tb.Fatal(err)
	}
	return into
}

var podsBegan = time.Date(2026, 1, 1, 8, 0, 0, 0, time.UTC)

// pod is a pod of a Job as an API server shows it.
func (s podShape) pod(job, index int, at time.Duration) *corev1.Pod {
	jobName, uid := fmt.Sprintf("nightly-report-%05d", job), uidOf(1, job)
	owner := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: jobName, UID: uid}}
	n := job*s.jobSize + index
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "team-a", Name: fmt.Sprintf("%s-%05x", jobName, n), GenerateName: jobName + "-",
			UID: uidOf(2, n), ResourceVersion: strconv.Itoa(100_000_000 + n),
			CreationTimestamp: metav1.NewTime(podsBegan.Add(at)),
			Labels: map[string]string{
				"app": "report", "batch.kubernetes.io/controller-uid": string(uid), "batch.kubernetes.io/job-name": jobName,
				"controller-uid": string(uid), "job-name": jobName,
			},
			Annotations:     map[string]string{"prometheus.io/scrape": "true"},
			OwnerReferences: []metav1.OwnerReference{*controlledBy(owner)},
			Finalizers:      []string{batchv1.JobTrackingFinalizer},
			ManagedFields: []metav1.ManagedFieldsEntry{
				managed("kube-controller-manager", "", 1200), managed("kubelet", "status", 1600),
			},
		},
		Spec: clusterSpec(),
	}
	if s.indexed {
		text := strconv.Itoa(index)
		pod.Labels[batchv1.JobCompletionIndexAnnotation] = text
		pod.Annotations[batchv1.JobCompletionIndexAnnotation] = text
		pod.Spec.Hostname = jobName + "-" + text
		pod.GenerateName = pod.Spec.Hostname + "-"
		pod.Name = fmt.Sprintf("%s-%05x", pod.Spec.Hostname, n)
	}
	pod.Spec.NodeName = fmt.Sprintf("ip-10-0-%d-%d.eu-central-1.compute.internal", n%4, n/4%250)
	s.status(pod, podsBegan.Add(at+3*time.Second))
	return pod
}

// status is what the kubelet says of a pod that became ready, or ended, at that
// time.
func (s podShape) status(pod *corev1.Pod, at time.Time) {
	began, now := metav1.NewTime(at.Add(-time.Second)), metav1.NewTime(at)
	ready, reason := corev1.ConditionTrue, ""
	if s.phase != corev1.PodRunning {
		ready, reason = corev1.ConditionFalse, "PodCompleted"
		pod.Finalizers = nil // it is counted
	}
	pod.Status = corev1.PodStatus{
		Phase: s.phase, HostIP: "10.0.1.17", PodIP: "10.244.3.18", QOSClass: corev1.PodQOSBurstable, StartTime: &began,
		HostIPs: []corev1.HostIP{{IP: "10.0.1.17"}}, PodIPs: []corev1.PodIP{{IP: "10.244.3.18"}},
		Conditions: []corev1.PodCondition{
			{Type: corev1.PodReadyToStartContainers, Status: ready, LastTransitionTime: now},
			{Type: corev1.PodInitialized, Status: corev1.ConditionTrue, Reason: reason, LastTransitionTime: began},
			{Type: corev1.PodReady, Status: ready, Reason: reason, LastTransitionTime: now},
			{Type: corev1.ContainersReady, Status: ready, Reason: reason, LastTransitionTime: now},
			{Type: corev1.PodScheduled, Status: corev1.ConditionTrue, LastTransitionTime: began},
		},
	}
	for _, c := range pod.Spec.Containers {
		status := corev1.ContainerStatus{
			Name: c.Name, Image: c.Image, ImageID: c.Image + "@sha256:" + strings.Repeat("e3", 32),
			ContainerID: "containerd://" + strings.Repeat("b0", 32), Started: new(ready == corev1.ConditionTrue),
			Ready: ready == corev1.ConditionTrue, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: began}},
		}
		if s.phase != corev1.PodRunning {
			end := &corev1.ContainerStateTerminated{Reason: "Completed", StartedAt: began, FinishedAt: now, ContainerID: status.ContainerID}
			if s.phase == corev1.PodFailed && c.Name == "main" {
				end.ExitCode, end.Reason = 1, "Error"
			}
			status.State = corev1.ContainerState{Terminated: end}
		}
		pod.Status.ContainerStatuses = append(pod.Status.ContainerStatuses, status)
	}
}

func uidOf(kind, n int) types.UID {
	return types.UID(fmt.Sprintf("7c9e6679-7425-40de-%04x-%012x", kind, n))
}

func managed(manager, subresource string, size int) metav1.ManagedFieldsEntry {
	return metav1.ManagedFieldsEntry{
		Manager: manager, Operation: metav1.ManagedFieldsOperationUpdate, APIVersion: "v1", Time: new(metav1.NewTime(podsBegan)),
		FieldsType: "FieldsV1", Subresource: subresource,
		FieldsV1: metav1.NewFieldsV1(`{"f:spec":"` + strings.Repeat("f", size) + `"}`),
	}
}

// clusterSpec is a pod of two containers, as admission leaves it.
func clusterSpec() corev1.PodSpec {
	container := func(name, image string) corev1.Container {
		c := corev1.Container{
			Name: name, Image: image, Command: []string{"/bin/" + name}, Args: []string{"--bucket=reports", "--region=eu-central-1"},
			Resources: corev1.ResourceRequirements{
				Requests: corev1.ResourceList{"cpu": resource.MustParse("500m"), "memory": resource.MustParse("512Mi")},
				Limits:   corev1.ResourceList{"memory": resource.MustParse("1Gi")},
			},
			VolumeMounts: []corev1.VolumeMount{
				{Name: "data", MountPath: "/data"},
				{Name: "kube-api-access-x7k2p", ReadOnly: true, MountPath: "/var/run/secrets/kubernetes.io/serviceaccount"},
			},
			TerminationMessagePath: "/dev/termination-log", TerminationMessagePolicy: "File", ImagePullPolicy: "IfNotPresent",
		}
		for i := range 6 {
			c.Env = append(c.Env, corev1.EnvVar{Name: fmt.Sprintf("SETTING_%d", i), Value: "the value of the setting"})
		}
		return c
	}
	return corev1.PodSpec{
		RestartPolicy: corev1.RestartPolicyNever, DNSPolicy: corev1.DNSClusterFirst, SchedulerName: "default-scheduler",
		ServiceAccountName: "report", TerminationGracePeriodSeconds: new(int64(30)), Priority: new(int32(0)),
		EnableServiceLinks: new(true), PreemptionPolicy: new(corev1.PreemptLowerPriority), SecurityContext: &corev1.PodSecurityContext{},
		Containers: []corev1.Container{container("main", "registry.example.com/report:1.2"), container("uploader", "registry.example.com/upload:7")},
		Volumes: []corev1.Volume{
			{Name: "data", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}},
			{Name: "kube-api-access-x7k2p", VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{
				{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{Path: "token", ExpirationSeconds: new(int64(3607))}},
				{ConfigMap: &corev1.ConfigMapProjection{LocalObjectReference: corev1.LocalObjectReference{Name: "kube-root-ca.crt"}}},
			}}}},
		},
		Tolerations: []corev1.Toleration{
			{Key: "node.kubernetes.io/not-ready", Operator: "Exists", Effect: "NoExecute", TolerationSeconds: new(int64(300))},
			{Key: "node.kubernetes.io/unreachable", Operator: "Exists", Effect: "NoExecute", TolerationSeconds: new(int64(300))},
		},
	}
}

// idleJob is a Job at rest: complete, or suspended.
func idleJob(i int, state batchv1.JobConditionType) *batchv1.Job {
	job := &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "team-a", Name: fmt.Sprintf("nightly-report-%05d", i), UID: uidOf(1, i), ResourceVersion: strconv.Itoa(100_000_000 + i),
			Generation: 1, Labels: map[string]string{"app": "report"}, CreationTimestamp: metav1.NewTime(podsBegan),
			ManagedFields: []metav1.ManagedFieldsEntry{managed("kubectl-create", "", 1200), managed("kube-controller-manager", "status", 500)},
		},
		Spec: batchv1.JobSpec{Template: corev1.PodTemplateSpec{Spec: clusterSpec()}},
		Status: batchv1.JobStatus{
			Conditions:              []batchv1.JobCondition{{Type: state, Status: corev1.ConditionTrue}},
			UncountedTerminatedPods: &batchv1.UncountedTerminatedPods{}, Ready: new(int32(0)), Terminating: new(int32(0)),
		},
	}
	jobcontrol.Default(job)
	if state == batchv1.JobSuspended {
		job.Spec.Suspend = new(true)
		return job
	}
	job.Status.StartTime, job.Status.CompletionTime, job.Status.Succeeded = new(metav1.NewTime(podsBegan)), new(metav1.NewTime(podsBegan)), 1
	return job
}
