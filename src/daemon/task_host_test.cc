#include "daemon/task_host.h"

#include <gtest/gtest.h>

#include "host/scratch_dir.h"

namespace stint {
namespace {

TEST(TaskHost, AStateFolderIsKnownAgainOnItsMachineAlone) {
  const ScratchDir dir;
  const TaskHost here = task_host_here(dir / "", "gpu-1").value();
  EXPECT_EQ(here.name, "gpu-1");
  EXPECT_EQ(here, task_host_here(dir / "", "gpu-1").value());
  EXPECT_EQ(sight_of(here, here), TaskSight::kOurs);
  EXPECT_EQ(sight_of(task_host_here(dir / "", "gpu-2").value(), here), TaskSight::kOtherMachine);
  const ScratchDir another;
  EXPECT_EQ(sight_of(task_host_here(another / "", "gpu-1").value(), here), TaskSight::kOtherFolder);
  EXPECT_EQ(sight_of(std::nullopt, here), TaskSight::kNotSaid);
}

TEST(TaskHost, IsReadAsItWasWritten) {
  const TaskHost host{.machine = "3f\"a", .name = "gpu-1", .folder = "/var/lib/stint", .folder_id = "00ff"};
  EXPECT_EQ(parse_task_host(to_json(host)).value(), host);
  EXPECT_FALSE(parse_task_host(R"({"machine":1})").ok());
  EXPECT_FALSE(parse_task_host("").ok());
}

}  // namespace
}  // namespace stint
