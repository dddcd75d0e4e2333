// stint token, user, client, secret and audit-log: who may do what with the daemon, and who did.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <thread>

#include "base/counted.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/output.h"
#include "cli/parser.h"
#include "cli/run/daemon_client.h"
#include "daemon/identity/audit_heads.h"
#include "daemon/identity/audit_log.h"
#include "host/file.h"
#include "host/sealed.h"
#include "host/secret.h"
#include "host/syslog_out.h"
#include "report/short_text.h"
#include "report/table.h"

namespace stint {
namespace {

using Json = nlohmann::ordered_json;

struct GovernOptions {
  ClientOptions daemon;
  std::string name;  ///< of what the command is about
  std::string user, scopes, life, note;
  std::vector<std::string> roles, tags;
  bool disable = false, enable = false, no_roles = false, no_tags = false;
  std::string client, file, output, head, heads, key;
  std::string form = "json", to, position;
  bool follow = false;
};

std::string field_text(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_array()) {
    std::string out;
    for (const Json& part : value)
      out += (out.empty() ? "" : ", ") + field_text(part);
    return out;
  }
  if (value.is_boolean()) return value.get<bool>() ? "yes" : "no";
  return value.is_null() ? "" : value.dump();
}

/// A list the daemon gives, one column per field.
Status print_list(DaemonClient& client, const GovernOptions& options, const std::string& path, const std::string& list,
                  const std::vector<std::string>& fields) {
  TRY_ASSIGN(const Json body, client.get(path));
  if (options.daemon.json) return print_json(body);
  std::vector<Column> columns;
  for (const std::string& field : fields)
    columns.push_back({field, Align::kLeft, 60, static_cast<int>(columns.size())});
  Table table(columns);
  for (const Json& row : body[list]) {
    std::vector<std::string> cells;
    for (const std::string& field : fields)
      cells.push_back(row.contains(field) ? short_utc(field_text(row[field])) : "");
    table.add_row(std::move(cells));
  }
  return write_output("", table.render(screen_of_stdout()));
}

Status list_tokens(DaemonClient& client, const GovernOptions& options) {
  return print_list(client, options, "/v1/tokens", "tokens",
                    {"id", "user", "scopes", "good", "created", "expires", "revoked", "note"});
}

Status make_token_for(DaemonClient& client, const GovernOptions& options) {
  Json wish = Json::object();
  const auto put = [&wish](const char* field, const std::string& value) {
    if (!value.empty()) wish[field] = value;
  };
  put("user", options.user);
  put("scopes", options.scopes);
  put("life", options.life);
  put("note", options.note);
  TRY_ASSIGN(const Json token, client.send("POST", "/v1/tokens", wish));
  if (options.daemon.json) return print_json(token);
  tell("token {} of {} for {}, until {}; it is shown this once:\n", field_text(token["id"]), field_text(token["user"]),
       field_text(token["scopes"]), field_text(token["expires"]));
  return write_output("", field_text(token["secret"]) + "\n");
}

Status revoke_token(DaemonClient& client, const GovernOptions& options) {
  TRY_ASSIGN(const Json token, client.send("DELETE", "/v1/tokens/" + escape_url(options.name), nullptr));
  if (options.daemon.json) return print_json(token);
  say("token {}: revoked\n", options.name);
  return {};
}

Status who_am_i(DaemonClient& client, const GovernOptions& options) {
  TRY_ASSIGN(const Json me, client.get("/v1/me"));
  if (options.daemon.json) return print_json(me);
  say("{}: {}; scopes {}\n", field_text(me["user"]), field_text(me["roles"]), field_text(me["scopes"]));
  return {};
}

Status list_users(DaemonClient& client, const GovernOptions& options) {
  return print_list(client, options, "/v1/users", "users", {"name", "roles", "disabled", "created"});
}

Status put_and_print(DaemonClient& client, const GovernOptions& options, const std::string& path, const Json& wish) {
  TRY_ASSIGN(const Json made, client.send("PUT", path + escape_url(options.name), wish));
  if (options.daemon.json) return print_json(made);
  std::string line;
  for (const auto& [field, value] : made.items())
    line += fmt::format("{}{}: {}", line.empty() ? "" : "; ", field, short_utc(field_text(value)));
  return write_text(line + "\n");
}

Result<Json> disabled_or_not(const GovernOptions& options) {
  if (options.disable && options.enable) return invalid("--disable or --enable, not both");
  Json wish = Json::object();
  if (options.disable || options.enable) wish["disabled"] = options.disable;
  return wish;
}

Status set_user(DaemonClient& client, const GovernOptions& options) {
  TRY_ASSIGN(Json wish, disabled_or_not(options));
  if (!options.roles.empty() || options.no_roles) wish["roles"] = options.roles;
  return put_and_print(client, options, "/v1/users/", wish);
}

Status begin_codes(DaemonClient& client, const GovernOptions& options) {
  TRY_ASSIGN(const Json made, client.send("POST", "/v1/codes", Json::object()));
  if (options.daemon.json) return print_json(made);
  std::string text =
      fmt::format("for your authenticator app, shown this once:\n  {}\n  secret {}\nin place of a code, each once:\n",
                  field_text(made["uri"]), field_text(made["secret"]));
  for (const Json& code : made["recovery_codes"])
    text += fmt::format("  {}\n", field_text(code));
  return write_output("",
                      text + "Then `stint user totp confirm CODE` with the code it shows: from then on they are asked for.\n");
}

Status confirm_codes(DaemonClient& client, const GovernOptions& options) {
  TRY_ASSIGN(const Json made, client.send("POST", "/v1/codes/confirm", {{"code", options.name}}));
  if (options.daemon.json) return print_json(made);
  return write_output("",
                      "one-time codes are asked for from now on when you make tokens, approve jobs, or set users and budgets\n");
}

Status disable_codes(DaemonClient& client, const GovernOptions& options) {
  std::string user = options.user;
  if (user.empty()) {
    TRY_ASSIGN(const Json me, client.get("/v1/me"));
    user = field_text(me["user"]);
  }
  TRY_ASSIGN(const Json made, client.send("DELETE", fmt::format("/v1/users/{}/codes", escape_url(user)), nullptr));
  if (options.daemon.json) return print_json(made);
  return write_output("", fmt::format("no one-time codes are asked of {} any more\n", user));
}

Status list_clients(DaemonClient& client, const GovernOptions& options) {
  return print_list(client, options, "/v1/clients", "clients",
                    {"name", "disabled", "mandatory_tags", "created", "log_bytes", "log_bytes_most"});
}

Status set_client(DaemonClient& client, const GovernOptions& options) {
  TRY_ASSIGN(Json wish, disabled_or_not(options));
  if (!options.tags.empty() || options.no_tags) wish["mandatory_tags"] = options.tags;
  return put_and_print(client, options, "/v1/clients/", wish);
}

/// Calls visit for every row behind `after`, a page at a time. Asking is itself on record: the first page that is not full is the last,
/// else there would always be one row more.
Status each_row(DaemonClient& client, const std::string& of_client, const std::function<Status(const AuditRow&)>& visit,
                int64_t after = 0) {
  constexpr size_t kPage = 1000;
  for (;;) {
    TRY_ASSIGN(
        const Json page,
        client.get(with_query("/v1/audit-log",
                              {{"after", std::to_string(after)}, {"limit", std::to_string(kPage)}, {"client", of_client}})));
    for (const Json& row : page["records"])
      TRY(visit({row["sequence"].get<int64_t>(), "", row["record"].get<std::string>(),
                 row["hash"].is_null() ? "" : row["hash"].get<std::string>()}));
    if (page["records"].size() < kPage) return {};
    after = page["next"].get<int64_t>();
  }
}

Status list_audit(DaemonClient& client, const GovernOptions& options) {
  if (options.daemon.json)
    return each_row(client, options.client,
                    [](const AuditRow& row) { return row.record.empty() ? Status() : write_output("", row.record + "\n"); });
  Table table({{"at (UTC)"},
               {"actor", Align::kLeft, 20},
               {"from", Align::kLeft, 0, 2},
               {"status", Align::kRight, 0, 1},
               {"what", Align::kLeft, 60},
               {"detail", Align::kLeft, 50, 3}});
  TRY(each_row(client, options.client, [&table](const AuditRow& row) {
    if (row.record.empty()) return Status();  // taken out
    const Json record = Json::parse(row.record, nullptr, false);
    if (!record.is_object()) return Status(invalid("audit record {} is no JSON: run `stint audit-log verify`", row.sequence));
    const auto text = [&record](const char* name) { return record.contains(name) ? field_text(record[name]) : std::string(); };
    table.add_row({short_utc(text("at")), text("actor"), text("peer"), text("status"), text("method") + " " + text("target"),
                   text("detail")});
    return Status();
  }));
  return write_output("", table.render(screen_of_stdout()));
}

/// Those of a file, with its key; else, of a daemon's log, those that it has.
Result<std::vector<AuditHead>> heads_to_hold(DaemonClient& client, const GovernOptions& options) {
  if (options.heads.empty() != options.key.empty()) return invalid("--heads and --heads-key go together");
  if (!options.heads.empty()) {
    TRY(check_secret_file(options.key));
    TRY_ASSIGN(const std::string key, read_secret_file(options.key));
    TRY_ASSIGN(const std::string text, read_all(options.heads));
    return read_signed_heads(text, bytes_of_hex(key), options.heads);
  }
  std::vector<AuditHead> heads;
  if (!options.file.empty()) return heads;
  TRY_ASSIGN(const Json answer, client.get("/v1/audit-log/heads"));
  for (const Json& head : answer["heads"]) {
    TRY_ASSIGN(const Instant at, parse_instant(head["at"].get<std::string>()));
    heads.push_back({at, head["records"].get<int64_t>(), head["head"].get<std::string>(),
                     head["gaps"].is_string() ? head["gaps"].get<std::string>() : "", head["thinned_after"].get<int64_t>()});
  }
  return heads;
}

/// The chain is followed here, so that the daemon need not be believed.
Status verify_audit(DaemonClient& client, const GovernOptions& options) {
  // Before the records: those that come meanwhile have no head yet.
  TRY_ASSIGN(std::vector<AuditHead> heads, heads_to_hold(client, options));
  const size_t held_to = heads.size();
  HeadCheck head_check(std::move(heads));
  AuditVerifier verifier;
  bool head_seen = options.head.empty();
  const auto check = [&](const Status& checked) {
    head_seen = head_seen || verifier.head() == options.head;
    return checked.ok() ? head_check.record(verifier.rows(), verifier.head()) : checked;
  };
  if (options.file.empty()) {
    TRY(each_row(client, "", [&](const AuditRow& row) { return check(verifier.check(row)); }));
  } else {
    TRY_ASSIGN(const std::string text, read_all(options.file));
    for (std::string_view rest = text; !rest.empty();) {
      const size_t end = std::min(rest.find('\n'), rest.size());
      TRY(check(verifier.check_line(rest.substr(0, end))));
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
  }
  if (!head_seen)
    return invalid("no record has the hash {}: records you once saw were removed or changed, or the hash is of another log",
                   options.head);
  TRY(head_check.finish(verifier.rows(), verifier.gaps()));
  int64_t gone = 0;
  for (const AuditGap& gap : verifier.gaps())
    gone += gap.last - gap.first + 1;
  if (options.daemon.json)
    return print_json({{"records", verifier.rows()},
                       {"head", verifier.head()},
                       {"taken_out", gone},
                       {"signed_heads", held_to},
                       {"sound", true}});
  say("{}, each follows from the one before\n", counted(verifier.rows(), "record"));
  if (held_to > 0)
    say("they are what {} kept outside of the log {}\n", counted(held_to, "signed head"), held_to == 1 ? "says" : "say");
  if (gone > 0) say("{} of them were reads past their time and are taken out, as signed heads say\n", gone);
  say("head {}\n", verifier.head());
  return {};
}

/// A record as syslog tells it: what it was as fields, and the whole line of an export, which `verify --file` reads.
Result<std::string> audit_syslog_line(const AuditRow& row, std::string_view previous) {
  const Json record = row.record.empty() ? Json::object() : Json::parse(row.record, nullptr, false);
  if (!record.is_object()) return invalid("audit record {} is no JSON: run `stint audit-log verify`", row.sequence);
  const auto field = [&record](const char* name) { return record.contains(name) ? field_text(record[name]) : std::string(); };
  SyslogMessage message;
  const int status = record.contains("status") && record["status"].is_number_integer() ? record["status"].get<int>() : 0;
  const bool reads = field("method").empty() || field("method") == "GET";
  message.severity = status >= 400 ? SyslogSeverity::kWarning : reads ? SyslogSeverity::kInformational : SyslogSeverity::kNotice;
  if (!field("at").empty()) {
    TRY_ASSIGN(message.at, parse_instant(field("at")));
  }
  message.kind = row.record.empty() ? "taken-out" : field("method");
  message.details.emplace_back("sequence", std::to_string(row.sequence));
  for (const char* name : {"actor", "peer", "client", "target", "status"})
    if (std::string value = field(name); !value.empty()) message.details.emplace_back(name, std::move(value));
  message.text = export_line(row, previous);
  return syslog_line(message);
}

/// How far an export came: the last record, and its hash.
struct ExportPosition {
  int64_t sequence = 0;
  std::string hash;
};

/// @return the beginning where there is no such file yet.
Result<ExportPosition> read_position(const std::string& path) {
  ExportPosition position;
  if (path.empty() || !is_regular_file(path)) return position;
  TRY_ASSIGN(const std::string text, read_all(path));
  const std::vector<std::string_view> parts = split(trim(text), ' ');
  const std::optional<int64_t> sequence = parse_int(parts[0]);
  if (!sequence || *sequence < 0 || parts.size() > 2)
    return invalid("{}: must hold the number of a record and its hash; delete it to begin with the first record", path);
  position.sequence = *sequence;
  if (parts.size() == 2) position.hash = parts[1];
  return position;
}

constexpr std::chrono::seconds kFollowEvery{10};

Status export_audit(DaemonClient& client, const GovernOptions& options) {
  if (options.follow && options.to.empty())
    return invalid("--follow goes with --to: an address that takes each record as it comes");
  if (!options.to.empty() && !options.output.empty()) return invalid("either --to or --output, not both");
  const bool syslog = options.form == "syslog" || !options.to.empty();
  TRY_ASSIGN(ExportPosition position, read_position(options.position));
  std::optional<SyslogSender> sender;
  if (!options.to.empty()) {
    TRY_ASSIGN(sender, SyslogSender::open(options.to));
  }
  for (;;) {
    std::string lines;
    const int64_t before = position.sequence;
    const Status done = each_row(
        client, "",
        [&](const AuditRow& row) -> Status {
          std::string line = export_line(row, position.hash);
          if (syslog) {
            TRY_ASSIGN(line, audit_syslog_line(row, position.hash));
          }
          if (sender)
            TRY(sender->send(line));
          else
            lines += line + "\n";
          position = {row.sequence, row.hash};
          return {};
        },
        position.sequence);
    // What was sent counts, also where the rest could not be.
    if (!sender) TRY(write_output(options.output, lines));
    if (!options.position.empty() && position.sequence != before)
      TRY(write_file_atomically(options.position, fmt::format("{} {}\n", position.sequence, position.hash)));
    TRY(done);
    if (!options.follow) return {};
    std::this_thread::sleep_for(kFollowEvery);
  }
}

void add_token(Command& app, Action& action) {
  auto options = std::make_shared<GovernOptions>();
  Command* token = app.add_subcommand("token", "Tokens: what you show the daemon to say who you are");
  token->require_subcommand(1);
  add_client_command(*token, action, options, "list", "Yours; for an operator everybody's", list_tokens);
  Command* make = add_client_command(*token, action, options, "make", "Make one; its secret is shown this once", make_token_for);
  make->add_option("--user", options->user, "for another user; for operators");
  make->add_option("--scopes", options->scopes,
                   "all, or some of read,submit,control,manage,audit; else those of the token you use");
  make->add_option("--life", options->life, "such as 12h or 30d; 30d when not given, at most 366d");
  make->add_option("--note", options->note, "what it is for");
  Command* revoke = add_client_command(*token, action, options, "revoke", "From now on it is no good", revoke_token);
  revoke->add_option("id", options->name, "as `stint token list` shows it")->required();
  add_client_command(*token, action, options, "whoami", "Whose token you use, and what it may do", who_am_i);
  token->footer("Example: stint token make --scopes read,submit --life 12h");
}

void add_user(Command& app, Action& action) {
  auto options = std::make_shared<GovernOptions>();
  Command* user = app.add_subcommand("user", "Users and their roles");
  user->require_subcommand(1);
  add_client_command(*user, action, options, "list", "Those you manage", list_users);
  Command* set = add_client_command(*user, action, options, "set", "Make a user, or set their roles", set_user);
  set->add_option("name", options->name, "the user")->required()->type_name("USER");
  set->add_option("--role", options->roles,
                  "viewer, submitter, client-admin, operator or auditor, with @CLIENT for one client; repeatable")
      ->allow_extra_args(false);
  set->add_flag("--no-roles", options->no_roles, "take all roles away");
  set->add_flag("--disable", options->disable, "none of the user's tokens is good any more");
  set->add_flag("--enable", options->enable, "they are again");
  Command* totp = user->add_subcommand("totp", "One-time codes of an authenticator app (RFC 6238) beside your tokens");
  totp->require_subcommand(1);
  add_client_command(*totp, action, options, "enable", "Begin: the secret and the recovery codes are shown this once",
                     begin_codes);
  Command* confirm = add_client_command(*totp, action, options, "confirm", "Show the first code", confirm_codes);
  confirm->add_option("code", options->name, "six digits")->required();
  Command* disable = add_client_command(*totp, action, options, "disable", "Ask for no more codes", disable_codes);
  disable->add_option("--user", options->user, "of a user who has lost theirs; for operators");
  totp->footer("Example: stint user totp enable");
  user->footer("Example: stint user set ann --role submitter@agency --role viewer@studio");
}

void add_client(Command& app, Action& action) {
  auto options = std::make_shared<GovernOptions>();
  Command* client = app.add_subcommand("client", "Clients: the tops of the queues' paths, each with its namespace");
  client->require_subcommand(1);
  add_client_command(*client, action, options, "list", "Those you see", list_clients);
  Command* set = add_client_command(*client, action, options, "set", "Make a client, or set its rules", set_client);
  set->add_option("name", options->name, "the client")->required()->type_name("CLIENT");
  set->add_option("--mandatory-tag", options->tags, "key that every new job must carry; repeatable")->allow_extra_args(false);
  set->add_flag("--no-mandatory-tags", options->no_tags, "none");
  set->add_flag("--disable", options->disable, "no new jobs");
  set->add_flag("--enable", options->enable, "new jobs again");
  client->footer("Example: stint client set agency --mandatory-tag project");
}

void add_audit_log(Command& app, Action& action) {
  auto options = std::make_shared<GovernOptions>();
  Command* audit = app.add_subcommand("audit-log", "Who did what: a log whose records follow from each other by their hashes");
  audit->require_subcommand(1);
  Command* list = add_client_command(*audit, action, options, "list", "The records, oldest first", list_audit);
  list->add_option("--client", options->client, "of this client alone");
  Command* verify = add_client_command(*audit, action, options, "verify", "Follow the chain from its beginning", verify_audit);
  verify->add_option("--file", options->file, "an export, in place of the daemon's");
  verify->add_option("--head", options->head, "a hash you noted: it must be that of one of the records");
  verify->add_option("--heads", options->heads, "file of signed heads, in place of those that the daemon tells");
  verify->add_option("--heads-key", options->key, "file with the key that they are signed with");
  Command* out = add_client_command(*audit, action, options, "export",
                                    "All of it as JSON lines, which verify reads, or as syslog", export_audit);
  out->add_option("-o,--output", options->output, "write to this file");
  out->add_option("--as", options->form, "lines of json, or of syslog (RFC 5424) with that JSON as message")
      ->capture_default_str()
      ->check(one_of({"json", "syslog"}));
  out->add_option("--to", options->to, "send syslog there: udp://HOST:PORT, tcp://HOST:PORT or unix:/dev/log");
  out->add_option("--position", options->position, "file that says how far an export came: the next one goes on there");
  out->add_flag("--follow", options->follow, "with --to: go on with what comes, every 10 s");
  audit->footer("Example: stint audit-log verify --head 5f1c…");
}

struct SealOptions {
  std::string file, key;
};

Status seal(const SealOptions& options) {
  TRY_ASSIGN(const SealKey key, SealKey::read(options.key));
  TRY(seal_secret_file(options.file, key));
  return write_output("", fmt::format("{} is encrypted: stint daemon --secrets-key {} reads it\n", options.file, options.key));
}

void add_secret(Command& app, Action& action) {
  auto options = std::make_shared<SealOptions>();
  Command* secret = app.add_subcommand("secret", "Files of secrets that the daemon reads, encrypted on the disk");
  secret->require_subcommand(1);
  Command* command = secret->add_subcommand("seal", "Encrypt the secret in a file, in its place");
  command
      ->add_option(
          "file", options->file,
          "a receiver's secret_file or token_file, token_file of telemetry or of a service, or client_secret_file of oidc.login")
      ->required();
  command->add_option("--secrets-key", options->key, "file with the key, as `stint daemon --secrets-key` reads it")->required();
  command->callback([&action, options] {
    action = [options] {
      const Status sealed = seal(*options);
      return sealed.ok() ? ExitCode::kOk : fail(sealed.error().message);
    };
  });
  secret->footer("Example: stint secret seal /etc/stint/pager.key --secrets-key /run/keys/stint");
}

}  // namespace

void add_govern_commands(Command& app, Action& action) {
  add_token(app, action);
  add_user(app, action);
  add_client(app, action);
  add_secret(app, action);
  add_audit_log(app, action);
}

}  // namespace stint
