#include "collect/tar_writer.h"

#include <fmt/format.h>

#include "collect/tar.h"

namespace stint {
namespace {

constexpr uint64_t kMostOctal = (uint64_t{1} << 33) - 1;  // eleven digits

void put(std::string& block, size_t at, std::string_view text) { block.replace(at, text.size(), text); }

std::string header_of(std::string_view name, uint64_t size, int64_t modified_s) {
  std::string block(kTarBlock, '\0');
  put(block, 0, name);
  put(block, 100, "0000600");
  put(block, 108, "0000000");
  put(block, 116, "0000000");
  if (size <= kMostOctal) {
    put(block, 124, fmt::format("{:011o}", size));
  } else {
    block[124] = static_cast<char>(0x80);
    for (size_t i = 0; i < 8; ++i)
      block[135 - i] = static_cast<char>(size >> (8 * i) & 0xff);
  }
  put(block, 136, fmt::format("{:011o}", modified_s));
  put(block, 148, "        ");  // the checksum's own field counts as blanks
  block[156] = '0';
  put(block, 257, std::string_view("ustar\00000", 8));
  uint64_t sum = 0;
  for (const char c : block)
    sum += static_cast<unsigned char>(c);
  put(block, 148, fmt::format("{:06o}", sum));
  block[154] = '\0';
  return block;
}

}  // namespace

Status TarWriter::begin(std::string_view name, uint64_t size, int64_t modified_s) {
  CHECK(left_ == 0, "{} begins before the file before it is whole", name);
  if (name.size() > 100) return invalid("{}: a name longer than 100 bytes does not fit into the archive", name);
  TRY(pad());
  size_ = left_ = size;
  return sink_(header_of(name, size, modified_s));
}

Status TarWriter::data(std::string_view bytes) {
  CHECK(bytes.size() <= left_, "{} bytes more than the file has", bytes.size() - left_);
  left_ -= bytes.size();
  return sink_(bytes);
}

Status TarWriter::pad() { return sink_(std::string((kTarBlock - size_ % kTarBlock) % kTarBlock, '\0')); }

Status TarWriter::finish() {
  CHECK(left_ == 0, "the last file lacks {} bytes", left_);
  TRY(pad());
  return sink_(std::string(2 * kTarBlock, '\0'));
}

}  // namespace stint
