// Importer "kubernetes": objects of the Kubernetes API as JSON. What `kubectl get nodes,pods,… -A -o json` prints (a List), what the API
// answers (a PodList, whose items do not say their kind), single objects, and any number of these one after another.
//
// A list is read item by item, so that memory is that of the largest object and of what is kept of the others (codec/kubernetes/kubernetes_state.h).
#include "codec/importer.h"
#include "codec/kubernetes/kubernetes_snapshot.h"
#include "codec/kubernetes/kubernetes_stream.h"

namespace stint {
namespace {

class KubernetesImporter final : public Importer {
 public:
  KubernetesImporter(const ImportOptions& options, Sink& sink)
      : source_(options.source),
        at_(options.at),
        sink_(sink),
        client_label_(options.client_label),
        stream_(options.source,
                [this](std::string_view object, const std::string& kind) { state_.read(object, kind, stream_.objects()); }) {}

  Status feed(std::string_view bytes) override { return stream_.feed(bytes); }

  Status finish() override {
    TRY(stream_.finish());
    if (stream_.objects() == 0 && stream_.lists() == 0)
      return invalid("{}: no object of the Kubernetes API: give what `kubectl get nodes,pods -A -o json` prints", source_);
    KubernetesSnapshot(state_, {.at = at_, .client_label = client_label_}).give(sink_);
    return {};
  }

 private:
  const std::string source_;
  const std::optional<Instant> at_;
  Sink& sink_;
  const std::string client_label_;
  KubernetesState state_;
  KubernetesStream stream_;
};

}  // namespace

std::unique_ptr<Importer> make_kubernetes_importer(const ImportOptions& options, Sink& sink) {
  return std::make_unique<KubernetesImporter>(options, sink);
}

}  // namespace stint
