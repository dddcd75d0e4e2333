// What the subcommands of stint serve share that measure a model: where it runs, and what is written beside its times.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "batching/tuner.h"
#include "cli/serve/onnx_options.h"
#include "serve/measure.h"

namespace stint {

class Command;
class Option;

struct MeasureSource {
  std::string model;   ///< ONNX file; with `server` the name of a model there
  std::string server;  ///< IP address and port; empty: here
  OnnxOptions onnx;
  std::string device = "this machine";  ///< as it is to be called
  std::optional<double> price;          ///< of the device, US dollars per hour; none: not told
  std::vector<std::string> shapes;      ///< NAME=SIZE of free dimensions
  std::string gpu;                      ///< what the device is, as the catalogue knows it; empty: not told
  serve::MeasureOptions options;
};

/// The option for the model, and those for all but the sizes of batches.
/// @return that for the model
Option* add_measure_source(Command& command, MeasureSource& source);

struct MeasuredDevice {
  std::vector<batching::MeasuredBatch> batches;
  batching::DeviceProfile profile;  ///< of them
};

/// Takes seconds. Standard error is told what runs where, the times by size, and whose price it is.
Result<MeasuredDevice> measure_device(const MeasureSource& source);

}  // namespace stint
