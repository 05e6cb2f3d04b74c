#include "anabranch/backends/torch/kernel_library.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include "anabranch/base/diagnostic.h"

namespace anabranch::torch_backend {
namespace {

constexpr const char* kFix = "delete the folder of compiled kernels, which is made again";

std::string last_problem() {
  const char* text = dlerror();
  return text ? text : "no reason given";
}

}  // namespace

KernelLibrary::KernelLibrary(const std::string& path) : path_(path) {
  if (path.empty()) return;
  handle_ = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle_)
    throw Error("kernel-library", fmt::format("{} cannot be loaded: {}", path, last_problem()),
                kFix);
}

KernelLibrary::Function KernelLibrary::find(const std::string& symbol) const {
  void* found = handle_ ? dlsym(handle_, symbol.c_str()) : nullptr;
  if (!found)
    throw Error("kernel-library", fmt::format("{} has no kernel {}", path_, symbol), kFix);
  return reinterpret_cast<Function>(found);
}

}  // namespace anabranch::torch_backend
