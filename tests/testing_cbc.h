// Programs solved by CBC, an independent solver; skipped where it is not installed.
#pragma once

#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "base/text.h"
#include "host/process.h"
#include "host/scratch_dir.h"

namespace stint {

class CbcTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!run_command({"cbc", "quit"}, Duration::from_seconds(60)).ok())
      GTEST_SKIP() << "cbc is not installed (Debian: coinor-cbc): nothing to compare with";
  }

  /// The objective of a program in LP format.
  double solve(const std::string& program) {
    const std::string model = scratch_ / "model.lp", solution = scratch_ / "solution.txt";
    std::ofstream(model) << program;
    const auto run = run_command({"cbc", model, "solve", "solu", solution}, Duration::from_seconds(120));
    EXPECT_TRUE(run.ok());
    std::ifstream file(solution);
    std::string first;
    std::getline(file, first);  // "Optimal - objective value 40470.00000000"
    EXPECT_TRUE(first.starts_with("Optimal")) << first;
    return parse_number(first.substr(first.rfind(' ') + 1)).value_or(-1);
  }

 private:
  ScratchDir scratch_;
};

}  // namespace stint
