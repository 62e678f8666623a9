// The kernel threads. A job runs the same function on every thread of the team, the caller among
// them (SPMD); inside a job, threads claim numbered pieces of work one by one and meet at barriers.
// Claiming instead of fixed shares keeps a step short when another process takes one of the cores
// for a while. Who computes a piece never changes its result.
#pragma once

#include <atomic>
#include <functional>
#include <thread>
#include <vector>

namespace mxbench {

class Team {
 public:
  // `threads` >= 1, the calling thread included; the others are named kernel-1, kernel-2, ...
  explicit Team(int threads);
  ~Team();
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  int size() const { return size_; }

  // Runs body(thread) on all threads with denormals flushed and returns when all have returned.
  // body must not throw.
  void Run(const std::function<void(int thread)>& body);

  // The next unclaimed piece of the current phase, from 0. Only inside Run().
  int Claim() { return next_piece_.fetch_add(1, std::memory_order_relaxed); }

  // Waits for all threads and starts a new phase of claims. Only inside Run().
  void Barrier();

 private:
  void Work(int thread);

  const int size_;
  std::vector<std::thread> workers_;
  const std::function<void(int)>* body_ = nullptr;
  bool stopping_ = false;
  // Each on its own cache line: they are written by different threads all the time.
  alignas(64) std::atomic<int> job_{0};
  alignas(64) std::atomic<int> next_piece_{0};
  alignas(64) std::atomic<int> arrived_{0};
  alignas(64) std::atomic<int> phase_{0};
};

}  // namespace mxbench
