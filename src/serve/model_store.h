// The models of a repository folder and which of their versions are served: found by name, loaded, replaced and taken away while others
// go on.
//
//   REPOSITORY/NAME/model.json           how it is served; may be missing
//   REPOSITORY/NAME/VERSION/model.onnx   or model.synthetic.json; VERSION is a whole number, the highest is served
//   REPOSITORY/NAME/VERSION/model.small.onnx   stands in for it while memory is short; may be missing
//
// A version that is replaced or unloaded takes no new requests and answers those it has.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "batching/canary.h"
#include "serve/model_measurer.h"
#include "serve/served_model.h"
#include "serve/shadow.h"

namespace stint::serve {

struct StoreOptions {
  std::string repository;
  std::shared_ptr<const OnnxRuntime> onnx;  ///< null: ONNX models cannot be loaded
  batching::MemoryOptions memory;
  WatchOptions watch;
  int threads = 1;  ///< that run batches
  std::vector<int64_t> tenant_weights = {1};
  Bytes cache;                               ///< of the host's memory, for answers of models whose configuration says `cache`
  std::vector<std::string> measure_command;  ///< as ModelMeasurer has it
  /// Brings a model's folder up to date before it is read, once the first ones are loaded; null: it is as it is.
  std::function<Status(const std::string& name)> fetch;
};

struct ServedVersion {
  int64_t version = 0;
  std::shared_ptr<ServedModel> model;
  std::shared_ptr<Shadow> shadow;  ///< null: no other version answers its requests, too

  batching::RequestId submit(std::unique_ptr<InferCall> call, const CallTerms& terms) const {
    return model->submit(shadow ? shadow->follow(std::move(call), terms) : std::move(call), terms);
  }
};

class ModelStore {
 public:
  /// @return error when the folder cannot be read. Nothing is loaded yet.
  static Result<std::unique_ptr<ModelStore>> open(StoreOptions options);
  ModelStore(const ModelStore&) = delete;
  ModelStore& operator=(const ModelStore&) = delete;
  ~ModelStore();

  /// Every model of the repository. @return one line for each that could not be loaded
  std::vector<std::string> load_all();
  /// Reads, measures and serves a model anew; what was served of it goes on until then, and for good when this fails. Slow: it runs the
  /// model. @param config  in place of its model.json.
  Status load(const std::string& name, const std::optional<std::string>& config);
  Status unload(const std::string& name);

  /// @param version  none: by the model's traffic parts. @return none when it is not served
  std::optional<ServedVersion> find(std::string_view name, std::optional<int64_t> version);
  /// Ascending.
  [[nodiscard]] std::vector<int64_t> versions(std::string_view name) const;

  struct Row {
    std::string name;
    std::optional<int64_t> version;  ///< none: nothing of it is served
    bool ready = false;
    std::string reason;
  };
  /// Of the repository and of what is served, by name and version.
  [[nodiscard]] std::vector<Row> index() const;
  [[nodiscard]] std::vector<std::pair<std::string, ServedVersion>> served() const;
  struct CanaryRow {
    std::string name;
    int64_t version = 0;
    int64_t percent = 0;  ///< of the requests without a version
    bool taken_back = false;
  };
  [[nodiscard]] std::vector<CanaryRow> canaries() const;
  [[nodiscard]] const MemoryKeeper& memory() const { return *memory_; }
  [[nodiscard]] const ResponseCache& cache() const { return *cache_; }
  /// Waits until every request has been answered. @return how many were not within `longest`
  int64_t drain(Duration longest);

 private:
  struct Entry {
    std::vector<ServedVersion> versions;  // ascending
    std::vector<int64_t> parts;           // of the traffic, as versions; all 0 but of those that get some
    int64_t all_parts = 0;
    int64_t asked = 0;
    std::shared_ptr<batching::Canary> canary;  // null: there is none; under mutex_
    int64_t canary_version = 0;
    int64_t canary_turns = 0;
    std::string reason;  // why it is not served
  };
  ModelStore(StoreOptions options, std::unique_ptr<ResponseCache> cache, std::unique_ptr<MemoryKeeper> memory);
  /// From its folder.
  Status load_fetched(const std::string& name, const std::optional<std::string>& config);
  Result<Entry> make(const std::string& name, const std::optional<std::string>& config);
  /// The version that its configuration names follows all others. @return error when it takes or gives other tensors than they
  Status let_follow(Entry& entry, const std::string& name, const ServedShadow& rules);
  Result<ServedVariants> variants_of(ModelSource source, const ServedModelConfig& config);
  void retire(std::vector<ServedVersion> versions);
  /// Every second: a canary gets more, or is taken back.
  void watch_canaries();
  void look_at_canaries();
  /// Every few seconds: models follow what their batches take and what load they get.
  void watch_models();

  // The order matters at the end: the pool's threads end first, then models, then what those are booked with.
  const StoreOptions options_;
  std::unique_ptr<ResponseCache> cache_;
  std::unique_ptr<MemoryKeeper> memory_;
  ServeTools tools_;
  std::mutex loading_;  // one load at a time: they are measured
  ModelMeasurer measurer_;
  mutable std::mutex mutex_;
  std::map<std::string, Entry, std::less<>> models_;
  std::vector<std::shared_ptr<ServedModel>> retired_;  // have requests to answer, perhaps
  WakeTimer timer_;
  WorkerPool pool_;
  WorkerPool watcher_{1};  // simulations are not to keep batches waiting; ends before what it works with
};

}  // namespace stint::serve
