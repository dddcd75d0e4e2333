// A Slurm that pretends (tests/slurm/fake_slurm) in a folder of its own, for tests of what drives one.
#pragma once

#include <unistd.h>

#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "backends/slurm/slurm_backend.h"
#include "base/check.h"
#include "base/text.h"
#include "host/clock.h"
#include "host/scratch_dir.h"

namespace stint {

class FakeSlurm {
 public:
  /// @param program  tests/slurm/fake_slurm
  explicit FakeSlurm(const std::string& program) {
    std::filesystem::create_directories(dir_ / "bin");
    for (const char* name : {"scontrol", "squeue", "sbatch", "scancel", "sacct"})
      std::filesystem::create_symlink(program, dir_ / (std::string("bin/") + name));
  }
  /// A backend on it; what it keeps is there when another is made.
  [[nodiscard]] std::unique_ptr<SlurmBackend> backend(SlurmOthersRules others = {}) const {
    SlurmBackendRules rules;
    rules.programs = programs();
    rules.state_folder = dir_ / "kept";
    rules.log_folder = dir_ / "logs";
    rules.others = std::move(others);
    rules.users = {{"*", {.uid = ::geteuid(), .gid = ::getegid()}}};
    rules.every = Duration::milliseconds(300);
    auto made = SlurmBackend::create(std::move(rules), now());
    CHECK(made.ok(), "{}", made.error().message);
    return std::move(made).value();
  }
  [[nodiscard]] SlurmPrograms programs() const { return {.folder = dir_ / "bin"}; }
  /// As a user does. @return its number.
  [[nodiscard]] std::string sbatch(std::vector<std::string> arguments, const std::string& script) const {
    const auto said = programs().ask("sbatch", arguments, "#!/bin/sh\n" + script + "\n");
    CHECK(said.ok(), "{}", said.error().message);
    return std::string(trim(*said));
  }
  /// Of its own state: "state/away", "state/nodes.json", "state/age".
  [[nodiscard]] std::string state(const std::string& name) const { return dir_ / ("bin/state/" + name); }
  /// Of the backend.
  [[nodiscard]] std::string kept(const std::string& name) const { return dir_ / ("kept/" + name); }

 private:
  ScratchDir dir_;
};

}  // namespace stint
