// Plans of launches for tests.
#pragma once

#include "launch/launch_plan.h"

namespace stint {

/// Every field differs from its default.
inline LaunchPlan whole_launch_plan() {
  const auto rate = [](int64_t dollars) { return Rate::per_hour(Money::units(dollars)); };
  return {.name = "night",
          .owner = "stint-launch-1234",
          .store = "s3://bucket/launches/night",
          .command = {"python", "train.py", "--name", "it's \"5\""},
          .environment = {{"SEED", "7"}},
          .data = "s3://bucket/data",
          .checkpoint_folder = "ck",
          .keep = 2,
          .retries = 5,
          .code_sha256 = std::string(64, 'b'),
          .code_bytes = 1234,
          .program = "s3://bucket/launches/programs/stint",
          .program_sha256 = std::string(64, 'c'),
          .gpu_model = "A100-40GB",
          .gpus = 8,
          .offers = {{"p4d.24xlarge", "us-east-1a", Market::kSpot, rate(10)},
                     {"p4d.24xlarge", "us-east-1b", Market::kSpot, rate(11)},
                     {"p4d.24xlarge", "us-east-1a", Market::kOnDemand, rate(33)}},
          .limit = rate(40),
          .clouds = R"({"aws": {}})",
          .region = "us-east-1",
          .image = "ami-1",
          .launch_template = "lt-1",
          .key_name = "key",
          .instance_profile = "trainer",
          .subnets = {{"us-east-1a", "subnet-1"}},
          .tags = {{"team", "ml"}},
          .security_groups = {"sg-1"},
          .begun = Instant::from_seconds(1'000'000),
          .deadline = Instant::from_seconds(1'000'000 + 10 * 3600),
          .takes = Duration::hours(5),
          .start_up = Duration::minutes(10),
          .lifetime = Duration::hours(24),
          .look_every = Duration::seconds(5),
          .list_lag = Duration::seconds(30),
          .ready_within = Duration::minutes(15)};
}

}  // namespace stint
