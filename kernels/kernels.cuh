// Everything a generated translation unit needs.
#pragma once
#include "add.cuh"
#include "bits.cuh"
#include "compare.cuh"
#include "div_tensor.cuh"
#include "karatsuba.cuh"
#include "mul.cuh"
#include "shift.cuh"
#include "shinv.cuh"
#include "tensor.cuh"
