#include "serve/onnx_runtime.h"

#include <dlfcn.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <thread>

#include "codec/serving/tensor_texts.h"
#include "serve/bounded_log.h"
#include "serve/onnx_type.h"
#include "serve/onnx_writer.h"
#include "serve/ort_abi.h"
#include "serve/steady.h"

namespace stint::serve {

/// The loaded library and its environment. Never closed: ONNX Runtime keeps its threads and statics until the process ends.
struct OnnxRuntime::Library {
  const void* const* api = nullptr;
  const char* version = "";
  std::string file;
  ort::Env* env = nullptr;

  Library() = default;
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;
  ~Library() {
    if (env != nullptr) at(ort::kReleaseEnv)(env);
  }

  template <typename Function>
  [[nodiscard]] Function* at(ort::Slot<Function> slot) const {
    return ort::at(api, slot);
  }
  /// Calls what stands in the slot. @return its error, as text after `what`
  template <typename Function, typename... Args>
  Status call(std::string_view what, ort::Slot<Function> slot, Args... args) const {
    ort::Status* status = at(slot)(args...);
    if (status == nullptr) return {};
    std::string message = at(ort::kGetErrorMessage)(status);
    at(ort::kReleaseStatus)(status);
    return invalid("{}: {}", what, message);
  }
};

namespace {

/// Something of ONNX Runtime's that is released by a function of its table.
template <typename T>
class Held {
 public:
  Held(const OnnxRuntime::Library& library, ort::Slot<void(T*)> release) : release_(library.at(release)) {}
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;
  ~Held() {
    if (object_ != nullptr) release_(object_);
  }
  T** out() { return &object_; }
  T* get() const { return object_; }

 private:
  void (*release_)(T*);
  T* object_ = nullptr;
};

class OnnxModel : public Runtime {
 public:
  OnnxModel(std::shared_ptr<const OnnxRuntime::Library> library, std::shared_ptr<const Gpu> gpu, std::string name)
      : library_(std::move(library)),
        gpu_(std::move(gpu)),
        name_(std::move(name)),
        session_(*library_, ort::kReleaseSession),
        memory_(*library_, ort::kReleaseMemoryInfo) {}

  Status start(std::string_view model) {
    return start_session([&](const ort::SessionOptions* options) {
      return call(ort::kCreateSessionFromArray, static_cast<const ort::Env*>(library_->env),
                  static_cast<const void*>(model.data()), model.size(), options, session_.out());
    });
  }
  Status start_file(const std::string& file) {
    return start_session([&](const ort::SessionOptions* options) {
      return call(ort::kCreateSession, static_cast<const ort::Env*>(library_->env), file.c_str(), options, session_.out());
    });
  }

  [[nodiscard]] const std::vector<TensorSpec>& inputs() const override { return inputs_; }
  [[nodiscard]] const std::vector<TensorSpec>& outputs() const override { return outputs_; }

  [[nodiscard]] std::optional<int64_t> most_items() const override {
    return one_by_one_ ? std::optional<int64_t>(1) : std::nullopt;
  }
  void trim() override { trim_ = true; }

  Result<std::vector<Values>> run(int64_t items, std::span<const Values> in) override {
    TRY(check_fixed(*this));
    TRY_ASSIGN(std::vector<ShapedValues> shaped, run_shaped(items, in, fixed_shapes(inputs_)));
    std::vector<Values> out;
    for (ShapedValues& one : shaped)
      out.push_back(std::move(one.values));
    return out;
  }

  Result<std::vector<ShapedValues>> run_shaped(int64_t items, std::span<const Values> in,
                                               std::span<const Shape> shapes) override {
    TRY(check_inputs(*this, items, in, shapes));
    std::vector<std::unique_ptr<Held<ort::Value>>> holders;
    std::vector<const ort::Value*> tensors;
    std::vector<const char*> input_names, output_names;
    for (size_t i = 0; i < in.size(); ++i) {
      holders.push_back(std::make_unique<Held<ort::Value>>(*library_, ort::kReleaseValue));
      TRY_ASSIGN(const ort::Value* const tensor, wrap(*holders.back(), items, inputs_[i].type, shapes[i], in[i]));
      tensors.push_back(tensor);
      input_names.push_back(inputs_[i].name.c_str());
    }
    for (const TensorSpec& spec : outputs_)
      output_names.push_back(spec.name.c_str());
    Held<ort::RunOptions> options(*library_, ort::kReleaseRunOptions);
    const bool larger = is_larger(items, shapes);
    if (trim_.exchange(false) || larger) {
      TRY(call(ort::kCreateRunOptions, options.out()));
      TRY(call(ort::kAddRunConfigEntry, options.get(), "memory.enable_memory_arena_shrinkage", arenas().c_str()));
    }
    std::vector<ort::Value*> results(outputs_.size());
    const Status ran =
        call(ort::kRun, session_.get(), static_cast<const ort::RunOptions*>(options.get()),
             static_cast<const char* const*>(input_names.data()), static_cast<const ort::Value* const*>(tensors.data()),
             tensors.size(), static_cast<const char* const*>(output_names.data()), output_names.size(), results.data());
    std::vector<ShapedValues> out;
    Status read = ran;
    for (size_t i = 0; i < results.size(); ++i) {
      Held<ort::Value> result(*library_, ort::kReleaseValue);
      *result.out() = results[i];
      if (!read.ok()) continue;
      Result<ShapedValues> values = values_of(result.get(), items, outputs_[i]);
      if (values.ok())
        out.push_back(std::move(*values));
      else
        read = values.error();
    }
    if (!read.ok()) return read.error();
    return out;
  }

 private:
  template <typename Create>
  Status start_session(Create create) {
    Held<ort::SessionOptions> options(*library_, ort::kReleaseSessionOptions);
    TRY(call(ort::kCreateSessionOptions, options.out()));
    TRY(call(ort::kSetOptimizationLevel, options.get(), ort::kOptimizeAll));
    TRY(call(ort::kSetIntraOpThreads, options.get(), 1));
    // Else weights lie in the arena, which keeps the room of those that were packed anew: up to twice what the model needs.
    TRY(call(ort::kAddSessionConfigEntry, options.get(), "session.use_device_allocator_for_initializers", "1"));
    if (gpu_) TRY(use_gpu(options.get()));
    TRY(create(static_cast<const ort::SessionOptions*>(options.get())));
    TRY(call(ort::kCreateCpuMemoryInfo, ort::kArenaAllocator, ort::kDefaultMemory, memory_.out()));
    TRY_ASSIGN(inputs_, specs(ort::kInputCount, ort::kInputName, ort::kInputTypeInfo, true));
    TRY_ASSIGN(outputs_, specs(ort::kOutputCount, ort::kOutputName, ort::kOutputTypeInfo, false));
    if (!gpu_) std::thread([this] { warm_up(); }).join();  // what operators keep for a thread goes with this one
    return {};
  }

  /// An arena never gives the first of its regions back: it is to be that of one item, not of whatever batch comes first.
  void warm_up() {
    std::vector<Values> zeros;
    if (!check_fixed(*this).ok()) return;
    for (const TensorSpec& spec : inputs_)
      zeros.emplace_back(spec.item_bytes());
    (void)run(1, zeros);  // a model that cannot run says so when it is measured
  }

  template <typename Function, typename... Args>
  Status call(ort::Slot<Function> slot, Args... args) const {
    return library_->call(name_, slot, args...);
  }

  /// Than every batch before. The first batch of a shape takes room piece by piece, later ones as one block. What the pieces of smaller
  /// ones left would stay beside that for good, by twice what is needed, and how much by the order in which sizes came.
  bool is_larger(int64_t items, std::span<const Shape> shapes) {
    int64_t values = 0;
    for (const Shape& shape : shapes)
      values += items * count_of(shape);
    if (gpu_ || values <= most_values_.load()) return false;
    most_values_ = values;
    return ++growths_ <= kMostGrowths;  // of lengths that grow one by one there may be many
  }

  /// What CUDA cannot compute of a model stays on the processor.
  Status use_gpu(ort::SessionOptions* options) const {
    Held<ort::CudaOptions> cuda(*library_, ort::kReleaseCudaOptions);
    TRY(call(ort::kCreateCudaOptions, cuda.out()));
    const std::string number = std::to_string(gpu_->options().number);
    const std::string most = std::to_string(gpu_->options().most.value_or(Bytes()).count());
    std::vector<const char*> names = {"device_id", "arena_extend_strategy"}, values = {number.c_str(), "kSameAsRequested"};
    if (gpu_->options().most) {
      names.push_back("gpu_mem_limit");
      values.push_back(most.c_str());
    }
    TRY(call(ort::kUpdateCudaOptions, cuda.get(), names.data(), values.data(), names.size()));
    return call(ort::kAppendCuda, options, cuda.get());
  }

  [[nodiscard]] std::string arenas() const { return gpu_ ? fmt::format("cpu:0;gpu:{}", gpu_->options().number) : "cpu:0"; }

  /// A tensor of strings is ONNX Runtime's own.
  Status copy_texts(Held<ort::Value>& holder, const std::vector<int64_t>& shape, std::span<const std::byte> values) const {
    ort::Allocator* allocator = nullptr;
    TRY(call(ort::kDefaultAllocator, &allocator));
    TRY(call(ort::kCreateTensor, allocator, shape.data(), shape.size(), static_cast<int>(OnnxType::kString), holder.out()));
    size_t at = 0;
    for (; const std::optional<std::string_view> text = take_text(values); ++at) {
      char* to = nullptr;
      TRY(call(ort::kSizedText, holder.get(), at, text->size(), &to));
      std::ranges::copy(*text, to);
    }
    return {};
  }

  /// A tensor over the caller's values: nothing is copied, and ONNX Runtime does not write to inputs.
  Result<const ort::Value*> wrap(Held<ort::Value>& holder, int64_t items, DataType type, const Shape& item_shape,
                                 const Values& values) const {
    std::vector<int64_t> shape = {items};
    shape.insert(shape.end(), item_shape.begin(), item_shape.end());
    if (type == DataType::kBytes) {
      TRY(copy_texts(holder, shape, values));
      return static_cast<const ort::Value*>(holder.get());
    }
    TRY(call(ort::kCreateTensorOverData, static_cast<const ort::MemoryInfo*>(memory_.get()),
             static_cast<void*>(const_cast<std::byte*>(values.data())), values.size(), static_cast<const int64_t*>(shape.data()),
             shape.size(), static_cast<int>(onnx_type_of(type)), holder.out()));
    return static_cast<const ort::Value*>(holder.get());
  }

  Result<Values> texts_of(const ort::Value* tensor, size_t count) const {
    size_t size = 0;
    TRY(call(ort::kTextBytes, tensor, &size));
    std::string all(size, '\0');
    std::vector<size_t> begins(count);
    TRY(call(ort::kTexts, tensor, static_cast<void*>(all.data()), size, begins.data(), count));
    Values texts;
    texts.reserve(size + count * kTextHead);
    for (size_t n = 0; n < count; ++n) {
      const size_t end = n + 1 < count ? begins[n + 1] : size;
      append_text(texts, std::string_view(all).substr(begins[n], end - begins[n]));
    }
    return texts;
  }

  Result<ShapedValues> values_of(ort::Value* tensor, int64_t items, const TensorSpec& spec) const {
    Held<ort::TensorInfo> info(*library_, ort::kReleaseTensorInfo);
    TRY(call(ort::kTypeAndShape, static_cast<const ort::Value*>(tensor), info.out()));
    size_t count = 0;
    TRY(call(ort::kElementCount, static_cast<const ort::TensorInfo*>(info.get()), &count));
    size_t rank = 0;
    TRY(call(ort::kDimensionCount, static_cast<const ort::TensorInfo*>(info.get()), &rank));
    Shape shape(rank);
    TRY(call(ort::kDimensions, static_cast<const ort::TensorInfo*>(info.get()), shape.data(), rank));
    const bool fits = rank == spec.item_shape.size() + 1 && shape.front() == items &&
                      std::equal(shape.begin() + 1, shape.end(), spec.item_shape.begin(),
                                 [](int64_t has, int64_t wants) { return has == wants || wants < 0; });
    if (!fits)
      return invalid("{}: output {} has the shape [{}]; {} items of [{}] were expected", name_, spec.name, fmt::join(shape, ","),
                     items, fmt::join(spec.item_shape, ","));
    shape.erase(shape.begin());
    if (spec.type == DataType::kBytes) {
      TRY_ASSIGN(Values texts, texts_of(tensor, count));
      return ShapedValues{std::move(texts), std::move(shape)};
    }
    void* data = nullptr;
    TRY(call(ort::kTensorData, tensor, &data));
    const auto* first = static_cast<const std::byte*>(data);
    return ShapedValues{Values(first, first + count * size_of(spec.type)), std::move(shape)};
  }

  Result<std::vector<TensorSpec>> specs(
      ort::Slot<ort::Status*(const ort::Session*, size_t*)> count_slot,
      ort::Slot<ort::Status*(const ort::Session*, size_t, ort::Allocator*, ort::Name*)> name_slot,
      ort::Slot<ort::Status*(const ort::Session*, size_t, ort::TypeInfo**)> type_slot, bool of_inputs) {
    const ort::Session* session = session_.get();
    ort::Allocator* allocator = nullptr;
    TRY(call(ort::kDefaultAllocator, &allocator));
    size_t count = 0;
    TRY(call(count_slot, session, &count));
    std::vector<TensorSpec> all;
    for (size_t i = 0; i < count; ++i) {
      char* name = nullptr;
      TRY(call(name_slot, session, i, allocator, &name));
      TensorSpec spec;
      spec.name = name;
      TRY(call(ort::kAllocatorFree, allocator, static_cast<void*>(name)));
      Held<ort::TypeInfo> type(*library_, ort::kReleaseTypeInfo);
      TRY(call(type_slot, session, i, type.out()));
      TRY(read_type(type.get(), spec, of_inputs));
      all.push_back(std::move(spec));
    }
    return all;
  }

  /// Type and shape of the tensor of the spec's name.
  Status read_type(const ort::TypeInfo* type, TensorSpec& spec, bool of_input) {
    const ort::TensorInfo* info = nullptr;  // belongs to `type`
    TRY(call(ort::kCastToTensorInfo, type, &info));
    if (info == nullptr) return invalid("{}: {} is no tensor: export the model with tensors alone", name_, spec.name);
    int element = 0;
    TRY(call(ort::kElementType, info, &element));
    const Result<DataType> data_type = data_type_of(static_cast<OnnxType>(element));
    if (!data_type.ok())
      return invalid("{}: {}: {}: export the model with numbers or strings in and out", name_, spec.name,
                     data_type.error().message);
    spec.type = *data_type;
    return read_shape(info, spec, of_input);
  }

  Status read_shape(const ort::TensorInfo* info, TensorSpec& spec, bool of_input) {
    size_t rank = 0;
    TRY(call(ort::kDimensionCount, info, &rank));
    Shape shape(rank);
    TRY(call(ort::kDimensions, info, shape.data(), rank));
    std::vector<const char*> names(rank);  // belong to `info`
    TRY(call(ort::kDimensionNames, info, names.data(), rank));
    // Fixed at 1 everywhere: made for one item at a time.
    if (of_input && !shape.empty() && shape.front() == 1) one_by_one_ = true;
    if (shape.empty() || (shape.front() > 0 && !(one_by_one_ && shape.front() == 1)))
      return invalid("{}: the first dimension of {} is not free: export the model with a dynamic batch", name_, spec.name);
    for (size_t d = 1; d < rank; ++d) {
      spec.item_shape.push_back(shape[d] < 1 ? -1 : shape[d]);
      if (shape[d] >= 1) continue;
      // Exporters write ? for what they know no name of: two of those are not the same.
      const std::string_view name = names[d] == nullptr ? "" : names[d];
      const bool named = !name.empty() && name != "?";
      spec.free.push_back(named ? std::string(name) : fmt::format("{}.{}", spec.name, d));
    }
    return {};
  }

  std::shared_ptr<const OnnxRuntime::Library> library_;
  std::shared_ptr<const Gpu> gpu_;
  std::string name_;
  Held<ort::Session> session_;
  Held<ort::MemoryInfo> memory_;
  std::vector<TensorSpec> inputs_;
  std::vector<TensorSpec> outputs_;
  bool one_by_one_ = false;
  std::atomic<bool> trim_ = false;
  static constexpr int64_t kMostGrowths = 64;
  std::atomic<int64_t> most_values_ = 0, growths_ = 0;
};

/// What an operator fails on stands in its message, and that is what a client sent. Called on any thread, by whatever environment there is.
void write_log(void* /*context*/, int /*severity*/, const char* /*category*/, const char* /*id*/, const char* /*location*/,
               const char* message) {
  static BoundedLog& log = *new BoundedLog();  // threads of the library's may outlive what ends with the process
  if (const std::optional<std::string> line = log.line(message, steady_now()))
    fmt::print(stderr, "stint: ONNX Runtime: {}\n", *line);
}

}  // namespace

Result<OnnxRuntime> OnnxRuntime::load(const std::string& library) {
  const auto unavailable = [&](std::string_view why) {
    return make_error(ErrorCode::kUnavailable,
                      "ONNX Runtime: {}: {}; scripts/setup-onnxruntime fetches one and prints where it lies, for --onnxruntime",
                      library, why);
  };
  void* handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) return unavailable(dlerror());
  const auto get_base = reinterpret_cast<ort::GetApiBase>(dlsym(handle, "OrtGetApiBase"));
  if (get_base == nullptr) return unavailable("has no OrtGetApiBase");
  const ort::ApiBase* base = get_base();
  auto loaded = std::make_shared<Library>();
  loaded->api = base->get_api(ort::kApiVersion);
  loaded->version = base->version();
  loaded->file = library;
  if (loaded->api == nullptr) return unavailable(fmt::format("version {} is older than 1.20", loaded->version));
  TRY(loaded->call("ONNX Runtime", ort::kCreateEnvWithLog, &write_log, static_cast<void*>(nullptr), ort::kLogErrors, "stint",
                   &loaded->env));
  return OnnxRuntime(std::move(loaded));
}

Result<OnnxRuntime> load_onnxruntime(const std::string& library) {
  const char* named = std::getenv("STINT_ONNXRUNTIME");
  return OnnxRuntime::load(!library.empty() ? library : named != nullptr ? named : OnnxRuntime::kLibrary);
}

Result<std::vector<std::string>> OnnxRuntime::providers() const {
  ort::Name* names = nullptr;
  int count = 0;
  TRY(library_->call("ONNX Runtime", ort::kAvailableProviders, &names, &count));
  std::vector<std::string> providers(names, names + count);
  TRY(library_->call("ONNX Runtime", ort::kReleaseProviders, names, count));
  return providers;
}

Result<OnnxRuntime> OnnxRuntime::on_gpu(const GpuOptions& options) const {
  TRY_ASSIGN(const std::vector<std::string> has, providers());
  if (std::ranges::find(has, "CUDAExecutionProvider") == has.end())
    return make_error(
        ErrorCode::kUnavailable,
        "cuda:{}: this ONNX Runtime ({}) was built without CUDA (it has {}): give one built with it by --onnxruntime "
        "(that of the Python package onnxruntime-gpu, say), or leave models on the processor with --device cpu",
        options.number, version(), fmt::join(has, ", "));
  OnnxRuntime made(library_);
  TRY_ASSIGN(made.gpu_, Gpu::open(options));
  if (const Status ran = made.try_out(); !ran.ok())
    return make_error(
        ErrorCode::kUnavailable,
        "cuda:{}: ONNX Runtime {} cannot run a model there: {}: it needs the CUDA and cuDNN libraries that it was built "
        "for, where the dynamic linker finds them",
        options.number, version(), ran.error().message);
  return made;
}

Status OnnxRuntime::try_out() const {
  OnnxWriter writer("trial");
  writer.input("x", std::array<int64_t, 1>{1});
  writer.output("y", std::array<int64_t, 1>{1});
  writer.node("Relu", std::array<std::string, 1>{"x"}, "y");
  TRY_ASSIGN(const std::unique_ptr<Runtime> model, open(writer.finish(), "trial"));
  TRY(model->run(1, std::array{Values(sizeof(float))}));
  return {};
}

std::string OnnxRuntime::version() const { return library_->version; }
const std::string& OnnxRuntime::library() const { return library_->file; }

Result<std::unique_ptr<Runtime>> OnnxRuntime::open(std::string_view model, const std::string& name) const {
  auto opened = std::make_unique<OnnxModel>(library_, gpu_, name);
  TRY(opened->start(model));
  return std::unique_ptr<Runtime>(std::move(opened));
}

Result<std::unique_ptr<Runtime>> OnnxRuntime::open_file(const std::string& file) const {
  auto opened = std::make_unique<OnnxModel>(library_, gpu_, file);
  TRY(opened->start_file(file));
  return std::unique_ptr<Runtime>(std::move(opened));
}

}  // namespace stint::serve
