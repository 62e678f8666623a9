#include "model/team.h"

#include <pthread.h>

#include <string>

#include "kernels/kernels.h"

#if defined(__SSE2__)
#include <immintrin.h>
#endif

namespace mxbench {
namespace {

// About ten microseconds: longer than a barrier between threads that run, shorter than what a
// thread that lost its core would waste of the core that the other one needs.
constexpr int kSpins = 300;

void Relax() {
#if defined(__SSE2__)
  _mm_pause();
#endif
}

void WaitWhile(const std::atomic<int>& value, int old) {
  for (int i = 0; i < kSpins; i++) {
    if (value.load(std::memory_order_acquire) != old) return;
    Relax();
  }
  value.wait(old, std::memory_order_acquire);
}

// Kernels flush denormals; JavaScript, which shares the calling thread, must not.
class FlushedDenormals {
 public:
#if defined(__SSE2__)
  FlushedDenormals() : saved_(_mm_getcsr()) { FlushDenormals(); }
  ~FlushedDenormals() { _mm_setcsr(saved_); }

 private:
  unsigned saved_;
#else
  FlushedDenormals() { FlushDenormals(); }
#endif
};

}  // namespace

Team::Team(int threads) : size_(threads) {
  for (int thread = 1; thread < size_; thread++) {
    workers_.emplace_back([this, thread] { Work(thread); });
    pthread_setname_np(workers_.back().native_handle(),
                       ("kernel-" + std::to_string(thread)).c_str());
  }
}

Team::~Team() {
  stopping_ = true;
  job_.fetch_add(1);
  job_.notify_all();
  for (std::thread& worker : workers_) worker.join();
}

void Team::Work(int thread) {
  FlushDenormals();
  int job = 0;
  while (true) {
    WaitWhile(job_, job);
    job++;
    if (stopping_) return;
    (*body_)(thread);
    Barrier();
  }
}

void Team::Run(const std::function<void(int)>& body) {
  const FlushedDenormals flushed;
  body_ = &body;
  // A read-modify-write, not a store: it must be visible before notify looks for sleepers.
  job_.fetch_add(1);
  job_.notify_all();
  body(0);
  Barrier();
}

void Team::Barrier() {
  const int phase = phase_.load(std::memory_order_relaxed);
  if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 < size_) {
    WaitWhile(phase_, phase);
    return;
  }
  arrived_.store(0, std::memory_order_relaxed);
  next_piece_.store(0, std::memory_order_relaxed);
  phase_.fetch_add(1);
  phase_.notify_all();
}

}  // namespace mxbench
