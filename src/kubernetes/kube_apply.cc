#include "kubernetes/kube_apply.h"

#include <map>
#include <nlohmann/json.hpp>

namespace stint {
namespace {

constexpr std::string_view kNamespaces = "/namespaces/";

/// "/api/v1/namespaces/a/pods/x" has "a"; what lies in no namespace has "".
std::string namespace_in(std::string_view path) {
  const size_t at = path.find(kNamespaces);
  if (at == path.npos) return {};
  const std::string_view rest = path.substr(at + kNamespaces.size());
  const size_t slash = rest.find('/');
  return slash == rest.npos ? std::string() : std::string(rest.substr(0, slash));
}

KubeManifest moved(const KubeManifest& manifest, const std::string& from, const std::string& to) {
  KubeManifest out = manifest;
  out.path.replace(out.path.find(kNamespaces) + kNamespaces.size(), from.size(), to);
  auto object = nlohmann::json::parse(manifest.json);
  object["metadata"]["namespace"] = to;
  out.json = object.dump();
  return out;
}

class Applier {
 public:
  Applier(KubeClient& client, KubeApply how) : client_(client), how_(how) {}

  Result<KubeApplied> apply(const KubeManifest& manifest) {
    TRY_ASSIGN(const KubeManifest asked, as_asked(manifest));
    const std::string query = how_ == KubeApply::kDryRun ? "&dryRun=All" : "";
    const auto answer = client_.change({.method = "PATCH",
                                        .path = fmt::format("{}?fieldManager=stint&force=true{}", asked.path, query),
                                        .body = asked.json,
                                        .content_type = "application/apply-patch+yaml"});
    KubeApplied out{.path = manifest.path, .made = false, .refusal = {}};
    if (!answer.ok()) {
      if (answer.error().code == ErrorCode::kUnavailable) return answer.error();
      out.refusal = answer.error().message;
    } else {
      out.made = answer->status == 201;
      if (!answer->ok()) out.refusal = answer->message;
    }
    return out;
  }

 private:
  Result<KubeManifest> as_asked(const KubeManifest& manifest) {
    const std::string ns = namespace_in(manifest.path);
    if (how_ != KubeApply::kDryRun || ns.empty()) return manifest;
    auto there = there_.find(ns);
    if (there == there_.end()) {
      const auto found = client_.get(fmt::format("/api/v1{}{}", kNamespaces, ns));
      if (!found.ok() && found.error().code == ErrorCode::kUnavailable) return found.error();
      there = there_.emplace(ns, found.ok() || found.error().code != ErrorCode::kNotFound).first;
    }
    return there->second ? manifest : moved(manifest, ns, "default");
  }

  KubeClient& client_;
  KubeApply how_;
  std::map<std::string, bool, std::less<>> there_;  ///< by namespace
};

}  // namespace

Result<std::vector<KubeApplied>> apply_manifests(KubeClient& client, const std::vector<KubeManifest>& manifests, KubeApply how) {
  Applier applier(client, how);
  std::vector<KubeApplied> out;
  for (const KubeManifest& manifest : manifests) {
    TRY_ASSIGN(KubeApplied applied, applier.apply(manifest));
    out.push_back(std::move(applied));
  }
  return out;
}

}  // namespace stint
