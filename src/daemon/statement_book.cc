#include "daemon/statement_book.h"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "host/file.h"

namespace stint {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr const char* kIndexOfMonth = "/index.json";

/// Of what `stint statements --json` printed; of the paths the names of the files stay.
Result<MonthStatements> read_statements(std::string_view json, const std::string& where) {
  const Json root = Json::parse(json, nullptr, false);
  const auto broken = [&] { return make_error(ErrorCode::kInvalidInput, "{}: no list of statements", where); };
  const auto text = [](const Json& object, const char* name) {
    return object.is_object() && object.contains(name) && object[name].is_string() ? object[name].get<std::string>() : "";
  };
  if (!root.is_object() || !root.contains("statements") || !root["statements"].is_array()) return broken();
  MonthStatements out;
  out.currency = text(root, "currency");
  if (const auto written = parse_instant(text(root, "written")); written.ok()) out.written = *written;
  for (const Json& s : root["statements"]) {
    KeptStatement kept{text(s, "client"), text(s, "amount"), fs::path(text(s, "page")).filename().string()};
    if (kept.client.empty() || kept.file.empty()) return broken();
    out.statements.push_back(std::move(kept));
  }
  return out;
}

Status failed(const std::string& path, const std::error_code& error) {
  return make_error(ErrorCode::kUnavailable, "{}: {}", path, error.message());
}

}  // namespace

bool StatementBook::has(const std::string& month) const { return is_regular_file(path_of(month) + kIndexOfMonth); }

std::vector<MonthStatements> StatementBook::months() const {
  std::vector<MonthStatements> out;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder_, error))
    if (const std::string name = entry.path().filename().string(); parse_month(name).ok())
      if (Result<MonthStatements> one = month(name); one.ok()) out.push_back(std::move(*one));
  std::ranges::sort(out, std::ranges::greater(), &MonthStatements::month);
  return out;
}

Result<MonthStatements> StatementBook::month(const std::string& month) const {
  const std::string path = path_of(month) + kIndexOfMonth;
  if (!parse_month(month).ok() || !has(month))
    return make_error(ErrorCode::kNotFound, "no statements of {}: POST /v1/statements writes them", excerpt(month));
  TRY_ASSIGN(const std::string json, read_all(path));
  TRY_ASSIGN(MonthStatements out, read_statements(json, path));
  out.month = month;
  return out;
}

Result<std::string> StatementBook::page(const std::string& month, std::string_view client) const {
  TRY_ASSIGN(const MonthStatements all, this->month(month));
  const auto one = std::ranges::find(all.statements, client, &KeptStatement::client);
  if (one == all.statements.end())
    return make_error(ErrorCode::kNotFound, "no statement of {} for client {}", month, excerpt(client));
  return read_all(path_of(month) + "/" + one->file);
}

Result<std::string> StatementBook::begin(const std::string& month) const {
  const std::string path = path_of("." + month);
  std::error_code error;
  fs::remove_all(path, error);
  if (!error) fs::create_directories(path, error);
  if (error) return failed(path, error).error();
  return path;
}

Status StatementBook::put(const std::string& month, Instant written, std::string_view json) const {
  const std::string path = path_of(month), filled = path_of("." + month), before = path_of(".before-" + month);
  TRY_ASSIGN(const MonthStatements all, read_statements(json, "the statements"));
  Json list = Json::array();
  for (const KeptStatement& s : all.statements) {
    if (!is_regular_file(filled + "/" + s.file))
      return make_error(ErrorCode::kInvalidInput, "the statements: {} was not written", s.file);
    list.push_back({{"client", s.client}, {"amount", s.amount}, {"page", s.file}});
  }
  const Json index = {{"written", format_utc(written)}, {"currency", all.currency}, {"statements", std::move(list)}};
  TRY(write_file_atomically(filled + kIndexOfMonth, index.dump(2) + "\n"));
  std::error_code error;
  fs::remove_all(before, error);
  if (fs::exists(path, error)) fs::rename(path, before, error);
  if (!error) fs::rename(filled, path, error);
  if (error) return failed(path, error);
  fs::remove_all(before, error);
  return {};
}

}  // namespace stint
