// The part of the CUDA driver's and cuBLAS's C ABI that Stint calls; shared by the loader and the tests' stand-in library.
// Source: NVIDIA CUDA Driver API and cuBLAS reference manuals. A suffix _v2 is part of the exported name.
#pragma once

#include <cstddef>

extern "C" {

typedef int CudaStatus;
typedef int CudaDevice;
typedef unsigned long long CudaAddress;
typedef struct CudaContextObject* CudaContext;
typedef struct CudaModuleObject* CudaModule;
typedef struct CudaFunctionObject* CudaFunction;
typedef struct CudaStreamObject* CudaStream;
typedef struct CudaEventObject* CudaEvent;
typedef struct CublasObject* CublasHandle;

enum { kCudaSuccess = 0, kCudaOutOfMemory = 2, kCudaNoDevice = 100 };
enum { kCudaMultiprocessorCount = 16, kCudaComputeCapabilityMajor = 75 };            // CUdevice_attribute
enum { kCublasReal32 = 0, kCublasReal16 = 2, kCublasBrain16 = 14 };                  // cudaDataType
enum { kCublasCompute32 = 68, kCublasCompute32FastTf32 = 77, kCublasDefault = -1 };  // cublasComputeType_t, cublasGemmAlgo_t

typedef int (*CublasGemm)(CublasHandle, int transpose_a, int transpose_b, int m, int n, int k, const void* alpha, const void* a,
                          int a_type, int lda, const void* b, int b_type, int ldb, const void* beta, void* c, int c_type, int ldc,
                          int compute, int algorithm);

}  // extern "C"
