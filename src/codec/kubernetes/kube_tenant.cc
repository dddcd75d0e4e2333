#include "codec/kubernetes/kube_tenant.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>

#include "base/text.h"
#include "codec/kubernetes/kubernetes_job.h"
#include "codec/kubernetes/kubernetes_object.h"
#include "codec/yaml.h"
#include "model/mig.h"

namespace stint {
namespace {

using TenantJson = nlohmann::ordered_json;

constexpr std::string_view kGpu = "nvidia.com/gpu";
constexpr std::string_view kPodsOfJobs = "stint-jobs-made";  ///< the ClusterRole of examples/kubernetes/jobs-rbac.yaml

// ---- The description ----

bool is_name_of_kube(std::string_view text, size_t longest, bool with_dots) {
  const auto plain = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); };
  return !text.empty() && text.size() <= longest && plain(text.front()) && plain(text.back()) &&
         std::ranges::all_of(text, [&](char c) { return plain(c) || c == '-' || (with_dots && c == '.'); });
}
bool is_dns_label(std::string_view text) { return is_name_of_kube(text, 63, false); }
bool is_dns_subdomain(std::string_view text) { return is_name_of_kube(text, 253, true); }

/// "nvidia.com/mig-1g.10gb"
bool is_extended_resource(std::string_view text) {
  const size_t slash = text.find('/');
  if (slash == text.npos || !is_dns_subdomain(text.substr(0, slash))) return false;
  const std::string_view name = text.substr(slash + 1);
  const auto plain = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; };
  return !name.empty() && name.size() <= 63 && plain(name.front()) && plain(name.back()) &&
         std::ranges::all_of(name, [&](char c) { return plain(c) || c == '-' || c == '_' || c == '.'; });
}

template <typename Number>
std::optional<Number> number_in(std::string_view text, Number least, Number most) {
  Number value = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failed != std::errc() || end != text.data() + text.size() || value < least || value > most) return std::nullopt;
  return value;
}

std::optional<int64_t> octet(std::string_view text) {
  return text.size() > 1 && text.front() == '0' ? std::nullopt : number_in<int64_t>(text, 0, 255);
}

/// IPv4 with a length, or IPv6 with one: the API server says the rest.
bool is_address_range(std::string_view text) {
  const size_t slash = text.find('/');
  if (slash == text.npos) return false;
  const std::string_view address = text.substr(0, slash), length = text.substr(slash + 1);
  if (address.find(':') != address.npos)
    return address.find_first_not_of("0123456789abcdefABCDEF:.") == address.npos && number_in(length, 0, 128);
  const auto parts = split(address, '.');
  return parts.size() == 4 && std::ranges::all_of(parts, [](std::string_view part) { return octet(part).has_value(); }) &&
         number_in(length, 0, 32);
}

/// An object of the description: each field taken once, what is left over is a mistake.
class TenantFields {
 public:
  TenantFields(const nlohmann::json& object, std::string where) : object_(object), where_(std::move(where)) {
    if (!object.is_object()) fail("", "fields with values");
  }

  [[nodiscard]] const std::string& where() const { return where_; }
  [[nodiscard]] const nlohmann::json* find(const std::string& name) {
    known_.insert(name);
    const auto found = object_.is_object() ? object_.find(name) : object_.end();
    return found == object_.end() || found->is_null() ? nullptr : &*found;
  }
  std::string text(const std::string& name, std::string otherwise = {}) {
    const nlohmann::json* const value = find(name);
    if (value == nullptr) return otherwise;
    if (value->is_string() && !value->get_ref<const std::string&>().empty() && is_plain(value->get_ref<const std::string&>()))
      return value->get<std::string>();
    fail(name, "a text");
    return otherwise;
  }
  std::vector<std::string> texts(const std::string& name) {
    const nlohmann::json* const value = find(name);
    if (value == nullptr) return {};
    std::vector<std::string> out;
    const bool list = value->is_array();
    for (const nlohmann::json& one : list ? *value : nlohmann::json::array())
      if (one.is_string() && is_plain(one.get_ref<const std::string&>())) out.push_back(one.get<std::string>());
    if (!list || out.size() != value->size()) fail(name, "a list of texts");
    return out;
  }
  std::string quantity(const std::string& name, std::string otherwise = {}) {
    std::string value = text(name, std::move(otherwise));
    if (!value.empty() && !parse_kubernetes_quantity(value)) fail(name, "a quantity, such as 500m or 512Gi");
    return value;
  }
  template <typename Number>
  std::optional<Number> number(const std::string& name, Number least, Number most) {
    if (find(name) == nullptr) return std::nullopt;
    const auto value = number_in<Number>(text(name), least, most);
    if (!value) fail(name, fmt::format("a whole number from {} to {}", least, most));
    return value;
  }
  bool flag(const std::string& name) {
    const nlohmann::json* const value = find(name);
    if (value != nullptr && !value->is_boolean()) fail(name, "true or false");
    return value != nullptr && value->is_boolean() && value->get<bool>();
  }
  void fail(const std::string& name, std::string_view wanted) {
    if (error_.empty()) error_ = fmt::format("{}{}{}: give {}", where_, name.empty() ? "" : ": ", excerpt(name), wanted);
  }
  Status finish() {
    if (!error_.empty()) return invalid("{}", error_);
    if (object_.is_object())
      for (const auto& [name, value] : object_.items())
        if (!known_.contains(name)) return invalid("{}: there is no field '{}'", where_, excerpt(name));
    return {};
  }

 private:
  static bool is_plain(std::string_view text) {
    return std::ranges::none_of(text, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; });
  }

  const nlohmann::json& object_;
  std::string where_, error_;
  std::set<std::string> known_;
};

/// What is to be looked through for fields, or nothing: a name without a value, or with one that was refused.
const nlohmann::json& fields_in(const nlohmann::json& value) {
  static const nlohmann::json kNone = nlohmann::json::object();
  return value.is_object() ? value : kNone;
}
const nlohmann::json& described_by(const nlohmann::json& value) { return value.is_null() ? fields_in(value) : value; }

constexpr int64_t kMostOfKind = 1'000'000;

Result<KubeTenantQuota> read_quota(TenantFields fields) {
  KubeTenantQuota quota{.gpus = fields.number<int64_t>("gpus", 0, kMostOfKind),
                        .cpu = fields.quantity("cpu"),
                        .memory = fields.quantity("memory"),
                        .storage = fields.quantity("storage"),
                        .pods = fields.number<int64_t>("pods", 0, kMostOfKind),
                        .other = {}};
  if (const nlohmann::json* const other = fields.find("other")) {
    TenantFields resources(*other, fields.where() + ": other");
    for (const auto& [name, value] : fields_in(*other).items()) {
      if (!is_extended_resource(name) || name == kGpu)
        resources.fail(name, "an extended resource such as nvidia.com/mig-1g.10gb; whole GPUs are `gpus`");
      if (const auto most = resources.number<int64_t>(name, 0, kMostOfKind)) quota.other.emplace(name, *most);
    }
    TRY(resources.finish());
  }
  TRY(fields.finish());
  return quota;
}

Status read_sizes(KubeTenant& tenant, TenantFields& fields) {
  if (const nlohmann::json* const sizes = fields.find("defaults")) {
    TenantFields defaults(*sizes, fields.where() + ": defaults");
    tenant.default_cpu = defaults.quantity("cpu", tenant.default_cpu);
    tenant.default_memory = defaults.quantity("memory", tenant.default_memory);
    TRY(defaults.finish());
  }
  if (const nlohmann::json* const sizes = fields.find("largest")) {
    TenantFields largest(*sizes, fields.where() + ": largest");
    tenant.most_cpu = largest.quantity("cpu");
    tenant.most_memory = largest.quantity("memory");
    TRY(largest.finish());
  }
  const auto above = [](const std::string& least, const std::string& most) {
    return !most.empty() && parse_kubernetes_quantity(least) > parse_kubernetes_quantity(most);
  };
  if (above(tenant.default_cpu, tenant.most_cpu) || above(tenant.default_memory, tenant.most_memory))
    fields.fail("largest", fmt::format("no less than what a container has by default ({} CPU, {})", tenant.default_cpu,
                                       tenant.default_memory));
  return {};
}

Status read_priorities(KubeTenant& tenant, TenantFields& fields) {
  const nlohmann::json* const classes = fields.find("priorities");
  if (classes == nullptr) return {};
  TenantFields all(*classes, fields.where() + ": priorities");
  for (const auto& [name, described] : fields_in(*classes).items()) {
    (void)all.find(name);
    // Those of the system are above all others.
    if (!is_dns_subdomain(name) || name.starts_with("system-"))
      all.fail(name, "a PriorityClass's name, which does not begin with system-");
    TenantFields one(described_by(described), fmt::format("{}: {}", all.where(), excerpt(name)));
    constexpr int32_t kHighest = 1'000'000'000;
    tenant.priorities.emplace(name, KubeTenantPriority{.value = one.number<int32_t>("value", -kHighest, kHighest),
                                                       .gpus = one.number<int64_t>("gpus", 0, kMostOfKind)});
    TRY(one.finish());
  }
  return all.finish();
}

Status read_reach(KubeTenant& tenant, TenantFields& fields) {
  const nlohmann::json* const reaches = fields.find("reaches");
  if (reaches != nullptr && !reaches->is_array()) fields.fail("reaches", "a list of {to: 10.1.0.0/16, ports: [443]}");
  for (const nlohmann::json& described : reaches != nullptr && reaches->is_array() ? *reaches : nlohmann::json::array()) {
    TenantFields one(described, fields.where() + ": reaches");
    KubeTenantPeer peer{.to = one.text("to"), .ports = {}};
    if (!is_address_range(peer.to)) one.fail("to", "a range of addresses, such as 10.1.0.0/16");
    for (const std::string& text : one.texts("ports")) {
      const auto port = number_in<int32_t>(text, 1, 65535);
      if (!port) one.fail("ports", "numbers from 1 to 65535");
      peer.ports.push_back(port.value_or(0));
    }
    TRY(one.finish());
    tenant.reaches.push_back(std::move(peer));
  }
  tenant.internet = fields.flag("internet");
  tenant.reached_from = fields.texts("reached_from");
  if (!std::ranges::all_of(tenant.reached_from, is_dns_label)) fields.fail("reached_from", "names of namespaces");
  return {};
}

bool belongs_to_cluster(std::string_view ns) { return ns == "default" || ns.starts_with("kube-"); }

bool is_account(std::string_view text) {
  const size_t slash = text.find('/');
  return slash != text.npos && is_dns_label(text.substr(0, slash)) && is_dns_subdomain(text.substr(slash + 1));
}

Result<KubeTenant> read_tenant(const nlohmann::json& described, const std::string& where, const std::string& client) {
  TenantFields fields(described, where);
  KubeTenant tenant;
  tenant.client = client;
  tenant.ns = fields.text("namespace", client);
  if (!is_dns_label(tenant.ns)) fields.fail("namespace", "a name of small letters, digits and '-', at most 63");
  if (belongs_to_cluster(tenant.ns)) fields.fail("namespace", "another one: this one is the cluster's own");
  tenant.users = fields.texts("users");
  tenant.groups = fields.texts("groups");
  tenant.viewers = fields.texts("viewers");
  tenant.security = fields.text("security", tenant.security);
  if (tenant.security != "restricted" && tenant.security != "baseline")
    fields.fail("security", "restricted or baseline: with privileged, a pod owns its machine");
  if (const nlohmann::json* const quota = fields.find("quota")) {
    TRY_ASSIGN(tenant.quota, read_quota(TenantFields(*quota, where + ": quota")));
  }
  TRY(read_sizes(tenant, fields));
  TRY(read_priorities(tenant, fields));
  TRY(read_reach(tenant, fields));
  tenant.account = fields.text("account");
  if (!tenant.account.empty() && !is_account(tenant.account))
    fields.fail("account", "NAMESPACE/NAME of the daemon's account, such as stint/stint-scheduler");
  TRY(fields.finish());
  return tenant;
}

// ---- Its objects ----

TenantJson list_of(const std::vector<std::string>& texts) { return texts.empty() ? TenantJson::array() : TenantJson(texts); }

class TenantWriter {
 public:
  explicit TenantWriter(const KubeTenant& tenant) : tenant_(tenant), client_(kube_label_value(tenant.client)) {}

  std::vector<KubeManifest> take() && { return std::move(out_); }

  void put_namespace() {
    TenantJson object = headed("v1", "Namespace", tenant_.ns, false);
    // What is merely short of `restricted` is told to whoever makes it.
    object["metadata"]["labels"].update({{"pod-security.kubernetes.io/enforce", tenant_.security},
                                         {"pod-security.kubernetes.io/warn", "restricted"},
                                         {"pod-security.kubernetes.io/audit", "restricted"}});
    put("/api/v1/namespaces", std::move(object));
  }

  void put_priority_classes() {
    for (const auto& [name, priority] : tenant_.priorities) {
      if (!priority.value) continue;
      TenantJson object = headed("scheduling.k8s.io/v1", "PriorityClass", name, false);
      object["value"] = *priority.value;
      object["globalDefault"] = false;
      put("/apis/scheduling.k8s.io/v1/priorityclasses", std::move(object));
    }
  }

  void put_quotas() {
    put_quota("stint", hard_of(tenant_.quota), nullptr);
    // Of classes that are not the client's there are no pods: else whoever names a high one overtakes all other clients.
    std::vector<std::string> own;
    for (const auto& [name, priority] : tenant_.priorities)
      own.push_back(name);
    TenantJson foreign = TenantJson::array({in_scope("Exists", {})});
    if (!own.empty()) foreign.push_back(in_scope("NotIn", own));
    put_quota("stint-other-priorities", {{"pods", "0"}}, std::move(foreign));
    for (const auto& [name, priority] : tenant_.priorities)
      if (priority.gpus)
        put_quota("stint-priority-" + name, {{fmt::format("requests.{}", kGpu), std::to_string(*priority.gpus)}},
                  TenantJson::array({in_scope("In", {name})}));
  }

  /// Containers that name nothing would be refused by the quota.
  void put_limits() {
    TenantJson limit = {{"type", "Container"},
                        {"defaultRequest", {{"cpu", tenant_.default_cpu}, {"memory", tenant_.default_memory}}},
                        {"default", {{"memory", tenant_.default_memory}}}};
    if (!tenant_.most_cpu.empty()) {
      limit["max"]["cpu"] = tenant_.most_cpu;
      limit["default"]["cpu"] = tenant_.most_cpu;
    }
    if (!tenant_.most_memory.empty()) limit["max"]["memory"] = tenant_.most_memory;
    TenantJson object = headed("v1", "LimitRange", "stint", true);
    object["spec"] = {{"limits", TenantJson::array({std::move(limit)})}};
    put(in_namespace("/api/v1", "limitranges"), std::move(object));
  }

  void put_network_policy() {
    const TenantJson own = {{"podSelector", TenantJson::object()}};
    TenantJson from = TenantJson::array({own}), egress = TenantJson::array({{{"to", TenantJson::array({own})}}, to_names()});
    for (const std::string& ns : tenant_.reached_from)
      from.push_back({{"namespaceSelector", {{"matchLabels", {{"kubernetes.io/metadata.name", ns}}}}}});
    for (const KubeTenantPeer& peer : tenant_.reaches) {
      TenantJson rule = {{"to", TenantJson::array({{{"ipBlock", {{"cidr", peer.to}}}}})}};
      for (const int32_t port : peer.ports)
        rule["ports"].push_back({{"protocol", "TCP"}, {"port", port}});
      egress.push_back(std::move(rule));
    }
    if (tenant_.internet) egress.push_back(to_internet());
    TenantJson object = headed("networking.k8s.io/v1", "NetworkPolicy", "stint", true);
    object["spec"] = {{"podSelector", TenantJson::object()},
                      {"policyTypes", {"Ingress", "Egress"}},
                      {"ingress", TenantJson::array({{{"from", std::move(from)}}})},
                      {"egress", std::move(egress)}};
    put(in_namespace("/apis/networking.k8s.io/v1", "networkpolicies"), std::move(object));
  }

  /// A pod that does not ask for the API has no token of it.
  void put_account() {
    TenantJson object = headed("v1", "ServiceAccount", "default", true);
    object["automountServiceAccountToken"] = false;
    put(in_namespace("/api/v1", "serviceaccounts"), std::move(object));
  }

  void put_roles() {
    const TenantJson look = {"get", "list", "watch"};
    const TenantJson work = {"get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"};
    const auto rule = [](const char* group, TenantJson resources, const TenantJson& verbs) {
      return TenantJson{{"apiGroups", {group}}, {"resources", std::move(resources)}, {"verbs", verbs}};
    };
    const TenantJson bounds = {"resourcequotas", "limitranges", "events", "serviceaccounts"};
    put_role("stint-works",
             TenantJson::array(
                 {rule("", {"pods", "services", "configmaps", "secrets", "persistentvolumeclaims"}, work),
                  rule("", {"pods/exec", "pods/portforward", "pods/attach", "pods/eviction"}, {"create"}),
                  rule("", {"pods/log", "pods/status"}, {"get"}), rule("", bounds, look),
                  rule("apps", {"deployments", "statefulsets", "replicasets", "deployments/scale", "statefulsets/scale"}, work),
                  rule("batch", {"jobs", "cronjobs"}, work),
                  rule("resource.k8s.io", {"resourceclaims", "resourceclaimtemplates"}, work)}),
             tenant_.users, tenant_.groups);
    put_role("stint-looks",
             TenantJson::array({rule("", {"pods", "services", "configmaps", "persistentvolumeclaims"}, look),
                                rule("", {"pods/log"}, {"get"}), rule("", bounds, look),
                                rule("apps", {"deployments", "statefulsets", "replicasets"}, look),
                                rule("batch", {"jobs", "cronjobs"}, look),
                                rule("resource.k8s.io", {"resourceclaims", "resourceclaimtemplates"}, look)}),
             {}, tenant_.viewers);
    if (tenant_.account.empty()) return;
    const size_t slash = tenant_.account.find('/');
    put_binding(std::string(kPodsOfJobs), "ClusterRole",
                TenantJson::array({{{"kind", "ServiceAccount"},
                                    {"name", tenant_.account.substr(slash + 1)},
                                    {"namespace", tenant_.account.substr(0, slash)}}}));
  }

 private:
  TenantJson headed(std::string_view version, std::string_view kind, const std::string& name, bool inside) const {
    TenantJson meta = {{"name", name}};
    if (inside) meta["namespace"] = tenant_.ns;
    meta["labels"] = {{"app.kubernetes.io/managed-by", "stint"}, {"stint/client", client_}};
    return {{"apiVersion", version}, {"kind", kind}, {"metadata", std::move(meta)}};
  }
  [[nodiscard]] std::string in_namespace(std::string_view group, std::string_view resource) const {
    return fmt::format("{}/namespaces/{}/{}", group, tenant_.ns, resource);
  }
  void put(const std::string& collection, TenantJson object) {
    std::string path = fmt::format("{}/{}", collection, object["metadata"]["name"].get_ref<const std::string&>());
    out_.push_back({std::move(path), object.dump(-1, ' ', false, TenantJson::error_handler_t::replace)});
  }

  static TenantJson in_scope(std::string_view how, const std::vector<std::string>& names) {
    TenantJson scope = {{"scopeName", "PriorityClass"}, {"operator", how}};
    if (!names.empty()) scope["values"] = list_of(names);
    return scope;
  }
  void put_quota(const std::string& name, const std::map<std::string, std::string, std::less<>>& hard, TenantJson scopes) {
    TenantJson object = headed("v1", "ResourceQuota", name, true);
    object["spec"]["hard"] = hard;
    if (!scopes.is_null()) object["spec"]["scopeSelector"] = {{"matchExpressions", std::move(scopes)}};
    put(in_namespace("/api/v1", "resourcequotas"), std::move(object));
  }
  static std::map<std::string, std::string, std::less<>> hard_of(const KubeTenantQuota& quota) {
    // A port of every machine, and a load balancer that costs money, are not a client's to open.
    std::map<std::string, std::string, std::less<>> hard = {{"services.loadbalancers", "0"}, {"services.nodeports", "0"}};
    const auto bound = [&](std::string name, const std::string& most) {
      if (!most.empty()) hard[std::move(name)] = most;
    };
    bound("requests.cpu", quota.cpu);
    bound("requests.memory", quota.memory);
    bound("requests.storage", quota.storage);
    if (quota.pods) hard["pods"] = std::to_string(*quota.pods);
    if (quota.gpus) {
      // What a quota does not name has no bound, and a slice is as good as its GPU.
      hard["count/resourceclaims.resource.k8s.io"] = hard["requests.nvidia.com/gpu.shared"] = "0";
      for (const MigGeometry& geometry : mig_geometries())
        for (const MigProfile& profile : geometry.profiles)
          hard["requests." + kube_mig_resource(profile.name)] = "0";
      hard[fmt::format("requests.{}", kGpu)] = std::to_string(*quota.gpus);
    }
    for (const auto& [name, most] : quota.other)
      hard["requests." + name] = std::to_string(most);
    return hard;
  }
  /// As NVIDIA's device plugin calls a profile: no '+' may stand in a name.
  static std::string kube_mig_resource(std::string profile) {
    std::ranges::replace(profile, '+', '.');
    return "nvidia.com/mig-" + profile;
  }

  static TenantJson to_names() {
    const TenantJson server = {{"namespaceSelector", {{"matchLabels", {{"kubernetes.io/metadata.name", "kube-system"}}}}},
                               {"podSelector", {{"matchLabels", {{"k8s-app", "kube-dns"}}}}}};
    return {{"to", TenantJson::array({server})},
            {"ports", TenantJson::array({{{"protocol", "UDP"}, {"port", 53}}, {{"protocol", "TCP"}, {"port", 53}}})}};
  }
  /// Without the ranges that are private, shared by a provider's network, or a machine's own: there lie credentials of the machine.
  static TenantJson to_internet() {
    return {
        {"to", TenantJson::array(
                   {{{"ipBlock",
                      {{"cidr", "0.0.0.0/0"},
                       {"except",
                        {"10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.168.0.0/16"}}}}},
                    {{"ipBlock", {{"cidr", "::/0"}, {"except", {"::1/128", "fc00::/7", "fe80::/10"}}}}}})}};
  }

  void put_role(const std::string& name, TenantJson rules, const std::vector<std::string>& users,
                const std::vector<std::string>& groups) {
    if (users.empty() && groups.empty()) return;
    TenantJson object = headed("rbac.authorization.k8s.io/v1", "Role", name, true);
    object["rules"] = std::move(rules);
    put(in_namespace("/apis/rbac.authorization.k8s.io/v1", "roles"), std::move(object));
    TenantJson subjects = TenantJson::array();
    const auto add = [&](const char* kind, const std::vector<std::string>& names) {
      for (const std::string& one : names)
        subjects.push_back({{"kind", kind}, {"name", one}, {"apiGroup", "rbac.authorization.k8s.io"}});
    };
    add("User", users);
    add("Group", groups);
    put_binding(name, "Role", std::move(subjects));
  }
  void put_binding(const std::string& role, const char* kind, TenantJson subjects) {
    TenantJson object = headed("rbac.authorization.k8s.io/v1", "RoleBinding", role, true);
    object["roleRef"] = {{"apiGroup", "rbac.authorization.k8s.io"}, {"kind", kind}, {"name", role}};
    object["subjects"] = std::move(subjects);
    put(in_namespace("/apis/rbac.authorization.k8s.io/v1", "rolebindings"), std::move(object));
  }

  const KubeTenant& tenant_;
  std::string client_;
  std::vector<KubeManifest> out_;
};

}  // namespace

Result<KubeTenant> parse_kube_tenant(std::string_view text, const std::string& source, const std::string& client) {
  const auto root = parse_yaml(text);
  if (!root.ok()) return invalid("{}: {}", source, root.error().message);
  TenantFields fields(*root, source);
  const nlohmann::json* const tenants = fields.find("tenants");
  if (tenants == nullptr || !tenants->is_object()) fields.fail("tenants", "each client's description by its name");
  TRY(fields.finish());
  const auto found = tenants->find(client);
  if (found == tenants->end()) {
    std::string names;
    for (const auto& [name, described] : tenants->items())
      names += (names.empty() ? "" : ", ") + excerpt(name);
    return make_error(ErrorCode::kNotFound, "{}: there is no tenant '{}'; there are: {}", source, excerpt(client), names);
  }
  return read_tenant(described_by(*found), fmt::format("{}: {}", source, excerpt(client)), client);
}

std::vector<KubeManifest> tenant_manifests(const KubeTenant& tenant) {
  TenantWriter writer(tenant);
  writer.put_namespace();
  writer.put_priority_classes();
  writer.put_quotas();
  writer.put_limits();
  writer.put_network_policy();
  writer.put_account();
  writer.put_roles();
  return std::move(writer).take();
}

}  // namespace stint
