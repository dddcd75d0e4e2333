#include "collect/file_import.h"

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

/// Gives the bytes of a file to one importer, or those of each file in a tar archive to one of its own.
class Feeder {
 public:
  Feeder(const ImportFormat& format, ImportOptions options, Sink& sink)
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
    if (shape_ == Shape::kPlain) importer_ = format_.create(options_, sink_);
    const std::string head = std::exchange(head_, {});
    return feed(head);
  }

  Status begin_member(const std::string& name) {
    // Macs put attributes beside each file.
    if (name.starts_with("._") || name.find("/._") != std::string::npos) return {};
    ++members_;
    ImportOptions options = options_;
    options.source = fmt::format("{}:{}", options_.source, name);
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
  Sink& sink_;
  Shape shape_ = Shape::kNotSeen;
  std::string head_;
  std::unique_ptr<Importer> importer_;
  TarReader tar_;
  size_t members_ = 0;
};

}  // namespace

Result<ImportOutcome> import_file(HistoryFile& history, const FileImport& import, Instant now, const ImportProgress& progress) {
  CHECK(import.format != nullptr, "no format for {}", import.path);
  ImportOptions options = import.options;
  if (options.source.empty()) options.source = import.path == "-" ? "standard input" : import.path;

  // Hashing costs little beside parsing: what is known already is found before any work.
  if (is_regular_file(import.path)) {
    TRY_ASSIGN(const std::string fingerprint, fingerprint_of_file(import.path));
    TRY_ASSIGN(const auto known, history.find_import(import.format->name, full_fingerprint(fingerprint, options)));
    if (known) return ImportOutcome{.record = *known, .already_there = true, .reach = {}, .first_rejections = {}};
  }

  TRY_ASSIGN(InputFile file, InputFile::open(import.path));
  TRY_ASSIGN(const auto transaction, history.begin_import(import.format->name, options.source, now));
  Feeder feeder(*import.format, options, *transaction);
  for (;;) {
    TRY_ASSIGN(const std::string_view piece, file.read());
    if (piece.empty()) break;
    TRY(feeder.feed(piece));
    if (progress) progress(file.consumed_bytes(), file.total_bytes());
  }
  TRY(feeder.finish());

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

  const std::string fingerprint = full_fingerprint(file.fingerprint(), options);
  // A pipe shows only now whether its bytes are known; leaving without a commit takes all back.
  TRY_ASSIGN(const auto known, history.find_import(import.format->name, fingerprint));
  if (known) return ImportOutcome{.record = *known, .already_there = true, .reach = {}, .first_rejections = {}};
  ImportOutcome outcome;
  TRY_ASSIGN(outcome.record, transaction->commit(fingerprint));
  outcome.reach = transaction->reach();
  outcome.first_rejections = transaction->first_rejections();
  return outcome;
}

}  // namespace stint
