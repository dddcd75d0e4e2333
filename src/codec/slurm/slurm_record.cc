#include "codec/slurm/slurm_record.h"

#include <cctype>

#include "codec/slurm/slurm_job.h"

namespace stint {
namespace {

/// `NumNodes=2`, `CPUs/Task=1`, `ReqB:S:C:T=0:0:*:*`; none for a word that only goes on.
size_t key_length(std::string_view word) {
  size_t i = 0;
  while (i < word.size() &&
         (std::isalpha(static_cast<unsigned char>(word[i])) != 0 || word[i] == '/' || word[i] == ':' || word[i] == '_'))
    ++i;
  return i > 0 && i < word.size() && word[i] == '=' && std::isupper(static_cast<unsigned char>(word[0])) != 0 ? i : 0;
}

}  // namespace

void SlurmRecord::take(std::string_view word) {
  const size_t key = key_length(word);
  if (key == 0) {
    if (last != nullptr) last->append(" ").append(word);
    return;
  }
  const std::string_view name = word.substr(0, key);
  const std::string_view value = word.substr(key + 1);
  // Repeated for each group of nodes with the same share.
  if (name == "Nodes" && fields.contains("JobId")) return static_cast<void>(last = &node_gres.emplace_back(value, "").first);
  if (name == "GRES" && !node_gres.empty()) {
    node_gres.back().second = value;
    last = &node_gres.back().second;
    return;
  }
  last = &fields.try_emplace(std::string(name), value).first->second;
}

std::string SlurmRecord::text(std::string_view name) const {
  const auto it = fields.find(name);
  return it == fields.end() || is_absent_in_slurm(it->second) ? std::string() : it->second;
}

}  // namespace stint
