// What the subcommands of stint serve share that run ONNX models here: which ONNX Runtime, and on what.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "serve/onnx_runtime.h"

namespace stint {

class Command;

struct OnnxOptions {
  std::string library;
  std::string device = "cpu";
};

void add_onnxruntime_option(Command& command, std::string& library);
/// @param flag  what the option for the device is called.
void add_onnx_options(Command& command, OnnxOptions& options, const char* flag = "--device");

/// NAME=SIZE …, sizes of free dimensions. @param option  for messages.
Result<serve::Sizes> read_sizes(const std::string& option, const std::vector<std::string>& texts);

/// The runtime on the device asked for. Where that is `auto` and no GPU can be used, on the processor, which standard error is told.
/// @param most  what a model may take of a GPU's memory
Result<serve::OnnxRuntime> open_onnxruntime(const OnnxOptions& options, std::optional<Bytes> most);

}  // namespace stint
