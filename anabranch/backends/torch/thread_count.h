// How many threads an operator may use: set per operator and per thread, never process-wide.
#pragma once

namespace anabranch::torch_backend {

/// What OpenMP and MKL will use on one thread. MKL's 0 means that it follows OpenMP.
struct ThreadSetting {
  int openmp = 1;
  int mkl = 0;

  /// What is in force on this thread (what torch.get_num_threads() says here); one thread where
  /// this process was forked from this thread, since OpenMP's threads do not survive that.
  static ThreadSetting current();
};

/// Puts a setting in force on this thread until the end of the scope. Costs some nanoseconds, and
/// nothing when it is in force already. The first use on a thread runs torch's own start-up there,
/// which would otherwise overwrite the setting later.
class ThreadCount {
 public:
  explicit ThreadCount(const ThreadSetting& setting);
  ~ThreadCount();
  ThreadCount(const ThreadCount&) = delete;
  ThreadCount& operator=(const ThreadCount&) = delete;

 private:
  ThreadSetting before_;
  bool changed_openmp_;
  bool changed_mkl_;
};

}  // namespace anabranch::torch_backend
