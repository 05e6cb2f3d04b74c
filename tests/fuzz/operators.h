// The reference kernels and what random programs need beside them:
//
//   fuzz.cond(p, a, b, …) body … body …   the first body if p's first element is odd, else the
//   other fuzz.loop(a, b, …) body …             the body, 1 to 3 times by a's first element; last
//   results fuzz.item(a, "u0") : int(u0)          gives the symbol a small number read from `a`
//   fuzz.start(a)                         first half of an asynchronous copy: only makes the result
//   fuzz.finish(h) writes(h) reads(a)     second half: now copies `a`
#pragma once

#include "anabranch/backends/cpu/reference_kernels.h"

namespace anabranch::fuzz {

ReferenceKernels kernels();

}  // namespace anabranch::fuzz
