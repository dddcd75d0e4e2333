#include "clouds/xml.h"

#include <expat.h>

#include <algorithm>
#include <memory>
#include <type_traits>

#include "base/text.h"

namespace stint {
namespace {

constexpr size_t kDeepest = 64;
constexpr size_t kLargestXml = size_t{64} << 20;

struct FreeParser {
  void operator()(XML_Parser parser) const { XML_ParserFree(parser); }
};
using XmlParser = std::unique_ptr<std::remove_pointer_t<XML_Parser>, FreeParser>;

struct XmlBuilder {
  XML_Parser parser = nullptr;
  XmlElement document;           // its only child is the root
  std::vector<XmlElement> open;  // from the root to the element that is being read
  std::string refused;           // why reading was stopped

  void stop(std::string why) {
    refused = std::move(why);
    XML_StopParser(parser, XML_FALSE);
  }
};

void XMLCALL begin_element(void* data, const XML_Char* name, const XML_Char** /*attributes*/) {
  auto& builder = *static_cast<XmlBuilder*>(data);
  if (builder.open.size() >= kDeepest) return builder.stop("is nested too deep");
  const std::string_view whole(name);
  const size_t colon = whole.rfind(':');
  builder.open.push_back({.name = std::string(whole.substr(colon == std::string_view::npos ? 0 : colon + 1))});
}

void XMLCALL end_element(void* data, const XML_Char* /*name*/) {
  auto& builder = *static_cast<XmlBuilder*>(data);
  if (builder.open.empty()) return;
  XmlElement done = std::move(builder.open.back());
  builder.open.pop_back();
  (builder.open.empty() ? builder.document : builder.open.back()).children.push_back(std::move(done));
}

void XMLCALL add_text(void* data, const XML_Char* text, int size) {
  auto& builder = *static_cast<XmlBuilder*>(data);
  if (!builder.open.empty()) builder.open.back().text.append(text, static_cast<size_t>(size));
}

void XMLCALL refuse_type(void* data, const XML_Char*, const XML_Char*, const XML_Char*, int) {
  static_cast<XmlBuilder*>(data)->stop("declares a document type");
}

}  // namespace

const XmlElement* XmlElement::find(std::string_view child) const {
  const auto found = std::find_if(children.begin(), children.end(), [&](const XmlElement& e) { return e.name == child; });
  return found == children.end() ? nullptr : &*found;
}

std::string XmlElement::text_of(std::string_view child) const {
  const XmlElement* found = find(child);
  return found == nullptr ? "" : std::string(trim(found->text));
}

const XmlElement* XmlElement::find_below(std::string_view descendant) const {
  if (name == descendant) return this;
  for (const XmlElement& child : children)
    if (const XmlElement* found = child.find_below(descendant)) return found;
  return nullptr;
}

Result<XmlElement> parse_xml(std::string_view text) {
  if (text.size() > kLargestXml) return invalid("an XML answer is larger than {} MiB", kLargestXml >> 20);
  const XmlParser parser(XML_ParserCreate(nullptr));
  CHECK(parser != nullptr, "Expat gives no parser");
  XmlBuilder builder;
  builder.parser = parser.get();
  XML_SetUserData(parser.get(), &builder);
  XML_SetElementHandler(parser.get(), begin_element, end_element);
  XML_SetCharacterDataHandler(parser.get(), add_text);
  XML_SetStartDoctypeDeclHandler(parser.get(), refuse_type);
  const bool read = XML_Parse(parser.get(), text.data(), static_cast<int>(text.size()), XML_TRUE) == XML_STATUS_OK;
  if (!read || !builder.refused.empty())
    return invalid("line {}: {}", XML_GetCurrentLineNumber(parser.get()),
                   builder.refused.empty() ? XML_ErrorString(XML_GetErrorCode(parser.get())) : builder.refused.c_str());
  CHECK(builder.document.children.size() == 1, "a document has {} roots", builder.document.children.size());
  return std::move(builder.document.children.front());
}

std::string escape_xml(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '&': out += "&amp;"; break;
      case '"': out += "&quot;"; break;
      default: out += c;
    }
  }
  return out;
}

}  // namespace stint
