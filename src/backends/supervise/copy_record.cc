#include "backends/supervise/copy_record.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "base/text.h"

namespace stint {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kCopyRecordVersion = 1;
constexpr std::string_view kLogFolder = "log/", kRecordEnd = ".json", kDataFolder = "data/";
constexpr size_t kDigits = 10;
constexpr int64_t kLastNumber = 9'999'999'999;
constexpr int64_t kMostBytes = int64_t{1} << 60;

bool is_hex(std::string_view text, size_t length) {
  return text.size() == length &&
         std::all_of(text.begin(), text.end(), [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

/// Would it stay inside the folder it is put into?
bool stays_inside(std::string_view name) {
  if (name.empty() || name.front() == '/' || name.find('\0') != std::string_view::npos) return false;
  const auto parts = split(name, '/');
  return std::all_of(parts.begin(), parts.end(),
                     [](std::string_view part) { return !part.empty() && part != "." && part != ".."; });
}

Json json_of(const CopiedFile& f) {
  return {{"name", f.file.name},
          {"size", f.file.size.count()},
          {"sha256", f.sha256},
          {"modified_ns", f.file.modified.ns()},
          {"mode", f.mode}};
}

Result<CopiedFile> copied_file_of(const Json& json, const CopyRecord& record, const std::string& where) {
  CopiedFile f;
  f.file.name = json.at("name").get<std::string>();
  const auto size = json.at("size").get<int64_t>();
  f.sha256 = json.at("sha256").get<std::string>();
  f.file.modified = Instant::from_ns(json.at("modified_ns").get<int64_t>());
  f.mode = json.at("mode").get<uint32_t>() & 0777U;
  const bool is_ours = record.is_folder ? f.file.name.starts_with(record.name + "/")
                                        : f.file.name == record.name || f.file.name == beside_list_of(record.name);
  if (!is_ours || !stays_inside(f.file.name))
    return invalid("{}: '{}' is no file of the checkpoint '{}'", where, excerpt(f.file.name), excerpt(record.name));
  if (size < 0 || size > kMostBytes || !is_hex(f.sha256, 64))
    return invalid("{}: size or sha256 of '{}' makes no sense", where, excerpt(f.file.name));
  f.file.size = Bytes::of(size);
  return f;
}

Status read_checkpoint(const Json& json, CopyRecord& record, const std::string& where) {
  record.name = json.at("name").get<std::string>();
  record.digest = json.at("sha256").get<std::string>();
  record.data = json.at("data").get<std::string>();
  record.is_folder = json.at("is_folder").get<bool>();
  record.has_list = json.at("has_list").get<bool>();
  if (record.name.find('/') != std::string::npos || !stays_inside(record.name) || !can_be_a_checkpoint(record.name))
    return invalid("{}: '{}' is no name of a checkpoint", where, excerpt(record.name));
  if (!is_hex(record.digest, 64)) return invalid("{}: its sha256 makes no sense", where);
  if (!record.data.starts_with(kDataFolder) || !record.data.ends_with('/') ||
      !stays_inside(std::string_view(record.data).substr(0, record.data.size() - 1)))
    return invalid("{}: data '{}' makes no sense", where, excerpt(record.data));
  std::map<std::string, std::string> hashes;
  int64_t left = kMostBytes;
  for (const Json& f : json.at("files")) {
    TRY_ASSIGN(CopiedFile file, copied_file_of(f, record, where));
    if ((left -= file.file.size.count()) < 0) return invalid("{}: its files are too large", where);
    if (!hashes.emplace(file.file.name, file.sha256).second)
      return invalid("{}: names '{}' twice", where, excerpt(file.file.name));
    record.files.push_back(std::move(file));
  }
  if (digest_of_hashes(hashes) != record.digest || record.files.empty())
    return invalid("{}: its sha256 is not that of its files", where);
  return {};
}

}  // namespace

Checkpoint CopyRecord::checkpoint() const {
  Checkpoint c;
  c.name = name;
  c.is_folder = is_folder;
  c.has_list = has_list;
  for (const CopiedFile& f : files) {
    c.modified = c.files.empty() ? f.file.modified : std::max(c.modified, f.file.modified);
    c.size = c.size + f.file.size;
    c.files.push_back(f.file);
  }
  return c;
}

std::string key_of_record(int64_t number) { return fmt::format("{}{:0{}}{}", kLogFolder, number, kDigits, kRecordEnd); }

int64_t number_of_record(std::string_view key) {
  if (!key.starts_with(kLogFolder) || !key.ends_with(kRecordEnd)) return 0;
  key.remove_prefix(kLogFolder.size());
  key.remove_suffix(std::min(key.size(), kRecordEnd.size()));
  if (key.size() != kDigits || !std::all_of(key.begin(), key.end(), [](char c) { return c >= '0' && c <= '9'; })) return 0;
  return parse_int(key).value_or(0);
}

std::string to_json(const CopyRecord& record) {
  const bool is_claim = record.kind == CopyRecord::Kind::kClaim;
  Json json = {{"version", kCopyRecordVersion}, {"number", record.number}, {"kind", is_claim ? "claim" : "checkpoint"},
               {"writer", record.writer},       {"run", record.run},       {"host", record.host},
               {"at", format_utc(record.at)},   {"at_ns", record.at.ns()}};
  if (!is_claim) {
    Json files = Json::array();
    for (const CopiedFile& f : record.files)
      files.push_back(json_of(f));
    json["checkpoint"] = {{"name", record.name},           {"sha256", record.digest},     {"data", record.data},
                          {"is_folder", record.is_folder}, {"has_list", record.has_list}, {"files", std::move(files)}};
    json["state"] = record.state;
  }
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

Result<CopyRecord> parse_copy_record(std::string_view text, const std::string& where) {
  try {
    const Json json = Json::parse(text);
    if (json.at("version").get<int>() != kCopyRecordVersion)
      return invalid("{}: version {} where this program knows {}: it was written by another release", where,
                     excerpt(json.at("version").dump()), kCopyRecordVersion);
    CopyRecord record;
    record.number = json.at("number").get<int64_t>();
    record.writer = json.at("writer").get<std::string>();
    record.run = json.at("run").get<std::string>();
    record.host = json.at("host").get<std::string>();
    record.at = Instant::from_ns(json.at("at_ns").get<int64_t>());
    if (record.number < 1 || record.number > kLastNumber) return invalid("{}: no number of a record", where);
    const auto kind = json.at("kind").get<std::string>();
    if (kind == "claim") return record;
    if (kind != "checkpoint") return invalid("{}: kind '{}' is not known", where, excerpt(kind));
    record.kind = CopyRecord::Kind::kCheckpoint;
    record.state = json.at("state").get<std::string>();
    TRY(read_checkpoint(json.at("checkpoint"), record, where));
    return record;
  } catch (const std::exception& e) {
    return invalid("{}: is no record of a copy: {}", where, excerpt(e.what(), 200));
  }
}

}  // namespace stint
