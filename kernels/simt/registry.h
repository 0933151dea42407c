// Kernels by name. A translation unit's GPUINT_KERNEL lines become Registrar objects, whose
// constructors fill the registry when the unit is loaded; launches look kernels up in it.
#pragma once

namespace gpuint {
struct LaunchBounds;  // abi.cuh, which includes this file first
}  // namespace gpuint

namespace gpuint::simt {

// Runs a kernel with its arguments: `Operands`, or a struct of its own.
using Run = void (*)(const void* arguments, unsigned char* shared);

struct Registrar {
  // `bounds` of each phase.
  Registrar(const char* name, Run run, const LaunchBounds* bounds, u32 phases);
};

}  // namespace gpuint::simt
