#include "backends/slurm/slurm_rest.h"

#include <gmock/gmock.h>

#include "backends/slurm/testing_fake_slurm.h"
#include "host/file.h"

namespace stint {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

SlurmMachine slurm_node(const char* name, const char* state, const char* reason = "") {
  SlurmMachine machine;
  machine.name = name;
  machine.state = state;
  machine.reason = reason;
  return machine;
}

// n1 works and is to rest; n2 rests by us and is to rest no longer; n3 somebody else has drained; n4 is to rest and is drained already.
TEST(SlurmRest, DrainsWhatIsToRestAndResumesOnlyWhatItDrained) {
  const std::vector<SlurmMachine> machines = {slurm_node("n1", "MIXED"),
                                              slurm_node("n2", "IDLE+DRAIN", "stint-change: it rests [root@2026-10-02T00:00:00]"),
                                              slurm_node("n3", "IDLE+DRAIN", "fan"), slurm_node("n4", "ALLOCATED+DRAIN", "fan")};
  EXPECT_THAT(rest_commands(machines, {"n1", "n4", "unknown"}),
              ElementsAre(ElementsAre("scontrol", "update", "NodeName=n1", "State=DRAIN", StartsWith("Reason=stint-change")),
                          ElementsAre("scontrol", "update", "NodeName=n2", "State=RESUME")));
  EXPECT_THAT(rest_commands(machines, {"n2", "n3"}), IsEmpty()) << "n2 rests, n3 does by somebody else";
}

TEST(SlurmRest, BringsASlurmInLineAndSaysWhenItDoesNotAnswer) {
  const FakeSlurm slurm(STINT_TEST_FAKE_SLURM);
  const auto nodes = [&] { return slurm.programs().ask("scontrol", {"show", "node", "-o", "-d"}).value(); };
  ASSERT_TRUE(bring_to_rest(slurm.programs(), {"n2"}).ok());
  EXPECT_THAT(nodes(), HasSubstr("State=IDLE+DRAIN Partitions=main Reason=stint-change"));
  ASSERT_TRUE(bring_to_rest(slurm.programs(), {"n2"}).ok()) << "again: nothing is left to do";
  ASSERT_TRUE(bring_to_rest(slurm.programs(), {}).ok());
  EXPECT_THAT(nodes(), testing::Not(HasSubstr("DRAIN")));
  ASSERT_TRUE(write_file_atomically(slurm.state("away"), "").ok());
  EXPECT_FALSE(bring_to_rest(slurm.programs(), {"n2"}).ok());
}

}  // namespace
}  // namespace stint
