#include "daemon/engine/job_names.h"

#include <algorithm>

#include "base/text.h"
#include "daemon/engine/ended_job.h"

namespace stint {

std::string JobNames::public_id_of(int64_t id) const {
  if (const sched::JobId found = find_job(s_.jobs, id); found.valid()) {
    const JobBook& job = s_.jobs[found.index()];
    return public_id(client_of(s_.fleet, job.queue), job.number, job.place_in_array());
  }
  const auto ended = s_.log.ended_job(id);
  if (!ended.ok() || !*ended) return "unknown";
  const auto decoded = decode_ended((*ended)->payload);
  return public_id(client_of_queue((*ended)->queue), decoded.ok() && decoded->job.number > 0 ? decoded->job.number : id,
                   decoded.ok() ? decoded->job.place_in_array() : std::nullopt);
}

std::optional<int64_t> JobNames::find(const std::string& client, int64_t number) const {
  if (number <= s_.unnumbered) return number >= 1 ? std::optional(number) : std::nullopt;
  const auto known = s_.numbered.find(client);
  if (known == s_.numbered.end() || number > known->second) return std::nullopt;
  std::optional<int64_t> id;
  const Status read = s_.log.read_side_rows(kNumberStream + client, number - s_.unnumbered - 1, 1,
                                            [&](int64_t, std::string_view payload) -> Status {
                                              id = parse_int(payload);
                                              return {};
                                            });
  if (read.ok() && id) return id;
  // The log cannot be read just now: who is in memory can be found all the same.
  const auto found = std::ranges::find_if(
      s_.jobs, [&](const JobBook& job) { return job.number == number && client_of(s_.fleet, job.queue) == client; });
  return found == s_.jobs.end() ? std::nullopt : std::optional(found->id);
}

int64_t JobNames::next(std::string_view client) const {
  const auto last = s_.numbered.find(client);
  return std::max(last == s_.numbered.end() ? 0 : last->second, s_.unnumbered) + 1;
}

}  // namespace stint
