// The arithmetic kernel, as PTX that the driver compiles for the GPU it finds (Maxwell or later).
//
// Each thread keeps eight independent sums, so that the latency of a multiply-add hides behind the seven others, and
// goes through 64 of them per round. x ← x/2 + 1 stays near 2: no infinities, no denormal numbers. The sums are written,
// so that nothing can be left out. Source: NVIDIA PTX ISA, version 6.0.
#pragma once

#include <string>

#include <fmt/format.h>

namespace stint {

inline constexpr int kMultiplyAddsPerRound = 64;
inline constexpr const char* kMultiplyAddName = "stint_multiply_add";

/// Entry stint_multiply_add(.u64 sums, .u32 rounds): one float per thread at `sums`; rounds above 0.
inline std::string multiply_add_ptx() {
  std::string start, body, sum;
  for (int i = 0; i < 8; ++i)
    start += fmt::format("add.u32 %r5, %r4, {0};\ncvt.rn.f32.u32 %f{0}, %r5;\n", i);
  for (int i = 0; i < kMultiplyAddsPerRound; ++i)
    body += fmt::format("fma.rn.f32 %f{0}, %f{0}, %f8, %f9;\n", i % 8);
  for (int i = 1; i < 8; ++i)
    sum += fmt::format("add.f32 %f0, %f0, %f{};\n", i);
  return ".version 6.0\n.target sm_50\n.address_size 64\n"
         ".visible .entry stint_multiply_add(.param .u64 sums_param, .param .u32 rounds_param)\n{\n"
         ".reg .pred %p<2>;\n.reg .f32 %f<10>;\n.reg .u32 %r<6>;\n.reg .u64 %d<4>;\n"
         "ld.param.u64 %d0, [sums_param];\nld.param.u32 %r0, [rounds_param];\n"
         "mov.u32 %r1, %ctaid.x;\nmov.u32 %r2, %ntid.x;\nmov.u32 %r3, %tid.x;\nmad.lo.u32 %r4, %r1, %r2, %r3;\n"
         "mov.f32 %f8, 0f3F000000;\nmov.f32 %f9, 0f3F800000;\n" +
         start + "again:\n" + body + "sub.u32 %r0, %r0, 1;\nsetp.ne.u32 %p0, %r0, 0;\n@%p0 bra again;\n" + sum +
         "cvta.to.global.u64 %d1, %d0;\nmul.wide.u32 %d2, %r4, 4;\nadd.u64 %d3, %d1, %d2;\nst.global.f32 [%d3], %f0;\nret;\n}\n";
}

}  // namespace stint
