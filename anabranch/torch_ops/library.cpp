// Registers the class and the operators that Python uses: loaded with torch.ops.load_library.
#include <torch/library.h>

#include "anabranch/backends/cpu/worker_pool.h"
#include "anabranch/torch_ops/door.h"
#include "anabranch/torch_ops/errors.h"
#include "anabranch/torch_ops/plan_class.h"
#include "anabranch/torch_ops/program_class.h"
#include "anabranch/torch_ops/session.h"
#include "anabranch/trace/trace.h"

namespace anabranch::torch_ops {

TORCH_LIBRARY(anabranch, m) {
  m.class_<ProgramClass>("Program")
      .def(torch::init<std::string, std::string, std::vector<at::Tensor>>())
      .def("run", &ProgramClass::run)
      .def("dump", &ProgramClass::dump)
      .def("text", &ProgramClass::text)
      .def("report", &ProgramClass::report)
      .def("diagnostics", &ProgramClass::diagnostics)
      .def("tuning", &ProgramClass::tuning)
      .def("last_error_context",
           [](const c10::intrusive_ptr<ProgramClass>&) { return last_error_context(); });
  m.class_<PlanClass>("Plan")
      .def(torch::init<std::string, std::string, std::vector<at::Tensor>, std::vector<std::string>,
                       std::vector<std::string>, std::vector<std::string>>())
      .def("regions", &PlanClass::regions)
      .def("finish", &PlanClass::finish);
  m.def("trace_begin() -> ()", [] { TraceSession::instance().begin(); });
  m.def("trace_end() -> ()", [] { TraceSession::instance().end(); });
  m.def("trace_json() -> str",
        [] { return trace::chrome_json(TraceSession::instance().timeline()); });
  m.def("trace_html() -> str", [] { return trace::html(TraceSession::instance().timeline()); });
  m.def("set_adversary(int seed) -> ()", [](int64_t seed) { set_adversary(seed); });
  m.def("close_door(int known) -> bool",
        [](int64_t known) { return Door::instance().close(known); });
  m.def("worker_count() -> int",
        [] { return static_cast<int64_t>(WorkerPool::instance().started()); });
}

}  // namespace anabranch::torch_ops
