#include "backends/supervise/leftovers.h"

#include <chrono>
#include <csignal>
#include <thread>

#include "backends/local/task_folder.h"

namespace stint {
namespace {

constexpr std::chrono::seconds kLeftoversEnd(10);

}  // namespace

Result<size_t> end_leftovers_of(const std::string& mark, const std::string& folder) {
  std::vector<int64_t> found = processes_with(kRunMark, mark);
  const size_t many = found.size();
  const auto until = std::chrono::steady_clock::now() + kLeftoversEnd;
  for (; !found.empty() && std::chrono::steady_clock::now() < until; found = processes_with(kRunMark, mark)) {
    for (const int64_t pid : found)
      ::kill(static_cast<pid_t>(pid), SIGKILL);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  if (!found.empty())
    return make_error(ErrorCode::kConflict, "{}: process {} of an earlier stint run is still at work here: end it first", folder,
                      found.front());
  return many;
}

}  // namespace stint
