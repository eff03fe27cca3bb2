package main

import (
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/jobwright/jobwright/jobcontrol"
)

// minimalJob returns the Job of the minimal manifest, ready to be checked.
func minimalJob(t *testing.T) *batchv1.Job {
	t.Helper()
	job, err := decodeJob([]byte(minimal))
	if err != nil {
		t.Fatal(err)
	}
	prepare(job)
	return job
}

func TestCheckNamesTheField(t *testing.T) {
	emptyDir := corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}
	const pod, container = "spec.template.spec.", "spec.template.spec.containers[0]."
	for want, change := range map[string]func(*batchv1.Job, *corev1.PodSpec, *corev1.Container){
		"metadata.name:": func(j *batchv1.Job, _ *corev1.PodSpec, _ *corev1.Container) { j.Name = "" },
		`metadata.name: Invalid value: "../up"`: func(j *batchv1.Job, _ *corev1.PodSpec, _ *corev1.Container) {
			j.Name = "../up"
		},
		`spec.managedBy: Unsupported value: "example.com/other"`: func(j *batchv1.Job, _ *corev1.PodSpec, _ *corev1.Container) {
			j.Spec.ManagedBy = new("example.com/other")
		},
		"metadata.name: Invalid value: \"job.1\": the hostname of a pod would be job.1-2:": func(j *batchv1.Job, _ *corev1.PodSpec, _ *corev1.Container) {
			j.Name = "job.1"
			j.Spec.CompletionMode, j.Spec.Completions = new(batchv1.IndexedCompletion), new(int32(3))
		},
		"spec.podReplacementPolicy: Unsupported": func(j *batchv1.Job, _ *corev1.PodSpec, _ *corev1.Container) {
			j.Spec.PodReplacementPolicy = new(batchv1.PodReplacementPolicy("Never"))
		},
		pod + "hostPID: Forbidden": func(_ *batchv1.Job, p *corev1.PodSpec, _ *corev1.Container) { p.HostPID = true },
		pod + "securityContext: Forbidden": func(_ *batchv1.Job, p *corev1.PodSpec, _ *corev1.Container) {
			p.SecurityContext = &corev1.PodSecurityContext{RunAsUser: new(int64(1))}
		},
		pod + "activeDeadlineSeconds: Invalid": func(_ *batchv1.Job, p *corev1.PodSpec, _ *corev1.Container) {
			p.ActiveDeadlineSeconds = new(int64(0))
		},
		pod + "terminationGracePeriodSeconds: Invalid": func(_ *batchv1.Job, p *corev1.PodSpec, _ *corev1.Container) {
			p.TerminationGracePeriodSeconds = new(int64(-1))
		},
		pod + "volumes[1].hostPath: Forbidden": func(_ *batchv1.Job, p *corev1.PodSpec, _ *corev1.Container) {
			p.Volumes = []corev1.Volume{{Name: "a", VolumeSource: emptyDir},
				{Name: "b", VolumeSource: corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/"}}}}
		},
		pod + `volumes[1].name: Duplicate value: "a"`: func(_ *batchv1.Job, p *corev1.PodSpec, _ *corev1.Container) {
			p.Volumes = []corev1.Volume{{Name: "a", VolumeSource: emptyDir}, {Name: "a", VolumeSource: emptyDir}}
		},
		pod + "containers: Required": func(_ *batchv1.Job, p *corev1.PodSpec, _ *corev1.Container) { p.Containers = nil },
		pod + "initContainers[0].command: Required": func(_ *batchv1.Job, p *corev1.PodSpec, _ *corev1.Container) {
			p.InitContainers = []corev1.Container{{Name: "init", Image: "busybox"}}
		},
		pod + "initContainers[0].restartPolicy: Unsupported": func(_ *batchv1.Job, p *corev1.PodSpec, c *corev1.Container) {
			p.InitContainers = []corev1.Container{{Name: "init", Command: c.Command, RestartPolicy: new(corev1.ContainerRestartPolicyNever)}}
		},
		pod + `containers[0].name: Duplicate value: "main"`: func(_ *batchv1.Job, p *corev1.PodSpec, c *corev1.Container) {
			p.InitContainers = []corev1.Container{{Name: "main", Command: c.Command}}
		},
		container + "restartPolicy: Forbidden": func(_ *batchv1.Job, _ *corev1.PodSpec, c *corev1.Container) {
			c.RestartPolicy = new(corev1.ContainerRestartPolicyAlways)
		},
		container + `name: Invalid value: "a/b"`: func(_ *batchv1.Job, _ *corev1.PodSpec, c *corev1.Container) { c.Name = "a/b" },
		container + "command: Required": func(_ *batchv1.Job, _ *corev1.PodSpec, c *corev1.Container) {
			c.Image, c.Command, c.Args = "busybox", nil, []string{"true"}
		},
		container + "livenessProbe: Forbidden": func(_ *batchv1.Job, _ *corev1.PodSpec, c *corev1.Container) {
			c.LivenessProbe = &corev1.Probe{}
		},
		container + "lifecycle: Forbidden": func(_ *batchv1.Job, _ *corev1.PodSpec, c *corev1.Container) {
			c.Lifecycle = &corev1.Lifecycle{}
		},
		container + "tty: Forbidden": func(_ *batchv1.Job, _ *corev1.PodSpec, c *corev1.Container) { c.TTY = true },
		container + "envFrom: Forbidden": func(_ *batchv1.Job, _ *corev1.PodSpec, c *corev1.Container) {
			c.EnvFrom = make([]corev1.EnvFromSource, 1)
		},
		container + "env[0].name: Invalid": func(_ *batchv1.Job, _ *corev1.PodSpec, c *corev1.Container) {
			c.Env = []corev1.EnvVar{{Name: "A=B"}}
		},
		container + "env[0].valueFrom.secretKeyRef: Forbidden": func(_ *batchv1.Job, _ *corev1.PodSpec, c *corev1.Container) {
			c.Env = []corev1.EnvVar{{Name: "A", ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{}}}}
		},
		container + "env[0].valueFrom.fieldRef: Required": func(_ *batchv1.Job, _ *corev1.PodSpec, c *corev1.Container) {
			c.Env = []corev1.EnvVar{{Name: "A", ValueFrom: &corev1.EnvVarSource{}}}
		},
		container + `env[0].valueFrom.fieldRef.fieldPath: Unsupported value: "status.podIP"`: func(_ *batchv1.Job, _ *corev1.PodSpec, c *corev1.Container) {
			c.Env = []corev1.EnvVar{{Name: "A", ValueFrom: &corev1.EnvVarSource{
				FieldRef: &corev1.ObjectFieldSelector{FieldPath: "status.podIP"}}}}
		},
		container + "volumeMounts[0].name: Not found": func(_ *batchv1.Job, _ *corev1.PodSpec, c *corev1.Container) {
			c.VolumeMounts = []corev1.VolumeMount{{Name: "none"}}
		},
		container + "volumeMounts[0].subPath: Forbidden": func(_ *batchv1.Job, p *corev1.PodSpec, c *corev1.Container) {
			p.Volumes = []corev1.Volume{{Name: "a", VolumeSource: emptyDir}}
			c.VolumeMounts = []corev1.VolumeMount{{Name: "a", SubPath: "b"}}
		},
	} {
		t.Run(want, func(t *testing.T) {
			job := minimalJob(t)
			spec := &job.Spec.Template.Spec
			change(job, spec, &spec.Containers[0])
			if err := check(job, jobcontrol.Tracked); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("error %v, want one with %s", err, want)
			}
		})
	}
	t.Run("every field at once", func(t *testing.T) {
		job := minimalJob(t)
		job.Spec.Template.Spec.HostNetwork = true
		job.Spec.Template.Spec.HostIPC = true
		err := check(job, jobcontrol.Tracked)
		for _, want := range []string{"2 problems", pod + "hostNetwork", pod + "hostIPC"} {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("error %v, want one with %s", err, want)
			}
		}
	})
}

func TestCheckAccepts(t *testing.T) {
	for name, change := range map[string]func(*batchv1.Job, *corev1.PodSpec, *corev1.Container){
		"the minimal manifest": func(*batchv1.Job, *corev1.PodSpec, *corev1.Container) {},
		"what concerns a node or a cluster": func(j *batchv1.Job, p *corev1.PodSpec, c *corev1.Container) {
			j.Spec.TTLSecondsAfterFinished = new(int32(60))
			p.NodeSelector = map[string]string{"disk": "ssd"}
			p.ServiceAccountName = "robot"
			p.DNSPolicy = corev1.DNSClusterFirst
			c.ImagePullPolicy = corev1.PullAlways
			c.Ports = []corev1.ContainerPort{{ContainerPort: 80}}
			c.Resources.Limits = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")}
		},
		"indexes and policies": func(j *batchv1.Job, p *corev1.PodSpec, _ *corev1.Container) {
			s := &j.Spec
			s.ManagedBy, s.Suspend = new(batchv1.JobControllerName), new(true)
			s.CompletionMode, s.Completions = new(batchv1.IndexedCompletion), new(int32(3))
			s.BackoffLimitPerIndex, s.MaxFailedIndexes = new(int32(1)), new(int32(1))
			s.PodReplacementPolicy = new(batchv1.Failed)
			s.PodFailurePolicy = &batchv1.PodFailurePolicy{Rules: []batchv1.PodFailurePolicyRule{{
				Action:          batchv1.PodFailurePolicyActionIgnore,
				OnPodConditions: []batchv1.PodFailurePolicyOnPodConditionsPattern{{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue}}}}}
			s.SuccessPolicy = &batchv1.SuccessPolicy{Rules: []batchv1.SuccessPolicyRule{{SucceededCount: new(int32(2))}}}
			p.Hostname = "given"
		},
		"an empty securityContext": func(_ *batchv1.Job, p *corev1.PodSpec, c *corev1.Container) {
			p.SecurityContext, c.SecurityContext = &corev1.PodSecurityContext{}, &corev1.SecurityContext{}
		},
		"a sidecar": func(_ *batchv1.Job, p *corev1.PodSpec, c *corev1.Container) {
			p.InitContainers = []corev1.Container{{Name: "proxy", Command: c.Command, RestartPolicy: new(corev1.ContainerRestartPolicyAlways)}}
		},
		"an emptyDir volume, said or not": func(_ *batchv1.Job, p *corev1.PodSpec, c *corev1.Container) {
			p.Volumes = []corev1.Volume{{Name: "a"}, {Name: "b", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}}
			c.VolumeMounts = []corev1.VolumeMount{{Name: "a", MountPath: "/a"}, {Name: "b", MountPath: "/b"}}
		},
	} {
		t.Run(name, func(t *testing.T) {
			job := minimalJob(t)
			spec := &job.Spec.Template.Spec
			change(job, spec, &spec.Containers[0])
			if err := check(job, jobcontrol.Tracked); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestCheckRefusesWhatAModeDoesNotKnow(t *testing.T) {
	job := minimalJob(t)
	job.Spec.CompletionMode, job.Spec.Completions = new(batchv1.IndexedCompletion), new(int32(3))
	if err := check(job, jobcontrol.Recount); err == nil || !strings.Contains(err.Error(), "spec.completionMode: Forbidden: not supported by recount accounting") {
		t.Errorf("error %v, want one with spec.completionMode", err)
	}
}
