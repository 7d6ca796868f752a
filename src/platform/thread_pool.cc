#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "platform/process.h"

namespace vigil::platform {
namespace {

// Work comes in bursts of a few microseconds: a thread that looks this often before it sleeps is seldom woken by the
// system, and costs little when the burst is over.
constexpr int kLooksBeforeSleep = 4000;

}  // namespace

struct ThreadPool::State {
  std::mutex mutex;
  std::condition_variable changed;
  std::atomic<std::uint64_t> round = 0;  // one more for each Run
  std::atomic<int> busy = 0;             // threads that have not finished the round
  std::atomic<std::size_t> next = 0;     // piece to be taken
  std::atomic<bool> stop = false;
  std::size_t count = 0;
  const std::function<void(std::size_t)>* piece = nullptr;
  std::vector<std::jthread> threads;  // last: joined before the rest goes

  void TakePieces() {
    for (std::size_t i = next.fetch_add(1); i < count; i = next.fetch_add(1)) (*piece)(i);
  }

  void WaitForRound(std::uint64_t seen) {
    for (int look = 0; look < kLooksBeforeSleep; ++look) {
      if (round.load() != seen || stop.load()) return;
    }
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return round.load() != seen || stop.load(); });
  }

  void Serve() {
    for (std::uint64_t seen = 0;; ++seen) {
      WaitForRound(seen);
      if (stop.load()) return;
      TakePieces();
      busy.fetch_sub(1);
    }
  }
};

ThreadPool::ThreadPool(int threads) : state_(std::make_unique<State>()) {
  for (int i = 1; i < threads; ++i) state_->threads.emplace_back([state = state_.get()] { state->Serve(); });
}

ThreadPool::~ThreadPool() {
  {
    const std::lock_guard lock(state_->mutex);
    state_->stop.store(true);
  }
  state_->changed.notify_all();
}

int ThreadPool::threads() const { return static_cast<int>(state_->threads.size()) + 1; }

void ThreadPool::Run(std::size_t count, const std::function<void(std::size_t)>& piece) {
  if (state_->threads.empty() || count < 2) {
    for (std::size_t i = 0; i < count; ++i) piece(i);
    return;
  }
  state_->count = count;
  state_->piece = &piece;
  state_->next.store(0);
  state_->busy.store(static_cast<int>(state_->threads.size()));
  {
    const std::lock_guard lock(state_->mutex);
    state_->round.fetch_add(1);
  }
  state_->changed.notify_all();
  state_->TakePieces();
  for (int look = 0; state_->busy.load() != 0; ++look) {
    if (look > kLooksBeforeSleep) std::this_thread::yield();
  }
}

}  // namespace vigil::platform
