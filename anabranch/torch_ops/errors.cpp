#include "anabranch/torch_ops/errors.h"

#include <c10/util/Exception.h>

#include <new>
#include <typeinfo>

namespace anabranch::torch_ops {
namespace {

template <class TorchError>
[[noreturn]] void throw_as(const std::exception& original, const std::string& context) {
  TorchError error({__func__, __FILE__, static_cast<uint32_t>(__LINE__)}, original.what());
  error.add_context(context);
  throw error;
}

}  // namespace

void rethrow(const OperatorError& failure) {
  const std::string& context = failure.context();
  try {
    std::rethrow_exception(failure.failure().error);
  } catch (c10::Error& error) {
    error.add_context(context);
    throw;
  } catch (const std::out_of_range& error) {
    throw_as<c10::IndexError>(error, context);
  } catch (const std::logic_error& error) {  // invalid_argument, domain_error, length_error
    throw_as<c10::ValueError>(error, context);
  } catch (const std::runtime_error& error) {
    throw_as<c10::Error>(error, context);
  }
}

std::string& last_error_context() {
  static thread_local std::string context;
  return context;
}

}  // namespace anabranch::torch_ops
