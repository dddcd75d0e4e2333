// The part of ONNX Runtime's C ABI that is called here, declared by hand: OrtGetApiBase()->GetApi(20) returns a table of function
// pointers that only ever grows at its end, so a function is its position.
// Source: the API's rules of versioning and order, onnxruntime.ai/docs/api/c (structs OrtApiBase and OrtApi).
#pragma once

#include <cstddef>
#include <cstdint>

namespace stint::serve::ort {

struct Status;
struct Env;
struct Session;
struct SessionOptions;
struct RunOptions;
struct Value;
struct TypeInfo;
struct TensorInfo;
struct MemoryInfo;
struct Allocator;
struct CudaOptions;

inline constexpr uint32_t kApiVersion = 20;
inline constexpr int kLogErrors = 3;
inline constexpr int kOptimizeAll = 99;
inline constexpr int kArenaAllocator = 1;
inline constexpr int kDefaultMemory = 0;

struct ApiBase {
  const void* const* (*get_api)(uint32_t version);  // null: too new for this library
  const char* (*version)();
};
using GetApiBase = const ApiBase* (*)();

/// A position in the table, and the type of what stands there.
template <typename Function>
struct Slot {
  size_t position;
};
template <typename Function>
Function* at(const void* const* api, Slot<Function> slot) {
  return reinterpret_cast<Function*>(const_cast<void*>(api[slot.position]));
}

using Name = char*;
inline constexpr Slot<const char*(const Status*)> kGetErrorMessage{2};
using Log = void(void* context, int severity, const char* category, const char* id, const char* location, const char* message);
inline constexpr Slot<Status*(Log*, void*, int, const char*, Env**)> kCreateEnvWithLog{4};
inline constexpr Slot<Status*(const Env*, const char*, const SessionOptions*, Session**)> kCreateSession{7};
inline constexpr Slot<Status*(const Env*, const void*, size_t, const SessionOptions*, Session**)> kCreateSessionFromArray{8};
inline constexpr Slot<Status*(Session*, const RunOptions*, const char* const*, const Value* const*, size_t, const char* const*,
                              size_t, Value**)>
    kRun{9};
inline constexpr Slot<Status*(SessionOptions**)> kCreateSessionOptions{10};
inline constexpr Slot<Status*(SessionOptions*, int)> kSetOptimizationLevel{23};
inline constexpr Slot<Status*(SessionOptions*, int)> kSetIntraOpThreads{24};
inline constexpr Slot<Status*(const Session*, size_t*)> kInputCount{30};
inline constexpr Slot<Status*(const Session*, size_t*)> kOutputCount{31};
inline constexpr Slot<Status*(const Session*, size_t, TypeInfo**)> kInputTypeInfo{33};
inline constexpr Slot<Status*(const Session*, size_t, TypeInfo**)> kOutputTypeInfo{34};
inline constexpr Slot<Status*(const Session*, size_t, Allocator*, Name*)> kInputName{36};
inline constexpr Slot<Status*(const Session*, size_t, Allocator*, Name*)> kOutputName{37};
inline constexpr Slot<Status*(RunOptions**)> kCreateRunOptions{39};
inline constexpr Slot<Status*(Allocator*, const int64_t*, size_t, int, Value**)> kCreateTensor{48};
inline constexpr Slot<Status*(const MemoryInfo*, void*, size_t, const int64_t*, size_t, int, Value**)> kCreateTensorOverData{49};
inline constexpr Slot<Status*(Value*, void**)> kTensorData{51};
inline constexpr Slot<Status*(const Value*, size_t*)> kTextBytes{53};
inline constexpr Slot<Status*(const Value*, void*, size_t, size_t*, size_t)> kTexts{54};
inline constexpr Slot<Status*(const TypeInfo*, const TensorInfo**)> kCastToTensorInfo{55};
inline constexpr Slot<Status*(const TensorInfo*, int*)> kElementType{60};
inline constexpr Slot<Status*(const TensorInfo*, size_t*)> kDimensionCount{61};
inline constexpr Slot<Status*(const TensorInfo*, int64_t*, size_t)> kDimensions{62};
inline constexpr Slot<Status*(const TensorInfo*, const char**, size_t)> kDimensionNames{63};
inline constexpr Slot<Status*(const TensorInfo*, size_t*)> kElementCount{64};
inline constexpr Slot<Status*(const Value*, TensorInfo**)> kTypeAndShape{65};
inline constexpr Slot<Status*(int, int, MemoryInfo**)> kCreateCpuMemoryInfo{69};
inline constexpr Slot<Status*(Allocator*, void*)> kAllocatorFree{76};
inline constexpr Slot<Status*(Allocator**)> kDefaultAllocator{78};
inline constexpr Slot<void(Env*)> kReleaseEnv{92};
inline constexpr Slot<void(Status*)> kReleaseStatus{93};
inline constexpr Slot<void(MemoryInfo*)> kReleaseMemoryInfo{94};
inline constexpr Slot<void(Session*)> kReleaseSession{95};
inline constexpr Slot<void(Value*)> kReleaseValue{96};
inline constexpr Slot<void(RunOptions*)> kReleaseRunOptions{97};
inline constexpr Slot<void(TypeInfo*)> kReleaseTypeInfo{98};
inline constexpr Slot<void(TensorInfo*)> kReleaseTensorInfo{99};
inline constexpr Slot<void(SessionOptions*)> kReleaseSessionOptions{100};
inline constexpr Slot<Status*(Name**, int*)> kAvailableProviders{125};
inline constexpr Slot<Status*(Name*, int)> kReleaseProviders{126};
inline constexpr Slot<Status*(SessionOptions*, const char*, const char*)> kAddSessionConfigEntry{130};
inline constexpr Slot<Status*(RunOptions*, const char*, const char*)> kAddRunConfigEntry{165};
inline constexpr Slot<Status*(SessionOptions*, const CudaOptions*)> kAppendCuda{204};
inline constexpr Slot<Status*(CudaOptions**)> kCreateCudaOptions{205};
inline constexpr Slot<Status*(CudaOptions*, const char* const*, const char* const*, size_t)> kUpdateCudaOptions{206};
inline constexpr Slot<void(CudaOptions*)> kReleaseCudaOptions{208};
inline constexpr Slot<Status*(Value*, size_t, size_t, char**)> kSizedText{252};

}  // namespace stint::serve::ort
