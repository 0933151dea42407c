// Kernels by name. A translation unit's GPUINT_KERNEL lines become Registrar objects, whose
// constructors fill the registry when the unit is loaded; launches look kernels up in it.
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
