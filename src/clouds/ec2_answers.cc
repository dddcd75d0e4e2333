#include "clouds/ec2_answers.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/text.h"
#include "clouds/xml.h"

namespace stint {
namespace {

constexpr std::array<std::pair<std::string_view, Ec2State>, 6> kStates = {{{"pending", Ec2State::kPending},
                                                                           {"running", Ec2State::kRunning},
                                                                           {"shutting-down", Ec2State::kShuttingDown},
                                                                           {"terminated", Ec2State::kTerminated},
                                                                           {"stopping", Ec2State::kStopping},
                                                                           {"stopped", Ec2State::kStopped}}};

Result<XmlElement> ec2_document(std::string_view text, std::string_view root) {
  auto xml = parse_xml(text);
  if (!xml.ok()) return invalid("EC2's answer cannot be read: {}", xml.error().message);
  if (xml->name != root) return invalid("EC2 answers <{}> instead of <{}>", excerpt(xml->name), root);
  return xml;
}

/// The items of a list; none when it is not there.
std::vector<const XmlElement*> items_of(const XmlElement& element, std::string_view list) {
  std::vector<const XmlElement*> items;
  if (const XmlElement* found = element.find(list))
    for (const XmlElement& item : found->children)
      if (item.name == "item") items.push_back(&item);
  return items;
}

std::string text_below(const XmlElement& element, std::string_view child, std::string_view grandchild) {
  const XmlElement* found = element.find(child);
  return found == nullptr ? "" : found->text_of(grandchild);
}

Result<Ec2Instance> read_instance(const XmlElement& item) {
  Ec2Instance instance{.id = item.text_of("instanceId"),
                       .instance_type = item.text_of("instanceType"),
                       .zone = text_below(item, "placement", "availabilityZone"),
                       .spot = item.text_of("instanceLifecycle") == "spot",
                       .why = text_below(item, "stateReason", "code")};
  if (instance.id.empty()) return invalid("EC2 tells of an instance without an id");
  const std::string state = text_below(item, "instanceState", "name");
  const auto* known = std::ranges::find(kStates, state, &std::pair<std::string_view, Ec2State>::first);
  if (known == kStates.end()) return invalid("EC2 says that {} is '{}'", excerpt(instance.id), excerpt(state));
  instance.state = known->second;
  for (const XmlElement* tag : items_of(item, "tagSet"))
    instance.tags.insert_or_assign(tag->text_of("key"), tag->text_of("value"));
  return instance;
}

Status read_instances(const XmlElement& element, std::vector<Ec2Instance>& into) {
  for (const XmlElement* item : items_of(element, "instancesSet")) {
    TRY_ASSIGN(Ec2Instance instance, read_instance(*item));
    into.push_back(std::move(instance));
  }
  return {};
}

}  // namespace

std::string Ec2Instance::tag(const std::string& name) const {
  const auto found = tags.find(name);
  return found == tags.end() ? "" : found->second;
}

Result<std::vector<Ec2Instance>> parse_ec2_launched(std::string_view text) {
  TRY_ASSIGN(const XmlElement xml, ec2_document(text, "RunInstancesResponse"));
  std::vector<Ec2Instance> launched;
  TRY(read_instances(xml, launched));
  if (launched.empty()) return invalid("EC2 says that it made a machine and names none");
  return launched;
}

Result<Ec2Instances> parse_ec2_instances(std::string_view text) {
  TRY_ASSIGN(const XmlElement xml, ec2_document(text, "DescribeInstancesResponse"));
  if (xml.find("reservationSet") == nullptr) return invalid("EC2 answers a list of machines without the list");
  Ec2Instances page;
  for (const XmlElement* reservation : items_of(xml, "reservationSet"))
    TRY(read_instances(*reservation, page.instances));
  page.next = xml.text_of("nextToken");
  return page;
}

Result<Ec2SpotPrices> parse_ec2_spot_prices(std::string_view text) {
  TRY_ASSIGN(const XmlElement xml, ec2_document(text, "DescribeSpotPriceHistoryResponse"));
  Ec2SpotPrices page;
  for (const XmlElement* item : items_of(xml, "spotPriceHistorySet")) {
    if (!item->text_of("productDescription").starts_with("Linux/UNIX")) continue;  // some say "(Amazon VPC)" behind it
    Ec2SpotPrice price{.instance_type = item->text_of("instanceType"), .zone = item->text_of("availabilityZone")};
    TRY_ASSIGN(price.since, parse_instant(item->text_of("timestamp")));
    TRY_ASSIGN(price.rate, Rate::parse_per_hour(item->text_of("spotPrice")));
    if (price.instance_type.empty() || price.zone.empty()) return invalid("EC2 tells a spot price of no type or zone");
    if (price.rate.per_hour().count_nanos() < 0)
      return invalid("EC2 tells a spot price below 0 of {}", excerpt(price.instance_type));
    page.prices.push_back(std::move(price));
  }
  page.next = xml.text_of("nextToken");
  return page;
}

Result<Ec2Offerings> parse_ec2_offerings(std::string_view text) {
  TRY_ASSIGN(const XmlElement xml, ec2_document(text, "DescribeInstanceTypeOfferingsResponse"));
  // Without the list nothing is known: it does not say that nothing is sold.
  if (xml.find("instanceTypeOfferingSet") == nullptr) return invalid("EC2 answers which types are sold without the list");
  Ec2Offerings page;
  for (const XmlElement* item : items_of(xml, "instanceTypeOfferingSet")) {
    if (item->text_of("locationType") != "availability-zone") continue;
    Ec2Offering offering{.instance_type = item->text_of("instanceType"), .zone = item->text_of("location")};
    if (offering.instance_type.empty() || offering.zone.empty())
      return invalid("EC2 tells of a type that is sold without type or zone");
    page.offerings.push_back(std::move(offering));
  }
  page.next = xml.text_of("nextToken");
  return page;
}

Result<Ec2SpotEnds> parse_ec2_spot_ends(std::string_view text) {
  TRY_ASSIGN(const XmlElement xml, ec2_document(text, "DescribeSpotInstanceRequestsResponse"));
  Ec2SpotEnds page;
  for (const XmlElement* item : items_of(xml, "spotInstanceRequestSet")) {
    if (text_below(*item, "status", "code") != "marked-for-termination") continue;
    Ec2SpotEnd end{.instance = item->text_of("instanceId")};
    if (end.instance.empty()) continue;
    TRY_ASSIGN(end.told, parse_instant(text_below(*item, "status", "updateTime")));
    page.ends.push_back(std::move(end));
  }
  page.next = xml.text_of("nextToken");
  return page;
}

}  // namespace stint
