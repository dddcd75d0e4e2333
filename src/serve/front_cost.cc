#include "serve/front_cost.h"

#include <cstdlib>
#include <ctime>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "codec/serving/infer_wire.h"
#include "host/file.h"
#include "serve/kserve_api.h"
#include "serve/load_generator.h"
#include "serve/random_values.h"

namespace stint::serve {
namespace {

namespace fs = std::filesystem;

constexpr const char* kFrontModel = "like";
constexpr Duration kFrontLoad = Duration::milliseconds(300);
constexpr int kFrontConnections = 8;
constexpr int64_t kFewestAnswers = 5;  // requests that tell something
constexpr Bytes kFrontRoom = Bytes::mebi(1024);

Duration processor_time(clockid_t of) {
  timespec spent{};
  (void)clock_gettime(of, &spent);
  return Duration::seconds(spent.tv_sec) + Duration::nanoseconds(spent.tv_nsec);
}

/// Gone with this.
class OwnFolder {
 public:
  OwnFolder() {
    std::string path = (fs::temp_directory_path() / "stint-front-XXXXXX").string();
    if (::mkdtemp(path.data()) != nullptr) path_ = std::move(path);
  }
  OwnFolder(const OwnFolder&) = delete;
  OwnFolder& operator=(const OwnFolder&) = delete;
  ~OwnFolder() {
    std::error_code ignored;
    if (!path_.empty()) fs::remove_all(path_, ignored);
  }
  [[nodiscard]] const std::string& path() const { return path_; }  ///< "": there is none

 private:
  std::string path_;
};

nlohmann::json tensor_json(const std::string& name, DataType type, const Shape& shape) {
  return {{"name", name}, {"datatype", name_of(type)}, {"shape", shape}};
}

/// A synthetic model's outputs are of its first input's type: they get as many bytes as the model's.
std::string model_like(const Measurement& of, const std::vector<Shape>& shapes) {
  nlohmann::json model = {{"inputs", nlohmann::json::array()}, {"outputs", nlohmann::json::array()}};
  for (size_t i = 0; i < of.inputs.size(); ++i)
    model["inputs"].push_back(tensor_json(of.inputs[i].name, of.inputs[i].type, shapes[i]));
  const DataType type = of.inputs.front().type;
  for (size_t o = 0; o < of.outputs.size(); ++o) {
    const auto bytes = count_of(of.output_shapes[o]) * static_cast<int64_t>(size_of(of.outputs[o].type));
    model["outputs"].push_back(
        tensor_json(of.outputs[o].name, type, {std::max<int64_t>(1, bytes / static_cast<int64_t>(size_of(type)))}));
  }
  return model.dump();
}

Result<std::string> request_like(const Measurement& of, const std::vector<Shape>& shapes) {
  Prng prng(1);
  std::vector<Shape> whole;
  std::vector<Values> values;
  for (size_t i = 0; i < of.inputs.size(); ++i) {
    values.push_back(random_values(of.inputs[i].type, static_cast<size_t>(count_of(shapes[i])), prng));
    whole.push_back(shapes[i]);
    whole.back().insert(whole.back().begin(), 1);
  }
  std::vector<InferPart> parts;
  for (size_t i = 0; i < of.inputs.size(); ++i)
    parts.push_back({of.inputs[i].name, of.inputs[i].type, whole[i], values[i], true});
  TRY_ASSIGN(const InferMessage message, write_infer_request(parts, std::nullopt));
  return infer_post(kFrontModel, "localhost", message);
}

}  // namespace

Result<Duration> measure_front(const Measurement& of) {
  std::vector<Shape> shapes;
  for (const TensorSpec& spec : of.inputs)
    shapes.push_back(spec.shape_with(of.largest));
  const OwnFolder folder;
  if (folder.path().empty()) return make_error(ErrorCode::kUnavailable, "no folder can be made for temporary files");
  std::error_code ignored;
  fs::create_directories(folder.path() + "/" + kFrontModel + "/1", ignored);
  TRY(write_file_atomically(folder.path() + "/" + kFrontModel + "/1/model.synthetic.json", model_like(of, shapes)));
  StoreOptions options;
  options.repository = folder.path();
  options.memory.room = kFrontRoom;
  TRY_ASSIGN(const std::unique_ptr<ModelStore> store, ModelStore::open(std::move(options)));
  TRY(store->load(kFrontModel, R"({"max_batch": 1})"));
  TRY_ASSIGN(ServeAccess access, ServeAccess::create({}));
  const auto memory = ByteBudget::of(static_cast<uint64_t>(kFrontRoom.count()));
  KserveApi api(*store, {.version = "", .access = std::move(access), .memory = memory});
  HttpServerOptions http;
  http.bodies = memory;
  http.max_body_bytes = memory->room();
  http.gate = [&api](const HttpRequest& head) { return api.admit(head); };
  TRY_ASSIGN(const HttpServer server, HttpServer::start(std::move(http), [&api](HttpRequest request, const Responder& responder) {
               api.handle(std::move(request), responder);
             }));
  TRY_ASSIGN(std::string request, request_like(of, shapes));
  const LoadTarget target{"127.0.0.1", server.port(), {std::move(request)}, kFrontConnections};
  const Duration all = processor_time(CLOCK_PROCESS_CPUTIME_ID), client = processor_time(CLOCK_THREAD_CPUTIME_ID);
  TRY_ASSIGN(const LoadOutcome outcome, run_closed_load(target, kFrontLoad));
  const Duration spent = (processor_time(CLOCK_PROCESS_CPUTIME_ID) - all) - (processor_time(CLOCK_THREAD_CPUTIME_ID) - client);
  if (outcome.answered < kFewestAnswers)
    return make_error(ErrorCode::kUnavailable, "{} requests answered in {} ms", outcome.answered,
                      kFrontLoad.count_ns() / 1'000'000);
  return Duration::nanoseconds(std::max<int64_t>(1, spent.count_ns() / outcome.answered));
}

}  // namespace stint::serve
