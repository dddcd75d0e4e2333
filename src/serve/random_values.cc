#include "serve/random_values.h"

#include "codec/serving/tensor_texts.h"

namespace stint::serve {

std::vector<std::byte> random_values(DataType type, size_t count, Prng& prng) {
  if (type == DataType::kBytes) {
    std::vector<std::byte> texts;
    for (size_t i = 0; i < count; ++i)
      append_text(texts, prng.below(2) == 0 ? "0000000000000000" : "0000000000000001");
    return texts;
  }
  return visit_type(type, [&]<typename T>(T) {
    constexpr bool kWhole = std::is_integral_v<T> || std::is_same_v<T, Bool>;
    std::vector<std::byte> values(count * sizeof(T));
    for (size_t i = 0; i < count; ++i) {
      const T value = *from_number<T>(kWhole ? static_cast<double>(prng.below(2)) : prng.normal());
      std::memcpy(values.data() + i * sizeof value, &value, sizeof value);
    }
    return values;
  });
}

}  // namespace stint::serve
