// Importer: bytes in, values out through a Sink, in pieces of any size and in bounded memory.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/local_zone.h"
#include "base/result.h"
#include "base/time.h"
#include "codec/sink.h"

namespace stint {

/// Bytes in a MiB: the unit in which the tools of NVIDIA give memory.
inline constexpr double kMebibyte = 1 << 20;

/// What the bytes themselves do not say.
struct ImportOptions {
  std::string source;             ///< file name or address, for messages
  std::string node;               ///< the machine, where the format does not name it (nvidia-smi)
  LocalZone zoneless;             ///< for local times without a zone
  uint64_t header_line = 1;       ///< number of the first line, for messages
  std::optional<Instant> at;      ///< of samples without a timestamp; of what Slurm says: jobs that run ran until then
  std::string client_label = {};  ///< kubernetes: the label of pod or namespace that names the client; empty = the namespace does
};

class Importer {
 public:
  virtual ~Importer() = default;
  /// The next piece, cut anywhere. @return error when the input as a whole is not of this format
  /// (wrong header, a record larger than the limit): the import is then given up and nothing is stored.
  /// A bad row is not an error: it goes to Sink::reject and reading goes on.
  virtual Status feed(std::string_view bytes) = 0;
  /// End of input. @return error when it ends in the middle of a record that makes the rest unreadable.
  virtual Status finish() = 0;
};

/// Longest line or record an importer holds in memory.
inline constexpr size_t kMaxRecordBytes = size_t{64} << 20;

/// One entry per format; `stint import NAME`.
struct ImportFormat {
  std::string_view name;  ///< "dcgm"
  std::string_view what;  ///< one line for --help
  std::unique_ptr<Importer> (*create)(const ImportOptions&, Sink&);
  std::string_view runs_as = {};  ///< the format that tells of the same runs under the same ids; empty = none other does
  bool bill = false;              ///< its files are parts of one delivery of a bill
};

// Telemetry.
std::unique_ptr<Importer> make_nvidia_smi_importer(const ImportOptions&, Sink&);
std::unique_ptr<Importer> make_prometheus_text_importer(const ImportOptions&, Sink&);   // DCGM exporter and any text exposition
std::unique_ptr<Importer> make_prometheus_range_importer(const ImportOptions&, Sink&);  // query_range JSON
std::unique_ptr<Importer> make_genai_importer(const ImportOptions&, Sink&);             // one member file: duty cycle or memory
// Bills and jobs.
std::unique_ptr<Importer> make_focus_importer(const ImportOptions&, Sink&);
std::unique_ptr<Importer> make_cur_importer(const ImportOptions&, Sink&);
std::unique_ptr<Importer> make_azure_importer(const ImportOptions&, Sink&);         // amortized cost
std::unique_ptr<Importer> make_azure_actual_importer(const ImportOptions&, Sink&);  // actual cost
std::unique_ptr<Importer> make_gcp_importer(const ImportOptions&, Sink&);
std::unique_ptr<Importer> make_sacct_importer(const ImportOptions&, Sink&);
std::unique_ptr<Importer> make_slurm_importer(const ImportOptions&, Sink&);  // answers of squeue, sinfo, scontrol, sacct --json
std::unique_ptr<Importer> make_opencost_importer(const ImportOptions&, Sink&);
std::unique_ptr<Importer> make_kubernetes_importer(const ImportOptions&, Sink&);  // objects of its API
// Fleet, prices, tenants.
std::unique_ptr<Importer> make_inventory_importer(const ImportOptions&, Sink&);
std::unique_ptr<Importer> make_skypilot_importer(const ImportOptions&, Sink&);
std::unique_ptr<Importer> make_prices_importer(const ImportOptions&, Sink&);
std::unique_ptr<Importer> make_aws_prices_importer(const ImportOptions&, Sink&);
std::unique_ptr<Importer> make_aws_spot_prices_importer(const ImportOptions&, Sink&);
std::unique_ptr<Importer> make_azure_prices_importer(const ImportOptions&, Sink&);
std::unique_ptr<Importer> make_google_skus_importer(const ImportOptions&, Sink&);
std::unique_ptr<Importer> make_exchange_rates_importer(const ImportOptions&, Sink&);
std::unique_ptr<Importer> make_tenants_importer(const ImportOptions&, Sink&);

/// All formats, in the order --help shows them.
std::span<const ImportFormat> import_formats();
const ImportFormat* find_import_format(std::string_view name);

}  // namespace stint
