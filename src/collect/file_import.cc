#include "collect/file_import.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "collect/tar.h"
#include "host/file.h"

namespace stint {
namespace {

/// The same bytes read with other options are another import.
std::string full_fingerprint(const std::string& of_bytes, const ImportOptions& options) {
  std::string suffix;
  if (!options.node.empty()) suffix += ":node=" + options.node;
  if (options.zoneless.east_of_utc != Duration()) suffix += fmt::format(":zone={}", options.zoneless.east_of_utc.whole_seconds());
  if (options.at) suffix += ":at=" + format_utc(*options.at);
  return of_bytes + suffix;
}

/// Of all files of an import, in their order.
std::string joined_fingerprint(const std::vector<std::string>& of_files) {
  if (of_files.size() == 1) return of_files.front();
  std::string all;
  for (const std::string& one : of_files)
    all += one + "\n";
  return fingerprint_of_bytes(all);
}

ImportOutcome known_already(ImportRecord record) {
  ImportOutcome outcome;
  outcome.record = std::move(record);
  outcome.already_there = true;
  return outcome;
}

/// Gives the bytes of a file to one importer, or those of each file in a tar archive to one of its own.
class Feeder {
 public:
  Feeder(const ImportFormat& format, ImportOptions options, HistoryFile::Import& sink)
      : format_(format),
        options_(std::move(options)),
        sink_(sink),
        tar_(options_.source, {.begin = [this](const std::string& name) { return begin_member(name); },
                               .data = [this](std::string_view bytes) { return importer_ ? importer_->feed(bytes) : Status(); },
                               .end = [this] { return end_member(); }}) {}

  Status feed(std::string_view bytes) {
    if (shape_ == Shape::kArchive) return tar_.feed(bytes);
    if (shape_ == Shape::kPlain) return importer_->feed(bytes);
    // The first block tells.
    head_.append(bytes);
    return head_.size() < kTarBlock ? Status() : decide();
  }

  Status finish() {
    if (shape_ == Shape::kNotSeen) TRY(decide());
    if (shape_ == Shape::kPlain) return importer_->finish();
    TRY(tar_.finish());
    if (members_ == 0) return invalid("{}: the tar archive holds no files", options_.source);
    return {};
  }

 private:
  enum class Shape { kNotSeen, kPlain, kArchive };
  static constexpr size_t kTarBlock = 512;

  Status decide() {
    shape_ = is_tar(head_) ? Shape::kArchive : Shape::kPlain;
    if (shape_ == Shape::kPlain) {
      sink_.begin_file(options_.source);
      importer_ = format_.create(options_, sink_);
    }
    const std::string head = std::exchange(head_, {});
    return feed(head);
  }

  Status begin_member(const std::string& name) {
    // Macs put attributes beside each file.
    if (name.starts_with("._") || name.find("/._") != std::string::npos) return {};
    ++members_;
    ImportOptions options = options_;
    options.source = fmt::format("{}:{}", options_.source, name);
    sink_.begin_file(options.source);
    importer_ = format_.create(options, sink_);
    return {};
  }

  Status end_member() {
    if (!importer_) return {};
    TRY(importer_->finish());
    importer_.reset();
    return {};
  }

  const ImportFormat& format_;
  const ImportOptions options_;
  HistoryFile::Import& sink_;
  Shape shape_ = Shape::kNotSeen;
  std::string head_;
  std::unique_ptr<Importer> importer_;
  TarReader tar_;
  size_t members_ = 0;
};

}  // namespace

bool is_bill(const ImportFormat& format) { return format.create == make_focus_importer || format.create == make_cur_importer; }

Result<ImportOutcome> import_file(HistoryFile& history, const FileImport& import, Instant now, const ImportProgress& progress) {
  CHECK(import.format != nullptr, "no format for {}", import.path);
  ImportOptions options = import.options;
  if (options.source.empty()) options.source = import.path == "-" ? "standard input" : import.path;
  std::vector<std::string> paths = {import.path};
  paths.insert(paths.end(), import.parts.begin(), import.parts.end());
  CHECK(paths.size() == 1 || is_bill(*import.format), "{} files of {} as one import", paths.size(), import.format->name);

  // Hashing costs little beside parsing: what is known already is found before any work.
  std::vector<std::string> fingerprints;
  if (std::ranges::all_of(paths, is_regular_file)) {
    for (const std::string& path : paths) {
      TRY_ASSIGN(std::string of_file, fingerprint_of_file(path));
      fingerprints.push_back(std::move(of_file));
    }
    TRY_ASSIGN(auto known, history.find_import(import.format->name, full_fingerprint(joined_fingerprint(fingerprints), options)));
    if (known) return known_already(std::move(*known));
    fingerprints.clear();
  }

  std::string source = options.source;
  if (paths.size() > 1) source += fmt::format(" and {} more", paths.size() - 1);
  TRY_ASSIGN(const auto transaction, history.begin_import(import.format->name, source, now, import.delivery));
  for (const std::string& path : paths) {
    ImportOptions of_file = options;
    if (path != import.path) of_file.source = path == "-" ? "standard input" : path;
    TRY_ASSIGN(InputFile file, InputFile::open(path));
    Feeder feeder(*import.format, of_file, *transaction);
    for (;;) {
      TRY_ASSIGN(const std::string_view piece, file.read());
      if (piece.empty()) break;
      TRY(feeder.feed(piece));
      if (progress) progress(file.consumed_bytes(), file.total_bytes());
    }
    TRY(feeder.finish());
    fingerprints.push_back(file.fingerprint());
  }

  // Every sample names its machine: without one nothing was known, or there was nothing. Not stored, so that it can be tried again.
  const bool metrics =
      import.format->create == make_prometheus_text_importer || import.format->create == make_prometheus_range_importer;
  if (metrics && transaction->reach().nodes == 0 && transaction->first_rejections().empty()) {
    ImportOutcome nothing;
    nothing.record.kind = import.format->name;
    nothing.record.source = options.source;
    nothing.record.imported_at = now;
    nothing.nothing_known = true;
    return nothing;
  }

  const std::string fingerprint = full_fingerprint(joined_fingerprint(fingerprints), options);
  // A pipe shows only now whether its bytes are known; leaving without a commit takes all back.
  TRY_ASSIGN(auto known, history.find_import(import.format->name, fingerprint));
  if (known) return known_already(std::move(*known));
  ImportOutcome outcome;
  TRY_ASSIGN(outcome.record, transaction->commit(fingerprint));
  outcome.reach = transaction->reach();
  outcome.first_rejections = transaction->first_rejections();
  outcome.replaced = transaction->replaced_bills();
  return outcome;
}

}  // namespace stint
