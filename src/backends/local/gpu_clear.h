// Is a GPU's memory clear? Asked before the next tenant starts: what the last one left there is neither its to see nor
// its to miss.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "backends/backend.h"
#include "host/nvml.h"

namespace stint {

class GpuClearCheck {
 public:
  struct Options {
    std::string nvml_library = Nvml::kLibrary;
    /// What an idle GPU may have in use: the driver keeps some memory for itself.
    Bytes allowance = Bytes::gibi(int64_t{1});
  };
  explicit GpuClearCheck(const Options& options);

  /// "" = it works; else why it cannot, for a person.
  [[nodiscard]] const std::string& why_not() const { return why_not_; }

  /// MIG devices are passed over: they are looked at when they are granted (mig_grants.h).
  /// @param tenancy  kShared: NVIDIA's MPS server, which tasks on parts compute through, may be there
  /// @return kUnavailable when a process computes on one of them, more than the allowance is in use, or it does not answer.
  Status check(const std::vector<GrantedGpu>& gpus, Tenancy tenancy = Tenancy::kAlone);

  /// Of the MIG device, or of the GPU as it is named or as NVML tells it; "" = it does not.
  [[nodiscard]] std::string uuid_of(const GrantedGpu& gpu) const;

 private:
  Status check(size_t position, const GrantedGpu& gpu, Tenancy tenancy);
  std::optional<Nvml> nvml_;
  std::string why_not_;
  Bytes allowance_;
};

}  // namespace stint
