// What is to be done, as `stint pick` and `stint launch` take it from the command line.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "base/result.h"
#include "catalog/selection.h"
#include "cli/cli.h"

namespace stint {

struct WorkArguments {
  std::array<std::string, 6> models;  ///< by kind
  std::string precision = "bf16", deadline, p99;
  double tokens = 0, items = 0, qps = 0;
  bool lora = false;

  /// Is any kind of work named?
  [[nodiscard]] bool given() const;
};

enum class WorkKinds : uint8_t { kAll, kJobs };
/// `--train MODEL` and the others. @param group  of which one is to be given.
void add_work_kinds(Command& group, WorkArguments& arguments, WorkKinds kinds);
/// How much there is of it, and how exactly.
void add_work_options(Command& command, WorkArguments& arguments, WorkKinds kinds);

/// @return error for a model that is not known, or what does not go together.
Result<Work> work_of(const WorkArguments& arguments);

/// Models that the catalogue knows, by their own names. @return error naming one that it does not.
Result<std::vector<std::string>> gpu_models_of(const std::vector<std::string>& names, const Catalog& catalog);

}  // namespace stint
