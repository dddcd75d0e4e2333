#include "codec/kubernetes/kube_change_files.h"

#include <nlohmann/json.hpp>

#include "base/quoting.h"
#include "base/text.h"
#include "codec/yaml.h"

namespace stint {
namespace {

using PatchJson = nlohmann::ordered_json;

std::string file_of(const KubeObjectName& object) {
  std::string kind = object.kind;
  for (char& c : kind)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return fmt::format("{}-{}-{}.yaml", kind, object.ns, object.name);
}

PatchJson target_of(const KubeObjectName& object) {
  const std::string_view version = find_kube_object_kind(object.kind)->api_version;
  const size_t slash = version.find('/');
  PatchJson target;
  if (slash != version.npos) target["group"] = version.substr(0, slash);
  target["version"] = slash == version.npos ? version : version.substr(slash + 1);
  target["kind"] = object.kind;
  target["name"] = object.name;
  target["namespace"] = object.ns;
  return target;
}

}  // namespace

std::string kube_patch_json(const KubePatch& patch) {
  PatchJson object = {{"apiVersion", find_kube_object_kind(patch.object.kind)->api_version},
                      {"kind", patch.object.kind},
                      {"metadata", {{"name", patch.object.name}}}};
  if (!patch.object.ns.empty()) object["metadata"]["namespace"] = patch.object.ns;
  for (const KubeField& field : patch.fields)
    object[PatchJson::json_pointer(field.at)] = PatchJson::parse(field.value);
  return object.dump(-1, ' ', false, PatchJson::error_handler_t::replace);
}

Result<std::map<std::string, std::string>> kube_change_files(const KubeChangePlan& plan, const std::string& title) {
  std::map<std::string, std::string> files;
  PatchJson component = {{"apiVersion", "kustomize.config.k8s.io/v1alpha1"}, {"kind", "Component"}};
  std::string machines;
  for (const KubePatch& patch : plan.patches) {
    if (patch.object.kind == "Pod") continue;
    TRY_ASSIGN(const std::string yaml, yaml_of_json(kube_patch_json(patch)));
    const std::string said = fmt::format("# {}: {}\n", one_line(patch.object.text()), one_line(patch.says));
    if (patch.object.kind == "Node") {
      machines += "---\n" + said + yaml;
      continue;
    }
    const std::string name = file_of(patch.object);
    files[name] = said + yaml;
    if (patch.is_made)
      component["resources"].push_back(name);
    else
      component["patches"].push_back({{"path", name}, {"target", target_of(patch.object)}});
  }
  if (!files.empty()) {
    TRY_ASSIGN(const std::string yaml, yaml_of_json(component.dump()));
    files["kustomization.yaml"] = fmt::format(
        "# {}. In the kustomization.yaml that has these objects: components: [PATH OF THIS FOLDER]\n{}", one_line(title), yaml);
  }
  for (const KubeObjectName& pod : plan.evicted)
    machines += fmt::format("# then: kubectl -n {} delete pod {}\n", shell_operand(pod.ns), shell_operand(pod.name));
  if (!machines.empty())
    files["machines.yaml"] =
        fmt::format("# {}. By: kubectl apply --server-side --force-conflicts -f machines.yaml\n{}", one_line(title), machines);
  return files;
}

}  // namespace stint
