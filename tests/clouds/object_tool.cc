// Object stores from a command line, for tests/clouds/test_stores.py.
//
//   object_tool put URL FILE | put-new URL FILE | get URL FILE SHA256 SIZE | head URL | list URL | rm URL | link URL
// Exit code 0, or the error on standard error and 1 (2: conflict, 3: not found, 4: wrong input).
#include <fmt/format.h>

#include <filesystem>

#include "clouds/object_transfer.h"
#include "host/sha256.h"

namespace stint {
namespace {

int code_of(const Error& error) {
  fmt::print(stderr, "{}\n", error.message);
  switch (error.code) {
    case ErrorCode::kConflict: return 2;
    case ErrorCode::kNotFound: return 3;
    case ErrorCode::kInvalidInput: return 4;
    default: return 1;
  }
}

Status act(const std::vector<std::string>& words) {
  TRY_ASSIGN(const ObjectUrl url, parse_object_url(words.at(1)));
  ObjectStoreOptions options;
  if (const char* tries = std::getenv("TRIES")) options.tries = std::atoi(tries);
  if (const char* rate = std::getenv("RATE")) options.send_bytes_per_second = std::atoll(rate);
  TRY_ASSIGN(const auto store, open_object_store(url, options));
  TransferOptions transfer;
  if (const char* part = std::getenv("PART_BYTES")) transfer.part_bytes = std::atoll(part);
  const std::string& verb = words.at(0);
  if (verb == "put" || verb == "put-new") {
    const std::string& path = words.at(2);
    TRY_ASSIGN(const std::string sha256, sha256_of_file(path));
    const FileContent content{.size = static_cast<int64_t>(std::filesystem::file_size(path)), .sha256 = sha256};
    return send_file(*store, path, url.key, content, verb == "put" ? IfThere::kReplace : IfThere::kRefuse, transfer);
  }
  if (verb == "get")
    return fetch_file(*store, url.key, words.at(2), {.size = std::stoll(words.at(4)), .sha256 = words.at(3)}, transfer);
  if (verb == "rm") return store->remove(url.key);
  if (verb == "link") {
    TRY_ASSIGN(const std::string address, store->link(url.key, Duration::minutes(5)));
    fmt::print("{}\n", address);
    return {};
  }
  if (verb == "head") {
    TRY_ASSIGN(const ObjectInfo info, store->head(url.key));
    fmt::print("{} {} {}\n", info.size, info.sha256, format_utc(info.modified));
    return {};
  }
  TRY_ASSIGN(const auto found, store->list(url.key));
  for (const ObjectInfo& info : found)
    fmt::print("{} {}\n", info.size, info.key);
  return {};
}

}  // namespace
}  // namespace stint

int main(int argc, char** argv) {
  const auto done = stint::act({argv + 1, argv + argc});
  return done.ok() ? 0 : stint::code_of(done.error());
}
