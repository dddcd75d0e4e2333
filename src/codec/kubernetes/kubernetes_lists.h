// What of a cluster an inventory of its GPUs needs, as resources of the API.
#pragma once

#include <array>
#include <string_view>

namespace stint {

struct KubernetesResource {
  std::string_view group;  ///< "" = the core
  std::string_view resource, kind;
  bool metadata_only;  ///< owners are asked for their owners alone
  std::string_view query = {};
};

/// In the order in which they are read: what is read later may point at what was read before. A group that a cluster does not have is
/// passed over. Sources: the custom resource definitions of each project.
inline constexpr std::array<KubernetesResource, 36> kKubernetesResources = {{
    {"", "namespaces", "Namespace", true},
    {"", "nodes", "Node", false},
    {"resource.k8s.io", "resourceslices", "ResourceSlice", false},
    {"resource.k8s.io", "resourceclaims", "ResourceClaim", false},
    {"", "resourcequotas", "ResourceQuota", false},
    {"apps", "replicasets", "ReplicaSet", true},
    {"apps", "deployments", "Deployment", true},
    {"apps", "statefulsets", "StatefulSet", true},
    {"batch", "jobs", "Job", true},
    {"batch", "cronjobs", "CronJob", true},
    {"jobset.x-k8s.io", "jobsets", "JobSet", true},
    {"leaderworkerset.x-k8s.io", "leaderworkersets", "LeaderWorkerSet", true},
    {"kubeflow.org", "pytorchjobs", "PyTorchJob", true},
    {"kubeflow.org", "tfjobs", "TFJob", true},
    {"kubeflow.org", "mpijobs", "MPIJob", true},
    {"kubeflow.org", "xgboostjobs", "XGBoostJob", true},
    {"kubeflow.org", "paddlejobs", "PaddleJob", true},
    {"kubeflow.org", "jaxjobs", "JAXJob", true},
    {"trainer.kubeflow.org", "trainjobs", "TrainJob", true},
    {"kubeflow.org", "notebooks", "Notebook", true},
    {"ray.io", "rayservices", "RayService", true},
    {"ray.io", "rayjobs", "RayJob", true},
    {"ray.io", "rayclusters", "RayCluster", true},
    {"argoproj.io", "cronworkflows", "CronWorkflow", true},
    {"argoproj.io", "workflows", "Workflow", true},
    {"argoproj.io", "rollouts", "Rollout", true},
    {"tekton.dev", "pipelineruns", "PipelineRun", true},
    {"tekton.dev", "taskruns", "TaskRun", true},
    {"serving.kserve.io", "inferenceservices", "InferenceService", true},
    {"serving.kserve.io", "llminferenceservices", "LLMInferenceService", true},
    {"serving.knative.dev", "configurations", "Configuration", true},
    {"serving.knative.dev", "revisions", "Revision", true},
    {"sparkoperator.k8s.io", "sparkapplications", "SparkApplication", true},
    {"workload.codeflare.dev", "appwrappers", "AppWrapper", true},
    {"", "pods", "Pod", false},
    {"", "events", "Event", false, "&fieldSelector=type%3DWarning%2CinvolvedObject.kind%3DPod"},
}};

}  // namespace stint
