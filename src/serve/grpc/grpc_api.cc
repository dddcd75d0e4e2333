// gRPC stays in this file: it costs every translation unit that includes it many seconds.
#include "serve/grpc/grpc_api.h"

#include <grpcpp/grpcpp.h>

#include <chrono>
#include <functional>
#include <mutex>

#include "base/text.h"
#include "codec/serving/tensor_texts.h"
#include "host/file.h"
#include "open_inference.grpc.pb.h"
#include "serve/generation.h"
#include "serve/leaver.h"

namespace stint::serve {
namespace {

using grpc::CallbackServerContext;
using grpc::ServerUnaryReactor;
using grpc::StatusCode;
using InferRequestMessage = inference::ModelInferRequest;
using StreamAnswer = inference::ModelStreamInferResponse;
using Service = inference::GRPCInferenceService::CallbackService;

constexpr size_t kLeastQuota = size_t{16} << 20;  // below it connections are refused

constexpr auto kLongestEnd = std::chrono::seconds(1);

grpc::Status said(StatusCode code, std::string_view message) { return {code, std::string(message)}; }

StatusCode code_of(batching::RefusalReason reason) {
  switch (reason) {
    case batching::RefusalReason::kQueueFull:
    case batching::RefusalReason::kNoMemory: return StatusCode::UNAVAILABLE;
    case batching::RefusalReason::kTenantLimit: return StatusCode::RESOURCE_EXHAUSTED;
    case batching::RefusalReason::kDoomed: return StatusCode::DEADLINE_EXCEEDED;
    default: return StatusCode::INVALID_ARGUMENT;
  }
}

grpc::Status status_of(const Error& error) {
  switch (error.code) {
    case ErrorCode::kInvalidInput: return said(StatusCode::INVALID_ARGUMENT, error.message);
    case ErrorCode::kNotFound: return said(StatusCode::NOT_FOUND, error.message);
    case ErrorCode::kConflict: return said(StatusCode::ALREADY_EXISTS, error.message);
    case ErrorCode::kUnavailable: return said(StatusCode::UNAVAILABLE, error.message);
    case ErrorCode::kInternal: return said(StatusCode::INTERNAL, error.message);
  }
  return said(StatusCode::INTERNAL, error.message);
}

std::optional<std::string_view> metadata(const CallbackServerContext& context, const char* name) {
  const auto found = context.client_metadata().find(name);
  if (found == context.client_metadata().end()) return std::nullopt;
  return std::string_view(found->second.data(), found->second.size());
}

/// A whole number of the parameters; none when it is absent.
template <typename Parameters>
Result<std::optional<int64_t>> number_in(const Parameters& parameters, const char* name) {
  const auto found = parameters.find(name);
  if (found == parameters.end()) return std::optional<int64_t>();
  const inference::InferParameter& value = found->second;
  int64_t number = -1;
  if (value.has_int64_param()) number = value.int64_param();
  if (value.has_uint64_param() && value.uint64_param() <= INT64_MAX) number = static_cast<int64_t>(value.uint64_param());
  if (number < 0) return invalid("parameter {} must be a whole number from 0", name);
  return std::optional(number);
}

/// The list in which the protocol has values of a type; not for FP16 and BF16, of which there is none.
template <typename T>
const auto& contents_of(const inference::InferTensorContents& contents) {
  if constexpr (std::is_same_v<T, Bool>) return contents.bool_contents();
  if constexpr (std::is_same_v<T, int64_t>) return contents.int64_contents();
  if constexpr (std::signed_integral<T> && sizeof(T) < 8) return contents.int_contents();
  if constexpr (std::is_same_v<T, uint64_t>) return contents.uint64_contents();
  if constexpr (std::unsigned_integral<T> && sizeof(T) < 8) return contents.uint_contents();
  if constexpr (std::is_same_v<T, float>) return contents.fp32_contents();
  if constexpr (std::is_same_v<T, double>) return contents.fp64_contents();
}

template <typename T>
Result<std::vector<std::byte>> read_contents(const inference::InferTensorContents& contents, int64_t count) {
  if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, Bfloat>) {
    return invalid("the protocol has no typed contents of 16-bit floats: send them raw");
  } else {
    const auto& listed = contents_of<T>(contents);
    if (std::cmp_not_equal(listed.size(), count)) return invalid("{} values; its shape says {}", listed.size(), count);
    const std::span given(listed.data(), static_cast<size_t>(count));
    if constexpr (std::is_same_v<std::remove_cvref_t<decltype(given[0])>, T> || std::is_same_v<T, Bool>) {
      return bytes_of(given);
    } else {
      std::vector<T> values;
      for (const auto value : given) {
        if (!std::in_range<T>(value)) return invalid("{} is out of its type's range", value);
        values.push_back(static_cast<T>(value));
      }
      return bytes_of<T>(values);
    }
  }
}

Result<std::vector<std::byte>> read_texts(const inference::InferTensorContents& contents, int64_t count) {
  const auto& listed = contents.bytes_contents();
  if (std::cmp_not_equal(listed.size(), count)) return invalid("{} values; its shape says {}", listed.size(), count);
  std::vector<std::byte> texts;
  for (const std::string& text : listed)
    append_text(texts, text);
  return texts;
}

Result<InferTensor> read_tensor(const inference::ModelInferRequest::InferInputTensor& from, const std::string* raw) {
  const auto wrong = [&](std::string_view why) { return invalid("input {}: {}", excerpt(from.name()), why); };
  InferTensor tensor;
  tensor.name = from.name();
  tensor.shape.assign(from.shape().begin(), from.shape().end());
  const Result<DataType> type = read_data_type(from.datatype());
  if (!type.ok()) return wrong(type.error().message);
  tensor.type = *type;
  TRY(check_infer_shape(tensor.shape, from.name()));
  if (raw != nullptr) {
    tensor.bytes = *raw;
    const size_t size = size_of(*type);
    if (*type == DataType::kBytes) {
      if (const Status whole = check_texts(tensor.values(), static_cast<size_t>(tensor.count())); !whole.ok())
        return wrong(whole.error().message);
      return tensor;
    }
    if (raw->size() != static_cast<size_t>(tensor.count()) * size)
      return wrong(fmt::format("{} bytes; its shape has {} values of {}", raw->size(), tensor.count(), size));
    return tensor;
  }
  Result<std::vector<std::byte>> values =
      *type == DataType::kBytes
          ? read_texts(from.contents(), tensor.count())
          : visit_type(*type, [&]<typename T>(T) { return read_contents<T>(from.contents(), tensor.count()); });
  if (!values.ok()) return wrong(values.error().message);
  tensor.own = std::move(*values);
  return tensor;
}

/// @param from  the tensors' bytes stay there.
Result<InferRequest> read_request(const inference::ModelInferRequest& from) {
  const int raws = from.raw_input_contents_size();
  if (raws != 0 && raws != from.inputs_size()) return invalid("{} raw contents for {} inputs", raws, from.inputs_size());
  InferRequest request;
  request.id = from.id();
  TRY_ASSIGN(const std::optional<int64_t> timeout, number_in(from.parameters(), "timeout"));
  if (timeout && *timeout > 0) request.timeout = Duration::nanoseconds(std::min(*timeout, kLongestInferTimeout_us) * 1000);
  TRY_ASSIGN(const std::optional<int64_t> priority, number_in(from.parameters(), "priority"));
  request.priority = priority.value_or(0);
  TRY_ASSIGN(request.most_answers, number_in(from.parameters(), "max_tokens"));
  for (int i = 0; i < from.inputs_size(); ++i) {
    TRY_ASSIGN(InferTensor tensor, read_tensor(from.inputs(i), raws == 0 ? nullptr : &from.raw_input_contents(i)));
    request.inputs.push_back(std::move(tensor));
  }
  for (const auto& output : from.outputs())
    request.outputs.push_back({output.name(), true});
  return request;
}

/// The message is there already; its typed values become a list and that a tensor.
Result<std::shared_ptr<const void>> book_reading(const inference::ModelInferRequest& from, ByteBudget& memory) {
  constexpr uint64_t kCopies = 5;
  return book(memory, kCopies * from.ByteSizeLong());
}

/// @param answered  as CheckedCall::answered() has it
template <typename Answered>
void write_outputs(const std::vector<Answered>& answered, inference::ModelInferResponse& to) {
  for (const Answered& one : answered) {
    auto* output = to.add_outputs();
    output->set_name(one.wanted.name);
    output->set_datatype(std::string(name_of(one.type)));
    for (const int64_t size : one.shape)
      output->add_shape(size);
    to.add_raw_output_contents(one.values.data(), one.values.size());
  }
}

/// Ends itself when gRPC is done with it. Cancelled by the client, it takes the request out of its batch.
class InferReactor final : public ServerUnaryReactor {
 public:
  void OnDone() override { delete this; }
  void OnCancel() override { leaver_.gone(); }
  Leaver& leaver() { return leaver_; }
  /// Until the answer has been sent.
  void hold(std::shared_ptr<const void> held) { held_.push_back(std::move(held)); }

 private:
  Leaver leaver_;
  std::vector<std::shared_ptr<const void>> held_;
};

inference::DataType data_type_of(DataType type) {
  inference::DataType found = inference::TYPE_INVALID;
  CHECK(inference::DataType_Parse(config_name_of(type), &found), "{}", name_of(type));
  return found;
}

class GrpcInferCall final : public CheckedCall {
 public:
  /// @param from, to  hold until the reactor is finished.
  static Result<std::unique_ptr<GrpcInferCall>> read(const inference::ModelInferRequest& from, inference::ModelInferResponse& to,
                                                     const ServedVersion& served, InferReactor& reactor, CallTerms& terms,
                                                     ByteBudget& memory) {
    TRY_ASSIGN(auto reading, book_reading(from, memory));
    TRY_ASSIGN(InferRequest request, read_request(from));
    std::unique_ptr<GrpcInferCall> call(new GrpcInferCall({from.model_name(), served.version}, served.model->measured(), to));
    TRY(call->check(std::move(request), terms, memory));
    call->reactor_ = &reactor;
    reactor.hold(std::move(reading));
    reactor.hold(call->held_);
    return call;
  }
  /// Without an answer: it was cancelled.
  ~GrpcInferCall() override { finish(grpc::Status::CANCELLED); }

  void answer(std::span<const OutputRows> outputs) override {
    to_.set_model_name(model_);
    to_.set_model_version(std::to_string(version_));
    to_.set_id(request_.id);
    const std::vector<Answered> all = answered(outputs);
    Result<std::shared_ptr<const void>> held = hold_of(all);
    if (!held.ok()) return fail(held.error());
    reactor_->hold(std::move(*held));
    write_outputs(all, to_);
    finish(grpc::Status::OK);
  }
  void refuse(batching::RefusalReason reason) override { finish(said(code_of(reason), batching::name_of(reason))); }
  void fail(const Error& error) override { finish(status_of(error)); }

 private:
  GrpcInferCall(VersionName name, const MeasuredModel& measured, inference::ModelInferResponse& to)
      : CheckedCall(name, measured), to_(to) {}
  void finish(const grpc::Status& status) {
    if (InferReactor* reactor = std::exchange(reactor_, nullptr)) reactor->Finish(status);
  }

  inference::ModelInferResponse& to_;
  InferReactor* reactor_ = nullptr;  ///< none: finished, or never taken over
};

class GrpcGeneration;

/// Ends itself when gRPC is done with it.
class RefusedStream final : public grpc::ServerBidiReactor<InferRequestMessage, StreamAnswer> {
 public:
  explicit RefusedStream(const grpc::Status& status) { Finish(status); }
  void OnDone() override { delete this; }
};

/// A stream of requests, each of them answered, by one message or several, before the next is read. Ends itself when gRPC is done with it.
class StreamReactor final : public grpc::ServerBidiReactor<InferRequestMessage, StreamAnswer> {
 public:
  /// @param take  begins to answer a request: write() or fail() follows, or abandoned().
  explicit StreamReactor(std::function<void(const InferRequestMessage&, StreamReactor&)> take) : take_(std::move(take)) {
    StartRead(&request_);
  }
  void OnDone() override { delete this; }
  void OnCancel() override {
    std::shared_ptr<Generation> generation;
    {
      const std::lock_guard lock(mutex_);
      cancelled_ = true;
      generation = generation_.lock();
    }
    if (generation) generation->gone();
  }
  void OnReadDone(bool ok) override {
    if (!ok) return Finish(grpc::Status::OK);
    take_(request_, *this);
  }
  void OnWriteDone(bool ok) override;

  /// Who answers now. @return false: the client has gone
  bool watch(const std::shared_ptr<Generation>& generation) {
    const std::lock_guard lock(mutex_);
    generation_ = generation;
    return !cancelled_;
  }
  /// To be filled before write().
  StreamAnswer& answer() { return answer_; }
  /// @param held  until it is written. @param next  goes on then; null: this was the request's last answer
  void write(std::shared_ptr<const void> held, std::shared_ptr<GrpcGeneration> next) {
    held_ = std::move(held);
    next_ = std::move(next);
    StartWrite(&answer_);
  }
  void fail(const grpc::Status& status) {
    answer_.Clear();
    answer_.set_error_message(status.error_message());
    answer_.mutable_infer_response()->set_id(request_.id());
    write(nullptr, nullptr);
  }
  /// The request is not answered: it was cancelled.
  void abandoned() { Finish(grpc::Status::CANCELLED); }

 private:
  const std::function<void(const InferRequestMessage&, StreamReactor&)> take_;
  InferRequestMessage request_;
  StreamAnswer answer_;
  std::shared_ptr<const void> held_;
  std::shared_ptr<GrpcGeneration> next_;
  std::mutex mutex_;
  bool cancelled_ = false;
  std::weak_ptr<Generation> generation_;
};

class GrpcGeneration final : public Generation {
 public:
  static Result<std::shared_ptr<GrpcGeneration>> read(const InferRequestMessage& from, const ServedVersion& served,
                                                      StreamReactor& reactor, CallTerms& terms, ByteBudget& memory) {
    std::shared_ptr<GrpcGeneration> call(new GrpcGeneration({from.model_name(), served.version}, served.model->measured()));
    TRY_ASSIGN(call->reading_, book_reading(from, memory));
    TRY_ASSIGN(InferRequest request, read_request(from));
    TRY(call->check(std::move(request), terms, memory));
    call->reactor_ = &reactor;
    return call;
  }
  ~GrpcGeneration() override {
    if (reactor_ != nullptr) reactor_->abandoned();
  }
  using Generation::go_on;

  void refuse(batching::RefusalReason reason) override { end(said(code_of(reason), batching::name_of(reason))); }
  void fail(const Error& error) override { end(status_of(error)); }

 protected:
  void send(std::span<const OutputRows> outputs, bool last) override {
    const std::vector<Answered> all = answered(outputs);
    Result<std::shared_ptr<const void>> held = hold_of(all);
    if (!held.ok()) return fail(held.error());
    reactor_->answer().Clear();
    inference::ModelInferResponse& to = *reactor_->answer().mutable_infer_response();
    to.set_model_name(model_);
    to.set_model_version(std::to_string(version_));
    to.set_id(request_.id);
    (*to.mutable_parameters())["triton_final_response"].set_bool_param(last);
    write_outputs(all, to);
    if (last)
      std::exchange(reactor_, nullptr)->write(std::move(*held), nullptr);
    else
      reactor_->write(std::move(*held), std::static_pointer_cast<GrpcGeneration>(shared_from_this()));
  }

 private:
  GrpcGeneration(VersionName name, const MeasuredModel& measured) : Generation(name, measured) {}
  void end(const grpc::Status& status) { std::exchange(reactor_, nullptr)->fail(status); }

  StreamReactor* reactor_ = nullptr;  ///< none: the last answer is with it, or it was never taken over
  std::shared_ptr<const void> reading_;
};

void StreamReactor::OnWriteDone(bool ok) {
  held_ = nullptr;
  const std::shared_ptr<GrpcGeneration> next = std::exchange(next_, nullptr);
  if (ok && next) return next->go_on();
  if (next) return;  // let go of, it says that it is abandoned
  if (!ok) return Finish(grpc::Status::CANCELLED);
  request_.Clear();
  StartRead(&request_);
}

class GrpcService final : public Service {
 public:
  GrpcService(ModelStore& store, ApiOptions options) : store_(store), options_(std::move(options)) {}
  void close_doors() { closing_ = true; }

  ServerUnaryReactor* ServerLive(CallbackServerContext* context, const inference::ServerLiveRequest* /*request*/,
                                 inference::ServerLiveResponse* response) override {
    response->set_live(true);
    return end(context, grpc::Status::OK);
  }
  ServerUnaryReactor* ServerReady(CallbackServerContext* context, const inference::ServerReadyRequest* /*request*/,
                                  inference::ServerReadyResponse* response) override {
    response->set_ready(!closing_);
    return end(context, grpc::Status::OK);
  }
  ServerUnaryReactor* ServerMetadata(CallbackServerContext* context, const inference::ServerMetadataRequest* /*request*/,
                                     inference::ServerMetadataResponse* response) override {
    if (const auto why = refusal(*context, Right::kLook)) return end(context, *why);
    response->set_name("stint");
    response->set_version(options_.version);
    for (const char* extension : {"model_repository", "model_configuration"})
      response->add_extensions(extension);
    return end(context, grpc::Status::OK);
  }
  ServerUnaryReactor* ModelReady(CallbackServerContext* context, const inference::ModelReadyRequest* request,
                                 inference::ModelReadyResponse* response) override {
    if (const auto why = refusal(*context, Right::kLook)) return end(context, *why);
    response->set_ready(!closing_ && find(request->name(), request->version()).ok());
    return end(context, grpc::Status::OK);
  }
  ServerUnaryReactor* ModelMetadata(CallbackServerContext* context, const inference::ModelMetadataRequest* request,
                                    inference::ModelMetadataResponse* response) override {
    if (const auto why = refusal(*context, Right::kLook)) return end(context, *why);
    const Result<ServedVersion> served = find(request->name(), request->version());
    if (!served.ok()) return end(context, status_of(served.error()));
    response->set_name(request->name());
    for (const int64_t version : store_.versions(request->name()))
      response->add_versions(std::to_string(version));
    response->set_platform(std::string(served->model->source().platform()));
    const auto add = [](const TensorSpec& spec, inference::ModelMetadataResponse::TensorMetadata* to) {
      to->set_name(spec.name);
      to->set_datatype(std::string(name_of(spec.type)));
      to->add_shape(-1);
      for (const int64_t size : spec.item_shape)
        to->add_shape(size);
    };
    for (const TensorSpec& spec : served->model->measured().inputs)
      add(spec, response->add_inputs());
    for (const TensorSpec& spec : served->model->measured().outputs)
      add(spec, response->add_outputs());
    return end(context, grpc::Status::OK);
  }
  ServerUnaryReactor* ModelConfig(CallbackServerContext* context, const inference::ModelConfigRequest* request,
                                  inference::ModelConfigResponse* response) override {
    if (const auto why = refusal(*context, Right::kLook)) return end(context, *why);
    const Result<ServedVersion> served = find(request->name(), request->version());
    if (!served.ok()) return end(context, status_of(served.error()));
    const ServedModelConfig& from = served->model->config();
    inference::ModelConfig& config = *response->mutable_config();
    config.set_name(request->name());
    config.set_platform(std::string(served->model->source().platform()));
    config.set_max_batch_size(static_cast<int32_t>(from.max_batch));
    const auto add = [](const TensorSpec& spec, auto* to) {
      to->set_name(spec.name);
      to->set_data_type(data_type_of(spec.type));
      for (const int64_t size : spec.item_shape)
        to->add_dims(size);
    };
    for (const TensorSpec& spec : served->model->measured().inputs)
      add(spec, config.add_input());
    for (const TensorSpec& spec : served->model->measured().outputs)
      add(spec, config.add_output());
    for (const int64_t size : from.preferred)
      config.mutable_dynamic_batching()->add_preferred_batch_size(static_cast<int32_t>(size));
    config.mutable_model_transaction_policy()->set_decoupled(from.generate.has_value());
    config.mutable_dynamic_batching()->set_max_queue_delay_microseconds(static_cast<uint64_t>(from.max_wait.count_ns() / 1000));
    return end(context, grpc::Status::OK);
  }
  ServerUnaryReactor* ModelInfer(CallbackServerContext* context, const inference::ModelInferRequest* request,
                                 inference::ModelInferResponse* response) override {
    if (const auto why = refusal(*context, Right::kInfer)) return end(context, *why);
    if (closing_) return end(context, said(StatusCode::UNAVAILABLE, "the server is being stopped"));
    const Result<ServedVersion> served = find(request->model_name(), request->model_version());
    if (!served.ok()) return end(context, status_of(served.error()));
    CallTerms terms;
    terms.tenant = tenant_of(*context);
    auto* reactor = new InferReactor();  // deletes itself
    Result<std::unique_ptr<GrpcInferCall>> call =
        GrpcInferCall::read(*request, *response, *served, *reactor, terms, *options_.memory);
    if (!call.ok()) {
      reactor->Finish(status_of(call.error()));
      return reactor;
    }
    hold_to_deadline(*context, terms);
    reactor->leaver().submitted(served->model, served->submit(std::move(*call), terms));
    return reactor;
  }
  grpc::ServerBidiReactor<InferRequestMessage, StreamAnswer>* ModelStreamInfer(CallbackServerContext* context) override {
    if (const auto why = refusal(*context, Right::kInfer)) return new RefusedStream(*why);
    return new StreamReactor([this, context](const InferRequestMessage& request, StreamReactor& reactor) {
      const Status begun = begin(*context, request, reactor);
      if (!begun.ok()) reactor.fail(status_of(begun.error()));
    });
  }
  ServerUnaryReactor* RepositoryIndex(CallbackServerContext* context, const inference::RepositoryIndexRequest* request,
                                      inference::RepositoryIndexResponse* response) override {
    if (const auto why = refusal(*context, Right::kLook)) return end(context, *why);
    for (const ModelStore::Row& row : store_.index()) {
      if (request->ready() && !row.ready) continue;
      auto* model = response->add_models();
      model->set_name(row.name);
      if (row.version) model->set_version(std::to_string(*row.version));
      model->set_state(row.ready ? "READY" : "UNAVAILABLE");
      model->set_reason(row.reason);
    }
    return end(context, grpc::Status::OK);
  }
  ServerUnaryReactor* RepositoryModelLoad(CallbackServerContext* context, const inference::RepositoryModelLoadRequest* request,
                                          inference::RepositoryModelLoadResponse* /*response*/) override {
    if (const auto why = refusal(*context, Right::kControl)) return end(context, *why);
    std::optional<std::string> config;
    if (const auto given = request->parameters().find("config"); given != request->parameters().end())
      config = given->second.string_param();
    ServerUnaryReactor* reactor = context->DefaultReactor();
    chores_.submit([this, reactor, name = request->model_name(), config] {
      const Status done = store_.load(name, config);
      reactor->Finish(done.ok() ? grpc::Status::OK : status_of(done.error()));
    });
    return reactor;
  }
  ServerUnaryReactor* RepositoryModelUnload(CallbackServerContext* context,
                                            const inference::RepositoryModelUnloadRequest* request,
                                            inference::RepositoryModelUnloadResponse* /*response*/) override {
    if (const auto why = refusal(*context, Right::kControl)) return end(context, *why);
    const Status done = store_.unload(request->model_name());
    return end(context, done.ok() ? grpc::Status::OK : status_of(done.error()));
  }

 private:
  Status begin(const CallbackServerContext& context, const InferRequestMessage& request, StreamReactor& reactor) {
    if (closing_) return make_error(ErrorCode::kUnavailable, "the server is being stopped");
    TRY_ASSIGN(const ServedVersion served, find(request.model_name(), request.model_version()));
    CallTerms terms;
    terms.tenant = tenant_of(context);
    TRY_ASSIGN(const auto call, GrpcGeneration::read(request, served, reactor, terms, *options_.memory));
    hold_to_deadline(context, terms);
    if (reactor.watch(call)) call->begin(served.model, terms);
    return {};
  }
  [[nodiscard]] batching::TenantId tenant_of(const CallbackServerContext& context) const {
    return options_.access.who(metadata(context, "authorization"), metadata(context, "stint-tenant")).tenant;
  }
  /// The caller's own, where it is the earlier one.
  static void hold_to_deadline(const CallbackServerContext& context, CallTerms& terms) {
    const auto deadline = context.deadline();
    if (deadline == std::chrono::system_clock::time_point::max()) return;
    const auto left = Duration::nanoseconds(
        std::chrono::duration_cast<std::chrono::nanoseconds>(deadline - std::chrono::system_clock::now()).count());
    terms.timeout = std::min(terms.timeout.value_or(left), std::max(left, Duration::nanoseconds(1)));
  }
  static ServerUnaryReactor* end(CallbackServerContext* context, const grpc::Status& status) {
    ServerUnaryReactor* reactor = context->DefaultReactor();
    reactor->Finish(status);
    return reactor;
  }
  /// None: the caller may.
  [[nodiscard]] std::optional<grpc::Status> refusal(const CallbackServerContext& context, Right right) const {
    const ServeAccess::Caller caller = options_.access.who(metadata(context, "authorization"), std::nullopt);
    if (options_.access.may(caller, right)) return std::nullopt;
    if (caller.token != nullptr) return said(StatusCode::PERMISSION_DENIED, "this token is not good for that");
    if (right == Right::kControl)
      return said(StatusCode::UNAUTHENTICATED,
                  "models are controlled by a token alone: start the server with --control-token-file");
    return said(StatusCode::UNAUTHENTICATED, "a token is needed: authorization: Bearer TOKEN");
  }
  /// @param version  empty: by the model's traffic parts.
  [[nodiscard]] Result<ServedVersion> find(const std::string& name, const std::string& version) const {
    const std::optional<int64_t> number = version.empty() ? std::nullopt : parse_int(version);
    if (!version.empty() && !number) return invalid("version {}: versions are whole numbers", excerpt(version));
    const std::optional<ServedVersion> served = store_.find(name, number);
    if (!served) return make_error(ErrorCode::kNotFound, "model {} is not served here", excerpt(name));
    return *served;
  }

  ModelStore& store_;
  const ApiOptions options_;
  std::atomic<bool> closing_ = false;
  WorkerPool chores_{1};  // loads take seconds
};

Result<std::shared_ptr<grpc::ServerCredentials>> credentials_of(const TlsOptions& tls) {
  if (tls.certificate_file.empty()) return grpc::InsecureServerCredentials();
  if (!tls.client_crl_file.empty())
    return invalid("{}: gRPC's library reads no list of revoked certificates: leave gRPC out, or let authorities sign for days",
                   tls.client_crl_file);
  grpc::SslServerCredentialsOptions options(tls.client_ca_file.empty()
                                                ? GRPC_SSL_DONT_REQUEST_CLIENT_CERTIFICATE
                                                : GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
  TRY_ASSIGN(const std::string key, read_all(tls.key_file));
  TRY_ASSIGN(const std::string certificate, read_all(tls.certificate_file));
  options.pem_key_cert_pairs.push_back({key, certificate});
  if (!tls.client_ca_file.empty()) {
    TRY_ASSIGN(options.pem_root_certs, read_all(tls.client_ca_file));
  }
  return grpc::SslServerCredentials(options);
}

}  // namespace

struct GrpcApi::Impl {
  Impl(ModelStore& store, ApiOptions options) : service(store, std::move(options)) {}
  GrpcService service;
  std::unique_ptr<grpc::Server> server;
  std::string listening;
};

GrpcApi::GrpcApi(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

GrpcApi::~GrpcApi() {
  if (impl_->server) impl_->server->Shutdown(std::chrono::system_clock::now() + kLongestEnd);
}

Result<std::unique_ptr<GrpcApi>> GrpcApi::start(ModelStore& store, GrpcOptions options) {
  const bool six = options.address.find(':') != std::string::npos;
  TRY(check_listening(options.address, options.tls, options.plain_beyond_loopback));
  TRY_ASSIGN(const std::shared_ptr<grpc::ServerCredentials> credentials, credentials_of(options.tls));
  const auto memory_room = static_cast<size_t>(options.api.memory->room());
  auto impl = std::make_unique<Impl>(store, std::move(options.api));
  grpc::ServerBuilder builder;
  int port = 0;
  const std::string host = six ? fmt::format("[{}]", options.address) : options.address;
  builder.AddListeningPort(fmt::format("{}:{}", host, options.port), credentials, &port);
  builder.RegisterService(&impl->service);
  builder.SetMaxReceiveMessageSize(options.max_message_bytes);
  grpc::ResourceQuota quota("requests");
  quota.Resize(std::max(memory_room, kLeastQuota));
  builder.SetResourceQuota(quota);
  impl->server = builder.BuildAndStart();
  if (!impl->server || port == 0)
    return make_error(ErrorCode::kUnavailable, "cannot listen for gRPC on {} port {}: is another server running?",
                      options.address, options.port);
  impl->listening = fmt::format("{}:{}", host, port);
  return std::unique_ptr<GrpcApi>(new GrpcApi(std::move(impl)));
}

const std::string& GrpcApi::listening() const { return impl_->listening; }
void GrpcApi::close_doors() { impl_->service.close_doors(); }

}  // namespace stint::serve
