// Any bytes as an answer of Slurm, a comment of a job, a note of ours: values or an error; a note that was written is read back.
#include <cstdint>

#include "backends/slurm/slurm_wish.h"
#include "base/check.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const auto queue = stint::read_slurm_queue(input);
  const auto machines = stint::read_slurm_machines(input);
  (void)stint::parse_slurm_tasks(input, 1000);
  (void)stint::parse_slurm_options(input);
  const std::string note = to_text(stint::parse_slurm_note(input));
  CHECK(to_text(stint::parse_slurm_note(note)) == note, "a note is read back as another: {}", note);
  if (queue.ok() && machines.ok())
    for (const stint::SlurmEntry& entry : queue->entries)
      (void)stint::wish_of(entry, entry.required_nodes, *machines);
  return 0;
}
