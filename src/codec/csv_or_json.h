// For formats that come as CSV and as JSON: the first byte that is no blank tells which.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "codec/importer.h"

namespace stint {

class CsvOrJsonImporter final : public Importer {
 public:
  using Make = std::function<std::unique_ptr<Importer>(const ImportOptions&, Sink&)>;
  CsvOrJsonImporter(const ImportOptions& options, Sink& sink, Make csv, Make json)
      : options_(options), sink_(sink), csv_(std::move(csv)), json_(std::move(json)) {}

  Status feed(std::string_view bytes) override;
  Status finish() override;

 private:
  const ImportOptions options_;
  Sink& sink_;
  const Make csv_, json_;
  std::unique_ptr<Importer> chosen_;
  std::string head_;
};

}  // namespace stint
