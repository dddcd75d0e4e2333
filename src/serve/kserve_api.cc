#include "serve/kserve_api.h"

#include <mutex>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "host/http_coding.h"
#include "host/replica_proof.h"
#include "serve/generate_call.h"
#include "serve/infer_call.h"
#include "serve/leaver.h"

namespace stint::serve {
namespace {

using Json = nlohmann::ordered_json;

HttpReply json_reply(const Json& json) {
  return {200, "application/json", {}, json.dump(-1, ' ', false, Json::error_handler_t::replace)};
}

Json tensors_json(const std::vector<TensorSpec>& specs) {
  auto list = Json::array();
  for (const TensorSpec& spec : specs) {
    auto shape = Json::array({-1});
    for (const int64_t size : spec.item_shape)
      shape.push_back(size);
    list.push_back({{"name", spec.name}, {"datatype", name_of(spec.type)}, {"shape", std::move(shape)}});
  }
  return list;
}

Json metadata_json(std::string_view name, const std::vector<int64_t>& versions, const ServedModel& model) {
  auto listed = Json::array();
  for (const int64_t version : versions)
    listed.push_back(std::to_string(version));
  return {{"name", name},
          {"versions", std::move(listed)},
          {"platform", model.source().platform()},
          {"inputs", tensors_json(model.measured().inputs)},
          {"outputs", tensors_json(model.measured().outputs)}};
}

/// As Triton names the parts: what its clients' load generators look at.
Json config_json(std::string_view name, const ServedModel& model) {
  const auto tensors = [](const std::vector<TensorSpec>& specs) {
    auto list = Json::array();
    for (const TensorSpec& spec : specs)
      list.push_back({{"name", spec.name}, {"data_type", config_name_of(spec.type)}, {"dims", spec.item_shape}});
    return list;
  };
  const ServedModelConfig& config = model.config();
  return {{"name", name},
          {"platform", model.source().platform()},
          {"max_batch_size", config.max_batch},
          {"input", tensors(model.measured().inputs)},
          {"output", tensors(model.measured().outputs)},
          {"instance_group",
           Json::array({{{"count", config.instances}, {"kind", model.source().gpu() != nullptr ? "KIND_GPU" : "KIND_CPU"}}})},
          {"dynamic_batching",
           {{"preferred_batch_size", config.preferred}, {"max_queue_delay_microseconds", config.max_wait.count_ns() / 1000}}},
          {"model_transaction_policy", {{"decoupled", config.generate.has_value()}}}};
}

std::optional<std::string_view> header_of(const HttpRequest& request, std::string_view name) {
  const std::string* header = request.header(name);
  return header == nullptr ? std::nullopt : std::optional<std::string_view>(*header);
}

/// parameters.config of a request to load; none when there is none.
Result<std::optional<std::string>> config_in(const std::string& body) {
  if (trim(body).empty()) return std::optional<std::string>();
  const Json json = Json::parse(body, nullptr, false);
  if (!json.is_object()) return invalid("the body is no JSON object");
  if (!json.contains("parameters") || !json["parameters"].is_object() || !json["parameters"].contains("config"))
    return std::optional<std::string>();
  const Json& config = json["parameters"]["config"];
  if (!config.is_string()) return invalid("parameters.config must be a text that holds the configuration's JSON");
  return std::optional(config.get<std::string>());
}

/// Does a page of another site ask? Browsers say whose page it is, and send a POST that looks like a form's without asking first.
bool is_from_another_site(const HttpRequest& request) {
  const std::string* origin = request.header("origin");
  if (origin == nullptr) return false;
  const std::string* host = request.header("host");
  const size_t scheme = origin->find("://");
  return host == nullptr || scheme == std::string::npos || std::string_view(*origin).substr(scheme + 3) != *host;
}

/// `localhost` or an address, with or without a port: no name that another could point here.
bool is_localhost_or_address(std::string_view host) {
  if (host.starts_with('[')) return true;
  host = host.substr(0, host.find(':'));
  return host == "localhost" || (!host.empty() && host.find_first_not_of("0123456789.") == std::string_view::npos);
}

/// Bodies up to this are read on the server's thread: a hand-over costs more.
constexpr size_t kReadInPlace = size_t{256} << 10;

/// Of the body. @return none: one that is not read
std::optional<ContentCoding> coding_in(const HttpRequest& request) {
  const std::string* header = request.header("content-encoding");
  return header == nullptr ? std::optional(ContentCoding::kIdentity) : coding_of(*header);
}

bool asks_to_infer(std::string_view what) { return what == "infer" || what == "generate" || what == "generate_stream"; }

/// What the address takes.
Right right_for(const std::vector<std::string>& path) {
  if (path.size() == 3 && path[0] == "v2" && path[1] == "health") return Right::kNone;
  if (path.size() == 1 && path[0] == "metrics") return Right::kMetrics;
  if (path.size() > 3 && path[0] == "v2" && path[1] == "repository") return Right::kControl;
  return !path.empty() && asks_to_infer(path.back()) ? Right::kInfer : Right::kLook;
}

}  // namespace

KserveApi::KserveApi(ModelStore& store, ApiOptions options) : store_(store), options_(std::move(options)) {}
KserveApi::~KserveApi() = default;

HttpAdmission KserveApi::admit(const HttpRequest& head) const {
  const auto& path = head.parts.segments;
  const Right right = right_for(path);
  const ServeAccess& access = options_.access;
  const ServeAccess::Caller caller = access.who(header_of(head, "authorization"), std::nullopt);
  const auto refused = [](int status, std::string_view why) { return HttpAdmission{infer_error(status, why), ""}; };
  if (!access.may(caller, right)) {
    if (caller.token != nullptr) return refused(403, "this token is not good for that");
    if (right == Right::kControl)
      return refused(401,
                     "models are controlled by a token alone: start the server with --control-token-file and show that token");
    return refused(401, "a token is needed: Authorization: Bearer TOKEN");
  }
  if (access.asks_for_token(right)) return {std::nullopt, fmt::format("token {}", caller.tenant.index())};
  if (is_from_another_site(head))
    return refused(403, "pages of other sites do not ask a server without a token: give it --token-file");
  const std::string* host = head.header("host");
  if (path.size() == 3 && path[1] == "repository" && head.tls_client.empty() &&
      (host == nullptr || !is_localhost_or_address(*host)))
    return refused(403, "without a token the repository answers to localhost or an address alone: give it --token-file");
  return {};
}

void KserveApi::handle(HttpRequest request, const Responder& responder) {
  const auto& path = request.parts.segments;
  const bool is_health = path.size() == 3 && path[0] == "v2" && path[1] == "health";
  if (path.size() >= 3 && path[0] == "v2" && path[1] == "models") return model(request, responder);
  if (path.size() >= 3 && path[0] == "v2" && path[1] == "repository") return repository(request, responder);
  if (request.method != "GET") return responder.reply(infer_error(405, "only GET is possible here"));
  if (path.size() == 1 && path[0] == "metrics")
    return responder.reply({200, "text/plain; version=0.0.4", {}, serve_metrics(store_, *options_.memory)});
  if (path.size() == 1 && path[0] == "v2")
    return responder.reply(
        json_reply({{"name", "stint"},
                    {"version", options_.version},
                    {"extensions", {"binary_tensor_data", "model_repository", "model_configuration", "generate"}}}));
  if (is_health && path[2] == "live") return responder.reply({200, "application/json", {}, ""});
  if (is_health && path[2] == "ready") return ready(request, responder);
  responder.reply(infer_error(404, "no such address: see /v2"));
}

void KserveApi::ready(const HttpRequest& request, const Responder& responder) const {
  HttpReply reply{closing_ ? 503 : 200, "application/json", {}, ""};
  const std::string* challenge = request.header(kChallengeHeader);
  if (challenge != nullptr && challenge->size() <= kLongestChallenge && !options_.replica_secret.empty())
    reply.headers.emplace_back(kProofHeader, replica_proof(options_.replica_secret, options_.place, *challenge));
  responder.reply(std::move(reply));
}

void KserveApi::model(HttpRequest& request, const Responder& responder) {
  const std::vector<std::string>& path = request.parts.segments;
  size_t rest = 3;
  std::optional<int64_t> version;
  if (path.size() >= 5 && path[3] == "versions") {
    version = parse_int(path[4]);
    if (!version) return responder.reply(infer_error(404, "versions are whole numbers"));
    rest = 5;
  }
  const std::string_view what = path.size() > rest ? std::string_view(path[rest]) : std::string_view();
  const bool wants_post = asks_to_infer(what);
  if (path.size() > rest + 1 || (!what.empty() && !wants_post && what != "ready" && what != "config"))
    return responder.reply(
        infer_error(404, "no such address: a model has /ready, /config, /infer, /generate and /generate_stream"));
  if (request.method != (wants_post ? "POST" : "GET"))
    return responder.reply(
        infer_error(405, wants_post ? fmt::format("{} is asked for by POST", what) : "only GET is possible here"));
  const std::optional<ServedVersion> served = store_.find(path[2], version);
  if (!served) return responder.reply(infer_error(404, fmt::format("model {} is not served here", excerpt(path[2]))));
  if (what == "ready") return responder.reply({200, "application/json", {}, ""});
  if (what == "config") return responder.reply(json_reply(config_json(path[2], *served->model)));
  if (what.empty()) return responder.reply(json_reply(metadata_json(path[2], store_.versions(path[2]), *served->model)));
  if (what != "infer") return generate(request, responder, *served, what == "generate_stream");
  infer(request, responder, *served);
}

bool KserveApi::takes(const HttpRequest& request, const Responder& responder) const {
  if (closing_)
    responder.reply(infer_error(503, "the server is being stopped"));
  else if (!coding_in(request))
    responder.reply(infer_error(415, "a body may be compressed by gzip or deflate, once, and in no other way"));
  else
    return true;
  return false;
}

std::optional<HttpReply> KserveApi::unpack(HttpRequest& request) {
  const ContentCoding coding = *coding_in(request);
  if (coding == ContentCoding::kIdentity) return std::nullopt;
  std::shared_ptr<ByteBudget> own;  // few bytes become many: no tenant shuts the others out
  if (options_.access.has_tenants()) {
    std::shared_ptr<ByteBudget>& budget = unpacked_[tenant_of(request)];
    if (!budget) budget = ByteBudget::of(options_.memory->room() / 2);
    own = budget;
  }
  std::pair<std::shared_ptr<const void>, std::shared_ptr<const void>> held;
  bool own_is_full = false;
  const auto takes = [&](uint64_t bytes) -> Status {
    TRY_ASSIGN(held.first, book(*options_.memory, bytes));
    if (own && !(held.second = own->take(bytes))) {
      own_is_full = true;
      return make_error(ErrorCode::kUnavailable,
                        "the tenant's compressed bodies take half of the requests' memory: try again later");
    }
    return {};
  };
  Result<std::string> body = decoded(coding, request.body, options_.max_body_bytes, takes);
  if (!body.ok()) return own_is_full ? infer_error(429, body.error().message) : infer_error(body.error());
  request.body = std::move(*body);
  request.held = std::make_shared<decltype(held)>(std::move(held));
  return std::nullopt;
}

batching::TenantId KserveApi::tenant_of(const HttpRequest& request) const {
  return options_.access.who(header_of(request, "authorization"), header_of(request, "stint-tenant")).tenant;
}

void KserveApi::generate(HttpRequest& request, const Responder& responder, const ServedVersion& served, bool as_stream) {
  if (!takes(request, responder)) return;
  // Until the first answer; after that the stream tells.
  const auto generation = std::make_shared<std::weak_ptr<HttpGeneration>>();
  const auto gone = std::make_shared<std::atomic<bool>>(false);
  responder.on_gone([generation, gone, &reader = reader_] {
    gone->store(true);
    reader.submit([generation] {
      if (const auto begun = generation->lock()) begun->gone();
    });
  });
  reader_.submit([this, held = std::make_shared<HttpRequest>(std::move(request)), responder, served, as_stream, generation,
                  gone] {
    if (std::optional<HttpReply> refusal = unpack(*held)) return responder.reply(std::move(*refusal));
    CallTerms terms;
    terms.tenant = tenant_of(*held);
    Result<std::shared_ptr<HttpGeneration>> call =
        HttpGeneration::read(*held, {held->parts.segments[2], served.version}, served.model->measured(),
                             {large_parser_, *options_.memory}, responder, as_stream ? Answers::kStream : Answers::kOne, terms);
    if (!call.ok()) return responder.reply(infer_error(call.error()));
    *generation = *call;  // of this thread alone
    if (!gone->load()) (*call)->begin(served.model, terms);
  });
}

void KserveApi::infer(HttpRequest& request, const Responder& responder, const ServedVersion& served) {
  if (!takes(request, responder)) return;
  if (request.body.size() <= kReadInPlace && *coding_in(request) == ContentCoding::kIdentity) {
    const std::optional<batching::RequestId> id = begin(request, responder, served, parser_);
    if (id && !responder.answered())
      responder.on_gone([weak = std::weak_ptr<ServedModel>(served.model), id = *id] {
        if (const auto model = weak.lock()) model->cancel(id);
      });
    return;
  }
  const auto leaver = std::make_shared<Leaver>();
  responder.on_gone([leaver] { leaver->gone(); });
  reader_.submit([this, held = std::make_shared<HttpRequest>(std::move(request)), responder, served, leaver] {
    if (std::optional<HttpReply> refusal = unpack(*held)) return responder.reply(std::move(*refusal));
    const std::optional<batching::RequestId> id = begin(*held, responder, served, large_parser_);
    if (id) leaver->submitted(served.model, *id);
  });
}

std::optional<batching::RequestId> KserveApi::begin(HttpRequest& request, const Responder& responder, const ServedVersion& served,
                                                    InferParser& parser) const {
  CallTerms terms;
  terms.tenant = tenant_of(request);
  const ContentCoding answer = options_.compress_answers ? accepted_coding(request) : ContentCoding::kIdentity;
  Result<std::unique_ptr<HttpInferCall>> call =
      HttpInferCall::read(request, {request.parts.segments[2], served.version}, served.model->measured(),
                          {parser, *options_.memory, answer}, responder, terms);
  if (call.ok()) return served.submit(std::move(*call), terms);
  responder.reply(infer_error(call.error()));
  return std::nullopt;
}

void KserveApi::repository(const HttpRequest& request, const Responder& responder) {
  const auto& path = request.parts.segments;
  if (request.method != "POST") return responder.reply(infer_error(405, "the repository is asked by POST"));
  if (path.size() == 3 && path[2] == "index") {
    auto list = Json::array();
    for (const ModelStore::Row& row : store_.index())
      list.push_back({{"name", row.name},
                      {"version", row.version ? std::to_string(*row.version) : ""},
                      {"state", row.ready ? "READY" : "UNAVAILABLE"},
                      {"reason", row.reason}});
    return responder.reply(json_reply(list));
  }
  const bool is_load = path.size() == 5 && path[4] == "load";
  if (path.size() != 5 || path[2] != "models" || (!is_load && path[4] != "unload"))
    return responder.reply(infer_error(404, "the repository has /index, /models/NAME/load and /models/NAME/unload"));
  Result<std::optional<std::string>> config = config_in(is_load ? request.body : "");
  if (!config.ok()) return responder.reply(infer_error(400, config.error().message));
  chores_.submit([this, name = path[3], is_load, given = std::move(*config), responder] {
    const Status done = is_load ? store_.load(name, given) : store_.unload(name);
    responder.reply(done.ok() ? HttpReply{200, "application/json", {}, ""} : infer_error(done.error()));
  });
}

}  // namespace stint::serve
