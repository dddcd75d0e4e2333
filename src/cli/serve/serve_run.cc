// stint serve run: an inference server on a folder of models.
#include <fmt/format.h>
#include <signal.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <set>
#include <thread>

#include "base/counted.h"
#include "base/text.h"
#include "cli/parser.h"
#include "cli/serve/model_copies.h"
#include "cli/serve/onnx_options.h"
#include "cli/serve/serve.h"
#include "cli/tls_options.h"
#include "daemon/front.h"
#include "host/file.h"
#include "host/memory_use.h"
#include "host/replica_proof.h"
#include "host/service_manager.h"
#include "serve/kserve_api.h"
#if STINT_GRPC
#include "serve/grpc/grpc_api.h"
#endif

namespace stint {
namespace {

constexpr Duration kLongestDrain = Duration::seconds(30);

struct RunCommand {
  std::string models;
  std::string copies;             ///< folder for those that are fetched
  std::string models_token_file;  ///< for HTTPS
  std::string listen = "127.0.0.1:8480";
  std::string grpc;  ///< IP address and port; empty: none
  OnnxOptions onnx;
  int64_t memory_mib = 4096;
  std::optional<int64_t> device_mib;
  int64_t host_mib = 0;
  std::optional<double> patience_s;
  int threads = 0;
  int64_t max_body_mib = 16;
  int64_t max_connections = 1024;
  bool compress_answers = false;
  std::optional<int64_t> request_mib;
  int64_t cache_mib = 0;
  std::vector<std::string> tenants, tenant_tokens;
  std::string token_file, control_token_file, metrics_token_file, gateway_token_file;
  TlsOptions tls;
  bool plain_beyond_loopback = false;
};

/// NAME=WEIGHT … → the weights by TenantId, the first of those who are not named, and the ids by name.
Status read_tenants(const std::vector<std::string>& given, std::vector<int64_t>& weights, std::map<std::string, uint32_t>& ids) {
  weights = {1};
  for (const std::string& text : given) {
    const size_t equals = text.rfind('=');
    const std::optional<int64_t> weight = equals == std::string::npos ? std::nullopt : parse_int(text.substr(equals + 1));
    if (!weight || equals == 0) return invalid("--tenant {}: expected NAME=WEIGHT, such as vision=3", excerpt(text));
    ids[text.substr(0, equals)] = static_cast<uint32_t>(weights.size());
    weights.push_back(*weight);
  }
  return {};
}

/// Of --memory, unless it is said or models have a GPU's.
Bytes request_room(const RunCommand& command) {
  constexpr int64_t kPart = 4, kMostMib = 512;
  return Bytes::mebi(command.request_mib.value_or(std::clamp(command.memory_mib / kPart, int64_t{1}, kMostMib)));
}

/// What each token is good for. @param ids  of tenants, by name
Result<serve::ServeAccess> read_access(const RunCommand& command, std::map<std::string, uint32_t> ids) {
  using serve::Right;
  serve::ServeAccess::Options options;
  const auto add = [&options](const std::string& file, std::vector<Right> rights, uint32_t tenant) -> Status {
    if (file.empty()) return {};
    TRY_ASSIGN(std::string secret, read_secret_file(file));
    options.tokens.push_back({.secret = std::move(secret), .rights = std::move(rights), .tenant = batching::TenantId(tenant)});
    return {};
  };
  std::set<std::string> without_token;
  for (const auto& [name, id] : ids)
    without_token.insert(name);
  for (const std::string& text : command.tenant_tokens) {
    const size_t equals = text.find('=');
    const auto tenant = ids.find(text.substr(0, equals));
    if (equals == std::string::npos || equals + 1 == text.size() || tenant == ids.end())
      return invalid("--tenant-token {}: expected NAME=FILE of a tenant that --tenant names", excerpt(text));
    TRY(add(text.substr(equals + 1), {Right::kInfer}, tenant->second));
    without_token.erase(tenant->first);
  }
  if (!without_token.empty() && command.gateway_token_file.empty())
    return invalid(
        "--tenant {}: its requests cannot be told from others': give --tenant-token {}=FILE, or --gateway-token-file for "
        "whoever names tenants",
        *without_token.begin(), *without_token.begin());
  std::vector<Right> plain = {Right::kInfer};
  if (command.metrics_token_file.empty()) plain.push_back(Right::kMetrics);
  TRY(add(command.token_file, plain, 0));
  TRY(add(command.gateway_token_file, {Right::kInfer}, 0));
  if (!command.gateway_token_file.empty()) options.tokens.back().names_tenant = true;
  TRY(add(command.control_token_file, {Right::kControl}, 0));
  TRY(add(command.metrics_token_file, {Right::kMetrics}, 0));
  options.tenants = std::move(ids);
  return serve::ServeAccess::create(std::move(options));
}

Result<serve::StoreOptions> store_options(const RunCommand& command) {
  serve::StoreOptions options;
  options.repository = command.models;
  options.memory.room = Bytes::mebi(command.memory_mib);
  options.cache = Bytes::mebi(command.cache_mib);
  options.memory.patience = std::nullopt;
  if (command.patience_s) options.memory.patience = Duration::from_seconds(*command.patience_s);
  options.threads = command.threads > 0 ? command.threads : std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  std::optional<Bytes> device;
  if (command.device_mib) device = Bytes::mebi(*command.device_mib);
  Result<serve::OnnxRuntime> onnx = open_onnxruntime(command.onnx, options.memory.room);
  if (onnx.ok())
    options.onnx = std::make_shared<const serve::OnnxRuntime>(std::move(*onnx));
  else if (!command.onnx.library.empty() || command.onnx.device.starts_with("cuda"))
    return onnx.error();
  if (!options.onnx || !options.onnx->gpu()) {
    const Bytes requests = request_room(command);
    if (requests >= options.memory.room)
      return invalid("--request-memory: requests would take all of --memory ({} MiB): give less", command.memory_mib);
    options.memory.room = options.memory.room - requests;
    if (options.cache >= options.memory.room)
      return invalid("--response-cache: requests and kept answers would take all of --memory ({} MiB): give less",
                     command.memory_mib);
    options.memory.room = options.memory.room - options.cache;
  }
  if (command.host_mib > 0 && command.onnx.device == "cpu")
    return invalid("--host-memory: models run on the processor already, within --memory: leave it out, or name a --device");
  const auto look = [device, gpu = options.onnx ? options.onnx->gpu() : nullptr] {
    return gpu ? gpu->memory(device) : memory_use(device);
  };
  TRY(look());
  options.watch.read = [look]() -> std::optional<MemoryUse> {
    const Result<MemoryUse> use = look();
    return use.ok() ? std::optional(*use) : std::nullopt;
  };
  options.measure_command = {"/proc/self/exe", "serve", "weigh"};
  options.watch.host_room = Bytes::mebi(command.host_mib);
  options.watch.tell = [](const std::string& line) { fmt::print(stderr, "stint: {}\n", line); };
  return options;
}

/// Where models lie elsewhere, they are copied here first; what was copied before serves where they cannot be reached.
Status fetch_models(const RunCommand& command, serve::StoreOptions& options) {
  if (!is_model_place(command.models)) {
    if (!command.copies.empty()) return invalid("--model-copies: {} is a folder, which is served as it is", command.models);
    return {};
  }
  if (command.copies.empty()) return invalid("--models {}: name a folder for its copies, --model-copies", command.models);
  TRY_ASSIGN(const std::string token, read_secret_file(command.models_token_file));
  TRY_ASSIGN(ModelCopies opened, ModelCopies::open(command.models, command.copies, token));
  const auto copies = std::make_shared<ModelCopies>(std::move(opened));
  if (const Status fetched = copies->refresh(std::nullopt); !fetched.ok()) {
    if (!copies->check().ok()) return fetched;
    fmt::print(stderr, "stint: served as copied before, {}\n", fetched.error().message);
  }
  options.repository = command.copies;
  options.fetch = [copies](const std::string& name) { return copies->refresh(name); };
  return {};
}

#if STINT_GRPC
Result<std::unique_ptr<serve::GrpcApi>> start_grpc(serve::ModelStore& store, const RunCommand& command,
                                                   const serve::ApiOptions& api) {
  TRY_ASSIGN(const ListenAddress listen, parse_listen_address(command.grpc));
  TRY_ASSIGN(auto grpc,
             serve::GrpcApi::start(
                 store, {.address = listen.address,
                         .port = listen.port,
                         .tls = command.tls,
                         .plain_beyond_loopback = command.plain_beyond_loopback,
                         .max_message_bytes = static_cast<int>(std::min(command.max_body_mib << 20, int64_t{INT32_MAX})),
                         .api = api}));
  fmt::print(stderr, "stint: gRPC on {}\n", grpc->listening());
  return grpc;
}
#endif

Status run(const RunCommand& command) {
  give_back_large_blocks();
  const ServiceManager manager;
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGHUP);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);  // before any thread: only sigwait below sees them

  TRY_ASSIGN(const ListenAddress listen, parse_listen_address(command.listen));
  TRY_ASSIGN(serve::StoreOptions options, store_options(command));
  TRY(fetch_models(command, options));
  std::map<std::string, uint32_t> tenants;
  TRY(read_tenants(command.tenants, options.tenant_weights, tenants));
  const bool apart = !tenants.empty();
  TRY_ASSIGN(serve::ServeAccess access, read_access(command, std::move(tenants)));
  const auto requests = ByteBudget::of(static_cast<uint64_t>(request_room(command).count()));
  serve::ApiOptions api_options{.version = STINT_VERSION, .access = std::move(access), .memory = requests};
  const uint64_t max_body_bytes = static_cast<uint64_t>(command.max_body_mib) << 20;
  api_options.max_body_bytes = max_body_bytes;
  api_options.compress_answers = command.compress_answers;
  if (const char* secret = std::getenv(kReplicaSecret); secret != nullptr) {
    api_options.replica_secret = secret;
    api_options.place = command.listen;
    ::unsetenv(kReplicaSecret);
  }
  const bool has_onnx = options.onnx != nullptr;
  TRY_ASSIGN(const std::unique_ptr<serve::ModelStore> store, serve::ModelStore::open(std::move(options)));
  if (!has_onnx) fmt::print(stderr, "stint: no ONNX Runtime was found: only synthetic models can be served\n");
  for (const std::string& trouble : store->load_all())
    fmt::print(stderr, "stint: not served: {}\n", trouble);
#if STINT_GRPC
  std::unique_ptr<serve::GrpcApi> grpc;
  if (!command.grpc.empty()) {
    TRY_ASSIGN(grpc, start_grpc(*store, command, api_options));
  }
#endif
  serve::KserveApi api(*store, std::move(api_options));
  HttpServerOptions http;
  http.address = listen.address;
  http.port = listen.port;
  http.tls = command.tls;
  http.plain_beyond_loopback = command.plain_beyond_loopback;
  http.max_body_bytes = max_body_bytes;
  http.max_connections = static_cast<size_t>(command.max_connections);
  http.bodies = requests;
  if (apart) http.max_user_body_bytes = requests->room() / 2;  // no tenant shuts the others out
  http.gate = [&api](const HttpRequest& head) { return api.admit(head); };
  TRY_ASSIGN(HttpServer server, HttpServer::start(http, [&api](HttpRequest request, const Responder& responder) {
               api.handle(std::move(request), responder);
             }));
  const std::string listening = fmt::format("serving {} model versions on {}", store->served().size(), server.url());
  fmt::print(stderr, "stint: {}\n", listening);
  manager.ready(listening);
  for (int signal = 0; sigwait(&signals, &signal) == 0 && signal == SIGHUP;) {
    manager.reloading();
    const Status renewed = server.reload_certificates();
    if (!renewed.ok())
      fmt::print(stderr, "stint: certificates not taken over: {}\n", renewed.error().message);
    else if (!command.tls.certificate_file.empty())
      fmt::print(stderr, "stint: certificates taken over\n");
    manager.ready(listening);
  }
  manager.stopping();
  api.close_doors();
#if STINT_GRPC
  if (grpc) grpc->close_doors();
#endif
  const int64_t left = store->drain(kLongestDrain);
  fmt::print(stderr, "stint: stopped; {}\n",
             left == 0 ? "every request was answered" : counted(left, "request was", "requests were") + " not answered");
  return {};
}

}  // namespace

void add_serve_run_command(Command& serve, Action& action) {
  auto options = std::make_shared<RunCommand>();
  Command* command =
      serve.add_subcommand("run", "An inference server (Open Inference Protocol, KServe v2) on a folder of models");
  command
      ->add_option(
          "--models", options->models,
          "folder: NAME/VERSION/model.onnx, and NAME/model.json where settings are wanted; or where one lies with a SHA256SUMS: "
          "s3://bucket/folder, gs://…, az://account/container/…, https://…, oci://registry/name:tag")
      ->required();
  command->add_option("--model-copies", options->copies, "folder for copies of models that lie elsewhere");
  command->add_option("--models-token-file", options->models_token_file,
                      "token that an https:// of --models asks for; of a registry also USER:PASSWORD");
  command->add_option("--listen", options->listen, "IP address and port")->envname("STINT_LISTEN")->capture_default_str();
#if STINT_GRPC
  command->add_option("--grpc", options->grpc, "IP address and port for gRPC too (default: HTTP alone)");
#endif
  add_onnx_options(*command, options->onnx);
  command
      ->add_option("--memory", options->memory_mib,
                   "MiB that models and requests may take together; with --device cuda, models of the GPU's")
      ->check(in_range(int64_t{2}, int64_t{1} << 30))
      ->capture_default_str();
  command
      ->add_option(
          "--request-memory", options->request_mib,
          "MiB of it that requests may take: bodies, tensors, answers (default: a quarter, at most 512); with --device cuda, of "
          "the host's")
      ->check(in_range(int64_t{1}, int64_t{1} << 30));
  command
      ->add_option("--response-cache", options->cache_mib,
                   "MiB of --memory for answers of models whose model.json says \"cache\": true, so that the same request is not "
                   "computed again; 0: none is kept; with --device cuda, of the host's")
      ->check(in_range(int64_t{0}, int64_t{1} << 30))
      ->capture_default_str();
  command
      ->add_option("--device-memory", options->device_mib,
                   "MiB this process may use in all, with --device cuda of the GPU's; models are made smaller, unloaded or "
                   "refused above 90 % of it (default: what the control group, the machine or the GPU has, whoever uses it)")
      ->check(in_range(int64_t{1}, int64_t{1} << 30));
  command
      ->add_option("--host-memory", options->host_mib,
                   "with --device cuda, MiB of the host's memory for models that leave a full GPU and run on the processor until "
                   "there is room again; 0: none leaves")
      ->check(in_range(int64_t{0}, int64_t{1} << 30))
      ->capture_default_str();
  command
      ->add_option("--patience", options->patience_s,
                   "seconds a model that is worth less than what it would displace lets its requests gather before it is loaded "
                   "(default: as long as its load takes; 0: none)")
      ->check(in_range(0.0, 3600.0));
  command->add_option("--threads", options->threads, "that run batches (default: one for each core)")->check(in_range(1, 1024));
  command->add_option("--max-body", options->max_body_mib, "MiB of a request, unpacked")
      ->check(in_range(1, 2048))
      ->capture_default_str();
  command->add_option("--max-connections", options->max_connections, "at the same time")
      ->check(in_range(1, 100'000))
      ->capture_default_str();
  command->add_flag("--compress-answers", options->compress_answers,
                    "answers over HTTP are compressed for clients that take gzip or deflate; costs processor time");
  command->add_option("--tenant", options->tenants, "NAME=WEIGHT: share of a model where several wait; known by its token");
  command->add_option("--tenant-token", options->tenant_tokens, "NAME=FILE: that tenant's token");
  command->add_option("--gateway-token-file", options->gateway_token_file,
                      "token of a gateway that knows who asks, and names the tenant in the header stint-tenant");
  command->add_option("--token-file", options->token_file, "who infers must show the token in this file");
  command->add_option("--control-token-file", options->control_token_file,
                      "token that loads and unloads models; without it nothing does while the server runs");
  command->add_option("--metrics-token-file", options->metrics_token_file,
                      "token that reads /metrics (default: that of --token-file does)");
  add_tls_options(*command, options->tls, options->plain_beyond_loopback);
  command->footer("Example: stint serve run --models repository --memory 2048");
  command->callback([options, &action] {
    action = [options] {
      const Status done = run(*options);
      return done.ok() ? ExitCode::kOk : fail(done.error().message);
    };
  });
}

}  // namespace stint
