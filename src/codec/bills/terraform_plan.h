// Terraform's plan as JSON: `terraform show -json plan.out`, or OpenTofu's; format_version 0.x and 1.x.
//
// Machines of AWS (aws_instance, aws_spot_instance_request, aws_autoscaling_group, aws_eks_node_group), Google Cloud
// (google_compute_instance, google_compute_instance_group_manager and its regional form, google_container_node_pool,
// google_container_cluster) and Azure (virtual machines, scale sets, node pools of AKS) are read; other resources are counted.
// Templates that name the machine type (aws_launch_template, aws_launch_configuration,
// google_compute_instance_template) are followed by their address.
// Source of the format: https://developer.hashicorp.com/terraform/internals/json-format, read 2026-11-23.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "model/infrastructure_plan.h"

namespace stint {

/// @param source  file name, for messages. @return an error naming file and line where it is no such plan.
Result<InfrastructurePlan> read_terraform_plan(std::string_view bytes, const std::string& source);

}  // namespace stint
