// Small XML documents as trees: the answers of S3, STS and Azure Blob. Read by Expat.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace stint {

struct XmlElement {
  std::string name;  ///< without its namespace's prefix
  std::string text;  ///< directly in it, pieces between elements put together
  std::vector<XmlElement> children;

  /// @return the first child of that name; nullptr = none.
  [[nodiscard]] const XmlElement* find(std::string_view child) const;
  /// Its text; "" = there is no such child.
  [[nodiscard]] std::string text_of(std::string_view child) const;
  /// The first element of that name at any depth, itself included; nullptr = none.
  [[nodiscard]] const XmlElement* find_below(std::string_view descendant) const;
};

/// @return the root; kInvalidInput with the line when it is not well-formed, declares a document type (so that no entity is ever
///   defined or fetched) or is nested deeper than 64 elements.
Result<XmlElement> parse_xml(std::string_view text);

/// `<`, `>`, `&` and quotes as entities.
std::string escape_xml(std::string_view text);

}  // namespace stint
