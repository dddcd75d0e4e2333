// Values of tensors of BYTES ("texts" here): each lies behind its length, one after the other, so that rows of several requests are put
// together and taken apart as those of numbers are.
//
// Source: Open Inference Protocol, version 2, binary tensor data extension: four bytes of length, little-endian, then the bytes.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace stint {

inline constexpr size_t kTextHead = 4;  ///< bytes of the length

void append_text(std::vector<std::byte>& values, std::string_view text);
/// The first text, which `values` is shortened by. @return none: it is not there whole
std::optional<std::string_view> take_text(std::span<const std::byte>& values);
/// Ok when there are `count` texts and nothing else. @return error that says which text is cut off, or how many there are
Status check_texts(std::span<const std::byte> values, size_t count);
/// Bytes of the first `count` texts, which must be there.
size_t bytes_of_texts(std::span<const std::byte> values, size_t count);
/// Of whole texts.
bool all_utf8(std::span<const std::byte> values);

}  // namespace stint
