// Kernels by name. A translation unit's GPUINT_KERNEL lines become Registrar objects, whose
// constructors fill the registry before main; launches look kernels up in it.
//
// No code refers to these objects by name, so a linker drops them from a static library: link the
// library with the generated kernels with `+whole-archive`.
#pragma once

namespace gpuint {
struct Operands;  // abi.cuh, which includes this file first
struct Facts;
}  // namespace gpuint

namespace gpuint::simt {

using Run = void (*)(const Operands&, unsigned char* shared);

struct Registrar {
  // `facts` of each phase.
  Registrar(const char* name, Run run, const Facts* facts, u32 phases);
};

}  // namespace gpuint::simt
