// How many threads an operator may use: set per operator and per thread, never process-wide.
#pragma once

namespace anabranch::torch_backend {

/// What OpenMP and MKL will use on one thread. MKL's 0 means that it follows OpenMP.
struct ThreadSetting {
  int openmp = 1;
  int mkl = 0;
  bool operator==(const ThreadSetting&) const = default;

  /// What is in force on this thread (what torch.get_num_threads() says here); one thread where
  /// this process was forked from this thread, since OpenMP's threads do not survive that.
  static ThreadSetting current();
};

/// The setting in force on this thread, and a way to change it; at the end of the scope it is again
/// what it was at the beginning. Costs some nanoseconds, and a comparison when the setting is in
/// force already. The first use on a thread runs torch's own start-up there, which would otherwise
/// overwrite the setting later.
class ThreadCount {
 public:
  ThreadCount();
  ~ThreadCount();
  ThreadCount(const ThreadCount&) = delete;
  ThreadCount& operator=(const ThreadCount&) = delete;

  void use(const ThreadSetting& setting);
  /// After code that may have changed the setting itself.
  void look_again();

 private:
  ThreadSetting before_, now_;
};

/// Lets OpenMP's threads sleep soon after an operator, for good and in the whole process, unless
/// the environment says how they shall wait. By default libgomp's threads spin for milliseconds;
/// while a stream uses the core on which they do, both crawl. Does nothing with another OpenMP.
void calm_openmp();

}  // namespace anabranch::torch_backend
