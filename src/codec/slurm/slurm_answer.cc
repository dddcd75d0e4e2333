// Importer "slurm": one answer of squeue, sinfo, scontrol or sacct, as JSON or as scontrol's text.
#include "codec/slurm/slurm_answer.h"

#include <algorithm>

#include "base/text.h"
#include "codec/slurm/tres.h"

namespace stint {
namespace {

/// About 75,000 jobs of squeue --json.
constexpr size_t kMostBytes = size_t{256} << 20;
constexpr int64_t kMostMemoryMib = int64_t{1} << 40;

class SlurmImporter final : public Importer {
 public:
  SlurmImporter(const ImportOptions& options, Sink& sink) : options_(options), sink_(sink) {}

  Status feed(std::string_view bytes) override {
    if (document_.size() + bytes.size() > kMostBytes)
      return invalid("{}: larger than {} MiB: ask Slurm for less at once, by partition (-p) or by time (-S, -E)", options_.source,
                     kMostBytes >> 20);
    document_ += bytes;
    return {};
  }

  Status finish() override {
    const std::string_view text = trim(document_);
    return text.starts_with('{') ? read_slurm_json(text, options_, sink_) : read_slurm_text(text, options_, sink_);
  }

 private:
  const ImportOptions options_;
  Sink& sink_;
  std::string document_;
};

}  // namespace

Result<Node> node_of(const SlurmNode& given) {
  Node node;
  node.name = given.name;
  if (node.name.empty()) return invalid("a node without a name");
  node.instance_type = given.instance_type;
  node.vcpus = std::max<int64_t>(0, given.cpus);
  node.memory = Bytes::mebi(std::clamp<int64_t>(given.memory_mib, 0, kMostMemoryMib));
  TRY_ASSIGN(const auto gres, parse_slurm_gres(given.gres));
  bool one_model = true;
  for (const SlurmGres& entry : gres) {
    // How many devices a number of MIG instances makes is not told.
    if (entry.name != "gpu" || entry.count == 0 || mig_share(entry.type)) continue;
    node.gpu_count += entry.count;
    // gres.conf writes nvidia_a100-sxm4-80gb with AutoDetect.
    std::string type = entry.type;
    for (char& c : type)
      if (c == '_') c = '-';
    one_model &= node.gpu_model.empty() || node.gpu_model == type;
    node.gpu_model = std::move(type);
  }
  if (!one_model) node.gpu_model.clear();
  return node;
}

std::unique_ptr<Importer> make_slurm_importer(const ImportOptions& options, Sink& sink) {
  return std::make_unique<SlurmImporter>(options, sink);
}

}  // namespace stint
