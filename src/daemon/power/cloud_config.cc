#include "daemon/power/cloud_config.h"

#include <simdjson.h>
#include <algorithm>

#include "base/text.h"
#include "clouds/azure_machine.h"
#include "clouds/gce_machine.h"
#include "clouds/user_data.h"
#include "daemon/json_fields.h"

namespace stint {
namespace {

constexpr size_t kMostTags = 40;         // each cloud takes 50 or more, some of which are Stint's
constexpr size_t kLongestMachine = 128;  // name of a machine that is made
constexpr int64_t kMostDisk = 65'536;    // GiB

bool is_word_of(std::string_view text, std::string_view others) {
  return !text.empty() && std::ranges::all_of(text, [&](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || others.find(c) != std::string_view::npos;
  });
}

/// What each cloud's object has alike: `user_data`, `lifetime`, `list_lag`.
template <typename Settings>
Status read_machine_life(JsonFields& fields, size_t most_user_data, const std::string& give_back, Settings& settings) {
  settings.user_data = fields.text("user_data");
  if (!settings.user_data.empty() && !settings.user_data.starts_with("#"))
    fields.wrong("user_data", "a script that begins with #!, or cloud-init's configuration that begins with #cloud-config");
  settings.lifetime = fields.duration("lifetime", *settings.lifetime);
  if (*settings.lifetime == Duration())
    settings.lifetime.reset();
  else if (*settings.lifetime < Duration::minutes(10))
    fields.wrong("lifetime", "at least 10 minutes, or 0: machines do not end by themselves");
  settings.list_lag = fields.duration("list_lag", settings.list_lag);
  if (settings.list_lag < Duration::seconds(1)) fields.wrong("list_lag", "at least one second");
  const FirstStart longest{.machine = std::string(kLongestMachine, 'x'),
                           .lifetime = settings.lifetime,
                           .give_back = give_back,
                           .user_part = settings.user_data};
  if (const auto whole = user_data_of(longest, most_user_data); !whole.ok())
    return invalid("{}: field 'user_data': {}", fields.where(), whole.error().message);
  return {};
}

std::vector<std::pair<std::string, std::string>> read_tags(JsonFields& fields, const char* name, std::string_view ours) {
  std::vector<std::pair<std::string, std::string>> tags = fields.pairs(name);
  if (tags.size() > kMostTags) fields.wrong(name, "at most 40");
  for (const auto& [key, value] : tags)
    if (key.empty() || key.starts_with(ours))
      fields.wrong(name, fmt::format("names that do not begin with {}: those are Stint's", ours));
  return tags;
}

// ---- AWS ------------------------------------------------------------------------------------------------------------

Result<Ec2Place> read_aws_region(JsonFields& fields) {
  Ec2Place place;
  place.region = fields.text("region");
  if (!is_word_of(place.region, "-")) fields.wrong("region", "what AWS calls it, such as us-east-1");
  place.image = fields.text("image");
  place.launch_template = fields.text("launch_template");
  if (place.image.empty() && place.launch_template.empty())
    fields.wrong("image", "what machines start from, such as ami-0123456789abcdef0; or a `launch_template` that names one");
  if (!place.image.empty() && !place.image.starts_with("ami-")) fields.wrong("image", "an id that begins with ami-");
  place.subnets = fields.pairs("subnets");
  for (const auto& [zone, subnet] : place.subnets)
    if (ec2_region_of_zone(zone) != place.region || !subnet.starts_with("subnet-"))
      fields.wrong("subnets", "an object of zones of the region and a subnet of each, such as {\"us-east-1a\": \"subnet-0123\"}");
  place.security_groups = fields.texts("security_groups");
  for (const std::string& group : place.security_groups)
    if (!group.starts_with("sg-")) fields.wrong("security_groups", "a list of ids that begin with sg-");
  place.key_name = fields.text("key_name");
  place.instance_profile = fields.text("instance_profile");
  TRY(fields.finish());
  return place;
}

Result<Ec2Settings> read_aws(JsonFields& fields) {
  Ec2Settings aws;
  TRY(fields.each_object("regions", [&](simdjson::dom::element element, const std::string& where) -> Status {
    JsonFields each(element, where);
    TRY_ASSIGN(Ec2Place place, read_aws_region(each));
    if (aws.place(place.region) != nullptr) return invalid("{}: region {} stands twice", where, place.region);
    aws.places.push_back(std::move(place));
    return {};
  }));
  if (aws.places.empty()) fields.wrong("regions", "where machines may be made: a list of objects with `region` and `image`");
  aws.tags = read_tags(fields, "tags", "stint:");
  for (const auto& [key, value] : aws.tags)
    if (key == "Name" || key.starts_with("aws:"))
      fields.wrong("tags", "names other than Name and aws:…, which have a meaning already");
  TRY(read_machine_life(fields, kMostEc2UserData, "", aws));
  TRY(fields.finish());
  return aws;
}

// ---- Google Cloud ---------------------------------------------------------------------------------------------------

Result<GceSettings> read_gcp(JsonFields& fields) {
  GceSettings gcp;
  gcp.project = fields.text("project");
  if (!is_word_of(gcp.project, "-.:")) fields.wrong("project", "the id of the project whose machines they are");
  gcp.image = fields.text("image");
  if (!gcp.image.starts_with("projects/") || gcp.image.find("/global/images/") == std::string::npos)
    fields.wrong("image", "what machines start from: projects/PROJECT/global/images/IMAGE, or …/images/family/FAMILY");
  gcp.disk_gib = fields.integer("disk_gib", 10, kMostDisk, gcp.disk_gib);
  gcp.network = fields.text("network");
  gcp.subnetworks = fields.pairs("subnetworks");
  for (const auto& [region, subnetwork] : gcp.subnetworks)
    if (!is_word_of(region, "-") || subnetwork.empty())
      fields.wrong(
          "subnetworks",
          "an object of regions and a subnetwork of each, such as {\"us-central1\": \"regions/us-central1/subnetworks/a\"}");
  gcp.public_address = fields.flag("public_address", gcp.public_address);
  gcp.service_account = fields.text("service_account");
  if (!gcp.service_account.empty() && gcp.service_account.find('@') == std::string::npos)
    fields.wrong("service_account", "its address: NAME@PROJECT.iam.gserviceaccount.com");
  gcp.labels = read_tags(fields, "labels", "stint-");
  for (const auto& [key, value] : gcp.labels)
    if (!is_word_of(key, "-_") || (!value.empty() && !is_word_of(value, "-_")))
      fields.wrong("labels", "of lower case letters, digits, - and _, as Google takes them");
  TRY(read_machine_life(fields, kMostGceUserData, "", gcp));
  if (gcp.lifetime && *gcp.lifetime > kGceLongestRun) fields.wrong("lifetime", "at most 120 days, as Google takes it");
  TRY(fields.finish());
  return gcp;
}

// ---- Azure ----------------------------------------------------------------------------------------------------------

bool is_azure_id(std::string_view text) { return text.starts_with("/subscriptions/"); }

Result<AzurePlace> read_azure_region(JsonFields& fields) {
  AzurePlace place;
  place.location = fields.text("region");
  if (!is_word_of(place.location, "")) fields.wrong("region", "what Azure calls it, such as eastus");
  place.subnet = fields.text("subnet");
  if (!is_azure_id(place.subnet)) fields.wrong("subnet", "its id: /subscriptions/…/virtualNetworks/NETWORK/subnets/SUBNET");
  place.security_group = fields.text("security_group");
  if (!place.security_group.empty() && !is_azure_id(place.security_group))
    fields.wrong("security_group", "its id: /subscriptions/…");
  place.image = fields.text("image");
  if (!place.image.empty() && !is_azure_image(place.image)) fields.wrong("image", "an id, or publisher:offer:sku:version");
  TRY(fields.finish());
  return place;
}

Result<AzureSettings> read_azure(JsonFields& fields) {
  AzureSettings azure;
  azure.subscription = fields.text("subscription");
  if (azure.subscription.empty() || azure.subscription.find('/') != std::string::npos)
    fields.wrong("subscription", "its id, such as 7c1e0f52-0000-4000-8000-000000000000");
  azure.resource_group = fields.text("resource_group");
  if (azure.resource_group.empty() || azure.resource_group.find('/') != std::string::npos)
    fields.wrong("resource_group", "the name of the group in which machines are made");
  azure.image = fields.text("image");
  if (!azure.image.empty() && !is_azure_image(azure.image)) fields.wrong("image", "an id, or publisher:offer:sku:version");
  TRY(fields.each_object("regions", [&](simdjson::dom::element element, const std::string& where) -> Status {
    JsonFields each(element, where);
    TRY_ASSIGN(AzurePlace place, read_azure_region(each));
    if (azure.place(place.location) != nullptr) return invalid("{}: region {} stands twice", where, place.location);
    if (place.image.empty() && azure.image.empty())
      return invalid(
          "{}: field 'image': what machines start from, here or for all regions: an id, or publisher:offer:sku:version", where);
    azure.places.push_back(std::move(place));
    return {};
  }));
  if (azure.places.empty()) fields.wrong("regions", "where machines may be made: a list of objects with `region` and `subnet`");
  azure.disk_gib = fields.integer("disk_gib", 10, kMostDisk, azure.disk_gib);
  azure.user = fields.text("user", azure.user);
  if (!is_word_of(azure.user, "-_") || azure.user == "root" || azure.user == "admin")
    fields.wrong("user", "an account that is made on the machine: a–z, 0–9, - and _; Azure takes neither root nor admin");
  azure.ssh_key = fields.text("ssh_key");
  if (!azure.ssh_key.starts_with("ssh-"))
    fields.wrong("ssh_key", "a public key, such as ssh-ed25519 AAAA…: Azure makes no machine without one");
  azure.identity = fields.text("identity");
  if (!azure.identity.empty() && !is_azure_id(azure.identity))
    fields.wrong("identity", "id of a user-assigned managed identity: /subscriptions/…/userAssignedIdentities/NAME");
  azure.tags = read_tags(fields, "tags", "stint-");
  TRY(read_machine_life(fields, kMostAzureUserData, azure_give_back_script(), azure));
  TRY(fields.finish());
  return azure;
}

}  // namespace

Result<CloudSettings> read_clouds(JsonFields& fields) {
  CloudSettings clouds;
  const auto object_of = [&fields](const char* name) {
    return JsonFields(fields.raw(name), fmt::format("{}: {}", fields.where(), name));
  };
  if (fields.has("aws")) {
    JsonFields aws = object_of("aws");
    TRY_ASSIGN(clouds.aws, read_aws(aws));
  }
  if (fields.has("gcp")) {
    JsonFields gcp = object_of("gcp");
    TRY_ASSIGN(clouds.gcp, read_gcp(gcp));
  }
  if (fields.has("azure")) {
    JsonFields azure = object_of("azure");
    TRY_ASSIGN(clouds.azure, read_azure(azure));
  }
  // The shortest of the clouds' holds for all, as orders do not know which cloud they go to.
  if (const auto lifetime = clouds.lifetime(); clouds.gcp && lifetime && *lifetime > kGceLongestRun)
    return invalid("{}: gcp: field 'lifetime': at most 120 days, as Google takes it", fields.where());
  return clouds;
}

Result<CloudSettings> parse_clouds(std::string_view json, const std::string& source) {
  JsonParser parser;
  TRY_ASSIGN(const simdjson::dom::element document, parser.parse(json, source));
  JsonFields fields(document, source);
  TRY_ASSIGN(CloudSettings clouds, read_clouds(fields));
  TRY(fields.finish());
  if (!clouds.is_on()) return invalid("{}: one of `aws`, `gcp` and `azure` at least", source);
  return clouds;
}

}  // namespace stint
