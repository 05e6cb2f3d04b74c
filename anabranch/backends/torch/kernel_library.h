// Kernels that were compiled for one program, called by symbol.
#pragma once

#include <string>

namespace anabranch::torch_backend {

/// A loaded shared library. It stays loaded until the process ends, since threads of its kernels'
/// OpenMP regions may outlive any program. Thread-safe.
class KernelLibrary {
 public:
  /// Gets the addresses of the operands, then those of the results.
  using Function = void (*)(void* const* memory);

  /// An empty path: a library without symbols. Throws Error ("kernel-library").
  explicit KernelLibrary(const std::string& path);
  /// Throws Error ("kernel-library") when there is no such symbol.
  Function find(const std::string& symbol) const;

 private:
  std::string path_;
  void* handle_ = nullptr;
};

}  // namespace anabranch::torch_backend
