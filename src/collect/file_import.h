// Import of a file (plain or gzip, a tar or ZIP archive of such, or "-" for standard input) into a History through its
// format's importer.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "codec/importer.h"
#include "host/temporary_file.h"
#include "store/history_file.h"

namespace stint {

/// Where the bytes of a file lie for as long as it lives.
class LocalFile {
 public:
  explicit LocalFile(std::string path) : path_(std::move(path)) {}
  explicit LocalFile(TemporaryFile fetched) : path_(fetched.path()), fetched_(std::move(fetched)) {}
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
  std::optional<TemporaryFile> fetched_;
};

struct FileImport {
  const ImportFormat* format = nullptr;
  std::string path;
  std::string name = {};           ///< what the History calls the import; empty = `options.source`, and how many more
  std::vector<std::string> parts;  ///< further files of the same delivery: all are one import; for bills
  DeliveryOptions delivery;        ///< for bills
  ImportOptions options;           ///< `source` is filled in from `path` when empty
  /// Of files that lie elsewhere: brings one here. They are fetched one after another, each when it is read.
  std::function<Result<LocalFile>(const std::string& path)> fetch = {};
  std::string fingerprint = {};  ///< tells the bytes of such files without fetching them
};

struct ImportOutcome {
  ImportRecord record;
  bool already_there = false;  ///< the same bytes were imported before; nothing changed
  bool nothing_known = false;  ///< of metrics: none that Stint knows; nothing changed
  ImportReach reach;
  std::vector<RejectedRow> first_rejections;
  std::vector<std::string> notes = {};  ///< what was left out, and what a reader should know
  std::vector<ReplacedBill> replaced;   ///< bills whose place this import took
};

/// A bill: several files of one command are one delivery of it.
bool is_bill(const ImportFormat& format);

/// Told now and then how far the import is. @param total_bytes  0 = not known.
using ImportProgress = std::function<void(int64_t read_bytes, int64_t total_bytes)>;

Result<ImportOutcome> import_file(HistoryFile& history, const FileImport& import, Instant now,
                                  const ImportProgress& progress = {});

}  // namespace stint
