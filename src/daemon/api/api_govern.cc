// Who may do what: one's own tokens, users and their roles, clients, and the audit log.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "daemon/api/api_routes.h"
#include "daemon/api/problem.h"
#include "daemon/logs/log_keeper.h"

namespace stint {
namespace {

using Json = nlohmann::ordered_json;

constexpr Duration kUsualTokenLife = Duration::hours(30 * 24);
constexpr size_t kMostGrants = 64;

Json token_json(const Token& token, Instant now) {
  return {{"id", token.id},
          {"user", token.user},
          {"scopes", format_scopes(token.scopes)},
          {"note", token.note},
          {"created", format_utc(token.created)},
          {"expires", format_utc(token.expires)},
          {"revoked", token.revoked ? Json(format_utc(*token.revoked)) : Json()},
          {"good", !token.revoked && now < token.expires}};
}

Json grants_json(const std::vector<Grant>& grants) {
  Json json = Json::array();
  for (const Grant& grant : grants)
    json.push_back(format_grant(grant));
  return json;
}

Json client_json(const Client& client) {
  return {{"name", client.name},
          {"disabled", client.disabled},
          {"mandatory_tags", client.mandatory_tags},
          {"created", format_utc(client.created)}};
}

/// What logs of the client's jobs take, and those of the caller among them, and may take.
void put_log_use(Json& json, const LogKeeper& keeper, const std::string& client, const std::string& user) {
  LogDiskUses uses = keeper.uses();
  LogRules rules = keeper.rules();
  LogDiskUse& use = uses[client];
  const LogRules::OfClient& most = rules.clients[client];
  const auto shown = [](const std::optional<Bytes>& bytes) { return bytes ? Json(bytes->count()) : Json(); };
  json["log_bytes"] = use.bytes.count();
  json["log_bytes_most"] = shown(most.client);
  json["own_log_bytes"] = use.users[user].count();
  json["own_log_bytes_most"] = shown(most.user);
}

/// The roles that `who` may see or set: all, or those of their clients.
bool is_about(const Principal& who, Permission what, const Grant& grant) {
  return grant.client.empty() ? who.may_everywhere(what) : who.may(what, grant.client);
}

/// A user as `who` may see them; none when there is nothing to see: then they are not there.
std::optional<Json> user_json(const Principal& who, const User& user) {
  const bool all = who.may_everywhere(Permission::kSeeUsers);
  std::vector<Grant> shown;
  for (const Grant& grant : user.grants)
    if (is_about(who, Permission::kSeeUsers, grant)) shown.push_back(grant);
  if (!all && shown.empty() && user.name != who.user) return std::nullopt;
  Json json = {{"name", user.name}, {"roles", grants_json(user.name == who.user ? user.grants : shown)}};
  if (all) {
    json["disabled"] = user.disabled;
    json["created"] = format_utc(user.created);
  }
  return json;
}

Error no_such_user(std::string_view name) {
  return make_error(ErrorCode::kNotFound, "there is no user {}: `stint user list` shows those there are", excerpt(name));
}

/// A text of the body; empty when it is absent.
Result<std::string> text_field(const nlohmann::json& body, std::string_view name) {
  const auto found = body.find(name);
  if (found == body.end()) return std::string();
  if (!found->is_string()) return invalid("field '{}': give a text", name);
  return found->get<std::string>();
}

Result<Duration> life_of(const nlohmann::json& body) {
  TRY_ASSIGN(const std::string text, text_field(body, "life"));
  if (text.empty()) return kUsualTokenLife;
  const Result<Duration> life = parse_duration(text);
  if (!life.ok() || *life <= Duration() || *life > kLongestTokenLife)
    return invalid("field 'life': {}: give a duration such as 12h or 30d, at most 366d", excerpt(text));
  return life;
}

struct TokenWish {
  std::string user;
  Scopes scopes = Scopes::all();
  Duration life;
  std::string note;
};

Result<TokenWish> token_wish(const Call& call) {
  constexpr std::array<std::string_view, 4> kFields = {"user", "scopes", "life", "note"};
  TRY_ASSIGN(const nlohmann::json body, body_object(call, kFields));
  TokenWish wish;
  TRY_ASSIGN(wish.user, text_field(body, "user"));
  TRY_ASSIGN(const std::string note, text_field(body, "note"));
  wish.note = note.substr(0, 200);
  if (wish.user.empty()) wish.user = call->who.user;
  TRY_ASSIGN(const std::string scopes, text_field(body, "scopes"));
  wish.scopes = call->who.scopes;
  if (!scopes.empty()) {
    TRY_ASSIGN(wish.scopes, parse_scopes(scopes));
  }
  TRY_ASSIGN(wish.life, life_of(body));
  if (!call->who.scopes.cover(wish.scopes))
    return invalid("field 'scopes': a token has at most the scopes of the one that makes it: {}",
                   format_scopes(call->who.scopes));
  return wish;
}

Result<std::vector<Grant>> grants_of(const nlohmann::json& body) {
  std::vector<Grant> grants;
  const auto roles = body.find("roles");
  if (roles == body.end()) return grants;
  if (!roles->is_array() || roles->size() > kMostGrants)
    return invalid("field 'roles': give a list of at most {}, such as [\"submitter@agency\"]", kMostGrants);
  for (const auto& role : *roles) {
    if (!role.is_string()) return invalid("field 'roles': give texts such as \"submitter@agency\"");
    TRY_ASSIGN(Grant grant, parse_grant(role.get_ref<const std::string&>()));
    if (std::find(grants.begin(), grants.end(), grant) == grants.end()) grants.push_back(std::move(grant));
  }
  return grants;
}

/// The user after the change: an operator sets everything, an admin the roles in their own clients; the others stay, unseen.
Result<User> changed_user(const ApiContext& api, const Call& call) {
  constexpr std::array<std::string_view, 2> kFields = {"roles", "disabled"};
  const std::string& name = call->names[0];
  // "oidc:ann": somebody of the identity provider's, who has the roles of their groups there.
  const size_t colon = name.find(':');
  const bool is_of_provider = colon != name.npos && is_user_name(name.substr(0, colon));
  if (!is_user_name(is_of_provider ? name.substr(colon + 1) : name))
    return invalid("user {}: give 1 to 64 letters, digits and . _ - @", excerpt(name));
  TRY_ASSIGN(const nlohmann::json body, body_object(call, kFields));
  if (is_of_provider && body.contains("roles"))
    return invalid("field 'roles': {} is the identity provider's, and has the roles of its groups: here it can be disabled",
                   name);
  TRY_ASSIGN(const std::vector<Grant> wanted, grants_of(body));
  User user = api.governor.user(name).value_or(User{.name = name, .created = call->at});
  const bool all = call->who.may_everywhere(Permission::kManageUsers);
  if (body.contains("disabled")) {
    if (!all) return invalid("field 'disabled': an operator sets that");
    if (!body["disabled"].is_boolean()) return invalid("field 'disabled': give true or false");
    user.disabled = body["disabled"].get<bool>();
  }
  if (!body.contains("roles")) return user;
  for (const Grant& grant : wanted) {
    if (!is_about(call->who, Permission::kManageUsers, grant))
      return invalid("field 'roles': {} is not yours to give", format_grant(grant));
    if (all && !grant.client.empty() && !api.governor.client(grant.client))
      return invalid("field 'roles': there is no client {}: `stint client set` makes one", grant.client);
  }
  std::erase_if(user.grants, [&](const Grant& grant) { return is_about(call->who, Permission::kManageUsers, grant); });
  user.grants.insert(user.grants.end(), wanted.begin(), wanted.end());
  return user;
}

Result<Client> changed_client(const ApiContext& api, const Call& call) {
  constexpr std::array<std::string_view, 2> kFields = {"disabled", "mandatory_tags"};
  const std::string& name = call->names[0];
  if (!is_plain_name(name)) return invalid("client {}: give 1 to 64 letters, digits and . _ -", excerpt(name));
  TRY_ASSIGN(const nlohmann::json body, body_object(call, kFields));
  Client client = api.governor.client(name).value_or(Client{.name = name, .created = call->at});
  if (body.contains("disabled")) {
    if (!body["disabled"].is_boolean()) return invalid("field 'disabled': give true or false");
    client.disabled = body["disabled"].get<bool>();
  }
  if (!body.contains("mandatory_tags")) return client;
  const nlohmann::json& tags = body["mandatory_tags"];
  client.mandatory_tags.clear();
  if (!tags.is_array() || tags.size() > 64) return invalid("field 'mandatory_tags': give a list of tags' keys");
  for (const auto& tag : tags) {
    if (!tag.is_string() || !is_plain_name(tag.get_ref<const std::string&>()))
      return invalid("field 'mandatory_tags': give keys of letters, digits and . _ -");
    client.mandatory_tags.push_back(tag.get<std::string>());
  }
  std::sort(client.mandatory_tags.begin(), client.mandatory_tags.end());
  client.mandatory_tags.erase(std::unique(client.mandatory_tags.begin(), client.mandatory_tags.end()),
                              client.mandatory_tags.end());
  return client;
}

/// A record as one of its client's: its place among all, and a hash over that, would tell how much others do.
std::string counted_record(const AuditRow& row) {
  Json record = Json::parse(row.record, nullptr, false);
  if (record.is_object()) record["sequence"] = row.sequence;
  return record.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

void api_me(const ApiContext& api, const Call& call) {
  const auto factor = api.governor.second_factor(call->who.user);
  api.answer(call, 200,
             {{"user", call->who.user},
              {"codes", factor && factor->confirmed},
              {"token", call->who.token},
              {"scopes", format_scopes(call->who.scopes)},
              {"roles", grants_json(call->who.grants)}});
}

void api_list_tokens(const ApiContext& api, const Call& call) {
  const bool all = call->who.may_everywhere(Permission::kManageClients);
  Json tokens = Json::array();
  for (const Token& token : api.governor.state().tokens)
    if (all || token.user == call->who.user) tokens.push_back(token_json(token, call->at));
  api.answer(call, 200, {{"tokens", std::move(tokens)}});
}

void api_make_token(const ApiContext& api, const Call& call) {
  const Result<TokenWish> wish = token_wish(call);
  if (!wish.ok()) return api.answer(call, wish.error());
  if (wish->user != call->who.user && !call->who.may_everywhere(Permission::kManageClients))
    return api.answer(call, problem(403, "only an operator makes tokens for others"));
  if (!api.governor.user(wish->user)) return api.answer(call, no_such_user(wish->user));
  const NewToken made = make_token(wish->user, wish->scopes, call->at, wish->life, wish->note);
  call->detail = fmt::format("token {} of {}", made.token.id, wish->user);
  Json body = token_json(made.token, call->at);
  body["secret"] = made.secret;
  api.change(call, made.token, 201, body);
}

void api_revoke_token(const ApiContext& api, const Call& call) {
  auto token = api.governor.token(call->names[0]);
  if (!token || (token->user != call->who.user && !call->who.may_everywhere(Permission::kManageClients)))
    return api.answer(
        call, make_error(ErrorCode::kNotFound, "there is no token {}: `stint token list` shows yours", excerpt(call->names[0])));
  if (!token->revoked) token->revoked = call->at;
  call->detail = fmt::format("token {} of {}", token->id, token->user);
  api.change(call, *token, 200, token_json(*token, call->at));
}

void api_list_users(const ApiContext& api, const Call& call) {
  Json users = Json::array();
  for (const User& user : api.governor.state().users)
    if (auto json = user_json(call->who, user)) users.push_back(std::move(*json));
  api.answer(call, 200, {{"users", std::move(users)}});
}

void api_show_user(const ApiContext& api, const Call& call) {
  const auto user = api.governor.user(call->names[0]);
  const auto json = user ? user_json(call->who, *user) : std::nullopt;
  if (!json) return api.answer(call, no_such_user(call->names[0]));
  api.answer(call, 200, *json);
}

void api_put_user(const ApiContext& api, const Call& call) {
  const Result<User> user = changed_user(api, call);
  if (!user.ok()) return api.answer(call, user.error());
  call->detail = fmt::format("user {}: {}", user->name, grants_json(user->grants).dump());
  const auto shown = user_json(call->who, *user);
  api.change(call, *user, 200, shown ? *shown : Json{{"name", user->name}, {"roles", Json::array()}});
}

void api_list_clients(const ApiContext& api, const Call& call) {
  Json clients = Json::array();
  for (const Client& client : api.governor.state().clients)
    if (call->who.may(Permission::kSeeJobs, client.name)) {
      clients.push_back(client_json(client));
      if (api.options.log_keeper != nullptr) put_log_use(clients.back(), *api.options.log_keeper, client.name, call->who.user);
    }
  api.answer(call, 200, {{"clients", std::move(clients)}});
}

void api_put_client(const ApiContext& api, const Call& call) {
  const Result<Client> client = changed_client(api, call);
  if (!client.ok()) return api.answer(call, client.error());
  call->client = client->name;
  api.change(call, *client, 200, client_json(*client));
}

void api_audit_log(const ApiContext& api, const Call& call) {
  const auto after = integer_parameter(call, "after", 0, 0, INT64_MAX);
  const auto limit = integer_parameter(call, "limit", 100, 1, 1000);
  if (!after.ok()) return api.answer(call, after.error());
  if (!limit.ok()) return api.answer(call, limit.error());
  const std::string* wanted = call->request.parts.parameter("client");
  const std::string client = wanted == nullptr ? "" : *wanted;
  // The records of all can be verified; those of one client are a selection from them.
  if (client.empty() ? !call->who.may_everywhere(Permission::kSeeAudit) : !call->who.may(Permission::kSeeAudit, client))
    return api.answer(call, problem(403, "your role shows the audit log of your clients: name one with ?client="));
  api.governor.read_audit(*after, *limit, client,
                          [api, call, selected = !client.empty()](const Result<std::vector<AuditRow>>& rows) {
                            if (!rows.ok()) return api.answer(call, rows.error());
                            Json records = Json::array();
                            for (const AuditRow& row : rows.value())
                              records.push_back({{"sequence", row.sequence},
                                                 {"hash", selected ? Json() : Json(row.hash)},
                                                 {"record", selected ? counted_record(row) : row.record}});
                            const int64_t next = rows.value().empty() ? 0 : rows.value().back().sequence;
                            api.answer(call, 200, {{"records", std::move(records)}, {"next", next}});
                          });
}

void api_audit_heads(const ApiContext& api, const Call& call) {
  if (!call->who.may_everywhere(Permission::kSeeAudit))
    return api.answer(call, problem(403, "your role shows the audit log of your clients: heads are of the whole log"));
  Json heads = Json::array();
  for (const AuditHead& head : api.governor.audit_heads())
    heads.push_back({{"at", format_utc(head.at)},
                     {"records", head.records},
                     {"head", head.hash},
                     {"gaps", head.gaps.empty() ? Json() : Json(head.gaps)},
                     {"thinned_after", head.thinned_after}});
  api.answer(call, 200, {{"heads", std::move(heads)}});
}

}  // namespace stint
