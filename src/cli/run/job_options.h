// The flags of `stint submit`, as one table: the same words on the command line and in a script's #STINT lines.
#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "codec/slurm/script_options.h"

namespace stint {

enum class JobFlagKind {
  kText,  ///< as it stands; sizes, durations and times too: the daemon reads them
  kInteger,
  kTrue,      ///< takes no value, sets true
  kFalse,     ///< takes no value, sets false
  kPairs,     ///< KEY=VALUE, repeatable
  kTexts,     ///< repeatable, or with commas
  kTextList,  ///< repeatable, each as it stands
  kGroups,    ///< NAME:FIELD=VALUE,…, repeatable
};

struct JobFlag {
  std::string_view flag;   ///< "--gpus"
  std::string_view field;  ///< of the request: "gpus"
  JobFlagKind kind = JobFlagKind::kText;
  std::string_view help;
};
std::span<const JobFlag> job_flags();

/// Values given, by flag: "--gpus" → {"2"}. A flag without value has one empty value.
using JobValues = std::map<std::string, std::vector<std::string>, std::less<>>;

/// The #STINT words of a script. @return error naming file and line for a flag that is unknown or lacks its value.
Result<JobValues> job_values_of_script(std::string_view script, std::string_view source);

/// A request of these values: those of `over` in place of those of `under`, flag by flag.
/// @return error naming the flag and what it takes.
Result<nlohmann::ordered_json> job_request_json(const JobValues& under, const JobValues& over);

}  // namespace stint
