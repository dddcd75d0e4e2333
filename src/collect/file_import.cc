#include "collect/file_import.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "collect/archive.h"
#include "collect/delivery_folder.h"
#include "collect/parquet.h"
#include "host/file.h"
#include "host/inflate.h"

namespace stint {
namespace {

/// The same bytes read with other options are another import.
std::string full_fingerprint(const std::string& of_bytes, const ImportOptions& options) {
  std::string suffix;
  if (!options.node.empty()) suffix += ":node=" + options.node;
  if (const std::string zone = options.zoneless.name(); zone != LocalZone().name()) suffix += ":zone=" + zone;
  if (!options.client_label.empty()) suffix += ":client-label=" + options.client_label;
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

/// Beside the data of a delivery: attributes of Macs, lists of files, checksums, statements for other databases.
bool is_beside_the_data(std::string_view name, bool bill) {
  const std::string_view base = name.substr(name.rfind('/') + 1);
  if (base.empty() || base.starts_with("._") || name.starts_with("__MACOSX/")) return true;
  return bill && is_side_file(base);
}

/// Gives the bytes of a file to one importer, or those of each file in a tar or ZIP archive to a separate one. Files in an archive
/// may be gzip.
class Feeder {
 public:
  Feeder(const ImportFormat& format, ImportOptions options, HistoryFile::Import& sink)
      : format_(format), options_(std::move(options)), sink_(sink) {}

  Status read(const ArchiveBytes& next) {
    // The first block tells.
    std::string head;
    while (head.size() < kArchiveHead) {
      TRY_ASSIGN(const std::string_view piece, next());
      if (piece.empty()) break;
      head += piece;
    }
    const ArchiveKind kind = archive_kind(head);
    if (kind == ArchiveKind::kNone) return read_plain(head, next);
    bool begun = false;
    TRY(read_archive(options_.source, kind,
                     [&]() -> Result<std::string_view> {
                       if (std::exchange(begun, true)) return next();
                       return std::string_view(head);
                     },
                     {.begin = [this](const std::string& name) { return begin_member(name); },
                      .data = [this](std::string_view bytes) { return member_data(bytes); },
                      .end = [this] { return end_member(); }}));
    if (members_ == 0)
      return invalid("{}: the {} archive holds no files", options_.source, kind == ArchiveKind::kTar ? "tar" : "ZIP");
    return {};
  }

 private:
  Status read_plain(std::string_view head, const ArchiveBytes& next) {
    sink_.begin_file(options_.source);
    importer_ = format_.create(options_, sink_);
    for (std::string_view piece = head; !piece.empty();) {
      TRY(importer_->feed(piece));
      TRY_ASSIGN(piece, next());
    }
    return importer_->finish();
  }

  Status begin_member(const std::string& name) {
    if (is_beside_the_data(name, is_bill(format_))) return {};
    ++members_;
    ImportOptions options = options_;
    options.source = fmt::format("{}:{}", options_.source, name);
    sink_.begin_file(options.source);
    importer_ = format_.create(options, sink_);
    member_ = options.source;
    member_head_.clear();
    member_coding_ = Coding::kNotSeen;
    return {};
  }

  Status member_data(std::string_view bytes) {
    if (!importer_) return {};
    if (member_coding_ == Coding::kPlain) return importer_->feed(bytes);
    if (member_coding_ == Coding::kGzip) return unpack(bytes);
    // Two bytes tell.
    member_head_.append(bytes);
    return member_head_.size() < 2 ? Status() : begin_content();
  }

  Status begin_content() {
    const bool gzip = member_head_.starts_with("\x1f\x8b");
    member_coding_ = gzip ? Coding::kGzip : Coding::kPlain;
    if (gzip) inflater_ = std::make_unique<Inflater>(Inflater::Coding::kGzip, member_);
    const std::string head = std::exchange(member_head_, {});
    return member_data(head);
  }

  Status unpack(std::string_view bytes) {
    const auto used = inflater_->feed(bytes, [this](std::string_view piece) { return importer_->feed(piece); });
    return used.ok() ? Status() : Status(used.error());
  }

  Status end_member() {
    if (!importer_) return {};
    if (member_coding_ == Coding::kNotSeen) TRY(begin_content());
    if (inflater_ && !inflater_->ended()) return invalid("{}: gzip data end in the middle: fetch the file again", member_);
    inflater_.reset();
    TRY(importer_->finish());
    importer_.reset();
    return {};
  }

  enum class Coding { kNotSeen, kPlain, kGzip };
  const ImportFormat& format_;
  const ImportOptions options_;
  HistoryFile::Import& sink_;
  std::unique_ptr<Importer> importer_;
  std::string member_, member_head_;
  Coding member_coding_ = Coding::kNotSeen;
  std::unique_ptr<Inflater> inflater_;
  size_t members_ = 0;
};

/// Rows of a Parquet file are read as the CSV they would have been.
Status import_parquet(const ImportFormat& format, const ImportOptions& options, const std::string& path,
                      HistoryFile::Import& sink) {
  sink.begin_file(options.source);
  const auto importer = format.create(options, sink);
  TRY(read_parquet(path, [&](std::string_view csv) { return importer->feed(csv); }));
  return importer->finish();
}

}  // namespace

bool is_bill(const ImportFormat& format) { return format.bill; }

Result<ImportOutcome> import_file(HistoryFile& history, const FileImport& import, Instant now, const ImportProgress& progress) {
  CHECK(import.format != nullptr, "no format for {}", import.path);
  ImportOptions options = import.options;
  if (options.source.empty()) options.source = import.path == "-" ? "standard input" : import.path;
  std::vector<std::string> paths = {import.path};
  paths.insert(paths.end(), import.parts.begin(), import.parts.end());
  CHECK(paths.size() == 1 || is_bill(*import.format), "{} files of {} as one import", paths.size(), import.format->name);

  // Hashing costs little beside parsing: what is known already is found before any work.
  std::vector<std::string> fingerprints;
  if (import.fetch) {
    CHECK(!import.fingerprint.empty(), "{} is fetched and nothing tells its bytes", import.path);
    fingerprints.push_back(import.fingerprint);
  } else if (std::ranges::all_of(paths, is_regular_file)) {
    for (const std::string& path : paths) {
      TRY_ASSIGN(std::string of_file, fingerprint_of_file(path));
      fingerprints.push_back(std::move(of_file));
    }
  }
  if (!fingerprints.empty()) {
    TRY_ASSIGN(auto known, history.find_import(import.format->name, full_fingerprint(joined_fingerprint(fingerprints), options)));
    if (known) return known_already(std::move(*known));
    fingerprints.clear();
  }

  std::string source = import.name.empty() ? options.source : import.name;
  if (import.name.empty() && paths.size() > 1) source += fmt::format(" and {} more", paths.size() - 1);
  TRY_ASSIGN(const auto transaction, history.begin_import(import.format->name, source, now, import.delivery));
  for (const std::string& path : paths) {
    ImportOptions of_file = options;
    if (path != import.path) of_file.source = path == "-" ? "standard input" : path;
    TRY_ASSIGN(const LocalFile local, import.fetch ? import.fetch(path) : Result<LocalFile>(LocalFile(path)));
    if (is_bill(*import.format) && is_parquet_file(local.path())) {
      TRY(import_parquet(*import.format, of_file, local.path(), *transaction));
      TRY_ASSIGN(std::string of_parquet, fingerprint_of_file(local.path()));
      fingerprints.push_back(std::move(of_parquet));
      continue;
    }
    TRY_ASSIGN(InputFile file, InputFile::open(local.path()));
    TRY(Feeder(*import.format, of_file, *transaction).read([&]() -> Result<std::string_view> {
      if (progress && file.consumed_bytes() > 0) progress(file.consumed_bytes(), file.total_bytes());
      return file.read();
    }));
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

  const std::string fingerprint = full_fingerprint(import.fetch ? import.fingerprint : joined_fingerprint(fingerprints), options);
  // A pipe shows only now whether its bytes are known; leaving without a commit takes all back.
  TRY_ASSIGN(auto known, history.find_import(import.format->name, fingerprint));
  if (known) return known_already(std::move(*known));
  ImportOutcome outcome;
  TRY_ASSIGN(outcome.record, transaction->commit(fingerprint));
  outcome.reach = transaction->reach();
  outcome.first_rejections = transaction->first_rejections();
  outcome.notes = transaction->notes();
  outcome.replaced = transaction->replaced_bills();
  return outcome;
}

}  // namespace stint
