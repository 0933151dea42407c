// Kernels by name. A translation unit's GPUINT_KERNEL lines become Registrar objects, whose
// constructors fill the registry before main; launches look kernels up in it.
//
// Nothing refers to those objects by name, so a linker takes none of them out of a static library
// by itself: link the library that holds the generated kernels with `+whole-archive`.
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
