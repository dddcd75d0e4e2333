#include "cli/run/live_values.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "advise/audit.h"
#include "cli/govern/accounts.h"
#include "cli/json_text.h"
#include "host/clock.h"
#include "host/file.h"

namespace stint {
namespace {

constexpr Duration kAnswersWithin = Duration::milliseconds(700);  // a shell waits for it after each press of Tab
constexpr std::string_view kMostOffered = "300";

bool is_set(const char* variable) {
  const char* value = std::getenv(variable);
  return value != nullptr && *value != '\0';
}

/// Whether somebody has said that there is a daemon: others are not made to wait for one.
bool daemon_is_configured(const ClientOptions& options) {
  if (!options.server.empty() || !options.token_file.empty()) return true;
  if (is_set("STINT_SERVER") || is_set("STINT_TOKEN") || is_set("STINT_TOKEN_FILE")) return true;
  const char* home = std::getenv("HOME");
  return home != nullptr && is_regular_file(std::string(home) + "/.config/stint/token");
}

/// Where the daemon's names of a kind are: in a list of objects, by a field that is their name, with others that say more.
struct Source {
  std::string_view kind;
  const char* path;
  const char* list;
  const char* name;
  std::array<const char*, 2> help;
};
constexpr std::array kSources = {
    Source{"JOB", "/v1/jobs", "jobs", "id", {"name", "state"}},
    Source{"QUEUE", "/v1/queues", "queues", "path", {}},
    Source{"NODE", "/v1/nodes", "nodes", "name", {}},
    Source{"BUDGET", "/v1/budgets", "budgets", "name", {"queue"}},
    Source{"USER", "/v1/users", "users", "name", {}},
    Source{"CLIENT", "/v1/clients", "clients", "name", {}},
    Source{"SILENCE", "/v1/silences", "silences", "id", {"comment"}},
};

const Source* source_of(std::string_view kind) {
  const auto found = std::ranges::find(kSources, kind, &Source::kind);
  return found == kSources.end() ? nullptr : &*found;
}

/// Arrays by their id; the jobs of one once its id and the mark behind it are typed.
std::string jobs_path(std::string_view typed) {
  typed = typed.substr(typed.rfind('=') + 1);
  const size_t mark = typed.rfind('_');
  const bool of_array = mark != std::string_view::npos && typed.find('-') < mark;
  return with_query("/v1/jobs", {{"limit", std::string(kMostOffered)},
                                 {"array", of_array ? std::string(typed.substr(0, mark)) : ""},
                                 {"arrays", of_array ? "" : "as-one"}});
}

std::vector<Candidate> ask_daemon(std::string_view kind, std::span<const std::string> words) {
  ClientOptions options;
  options.server = word_behind(words, "--server");
  options.token_file = word_behind(words, "--token-file");
  options.ca_file = word_behind(words, "--ca-file");
  options.certificate_file = word_behind(words, "--certificate");
  options.key_file = word_behind(words, "--key");
  options.patience = kAnswersWithin;
  if (!daemon_is_configured(options)) return {};
  Result<DaemonClient> client = DaemonClient::create(options);
  if (!client.ok()) return {};
  const auto answer =
      client->get(kind == "JOB" ? jobs_path(words.empty() ? "" : words.back()) : std::string(source_of(kind)->path));
  return answer.ok() ? values_in_answer(kind, *answer) : std::vector<Candidate>();
}

std::vector<Candidate> findings_of(const std::string& history) {
  if (history.empty() || !is_regular_file(history)) return {};
  const Result<Records> records = load_records(history, {});
  if (!records.ok()) return {};
  const AuditInput input{records->history, records->usage, records->catalog, now(), {}};
  const Result<Auditor> auditor = Auditor::create(input);
  if (!auditor.ok()) return {};
  const Result<AuditReport> report = auditor->plan(input.choice, Auditor::Prove::kNo);
  std::vector<Candidate> found;
  if (!report.ok()) return found;
  for (const Finding& finding : report->findings)
    found.push_back({finding.id, finding.title});
  return found;
}

}  // namespace

std::string word_behind(std::span<const std::string> words, std::string_view option) {
  for (size_t i = 0; i < words.size(); ++i) {
    if (words[i].size() > option.size() && words[i].starts_with(option) && words[i][option.size()] == '=')
      return words[i].substr(option.size() + 1);
    if (words[i] != option || i + 1 == words.size()) continue;
    if (words[i + 1] != "=") return words[i + 1];
    return i + 2 < words.size() ? words[i + 2] : "";
  }
  return "";
}

std::vector<Candidate> values_in_answer(std::string_view kind, const nlohmann::ordered_json& answer) {
  std::vector<Candidate> out;
  const Source* source = source_of(kind);
  if (source == nullptr || !answer.is_object() || !answer.contains(source->list) || !answer[source->list].is_array()) return out;
  for (const auto& one : answer[source->list]) {
    if (!one.is_object() || !one.contains(source->name) || one[source->name].is_null()) continue;
    std::string help;
    for (const char* field : source->help)
      if (field != nullptr && one.contains(field) && !text_of(one[field]).empty())
        help += (help.empty() ? "" : ", ") + text_of(one[field]);
    if (one.contains("holds") && one["holds"] == false) continue;  // a silence that is over
    out.push_back({text_of(one[source->name]), std::move(help)});
  }
  return out;
}

std::vector<Candidate> live_values(std::string_view kind, std::span<const std::string> words) {
  if (kind == "FINDING") return findings_of(word_behind(words, "--history"));
  return source_of(kind) != nullptr ? ask_daemon(kind, words) : std::vector<Candidate>();
}

}  // namespace stint
