#include <pthread.h>

#include <chrono>
#include <condition_variable>
#include <csignal>
#include <mutex>

#include "platform/calls.h"
#include "platform/recording.h"

namespace vigil::platform {
namespace {

constexpr std::uint32_t kAfterFailureMs = 1000;

// Memory may be out; the process whose guests we are goes on.
std::uint32_t TickSafely(const std::function<std::uint32_t()>& tick) noexcept {
  try {
    return tick();
  } catch (...) {
    return kAfterFailureMs;
  }
}

}  // namespace

// Shared with the thread, so that one which does not end in time can be left behind.
struct Worker::State {
  std::mutex mutex;
  std::condition_variable changed;
  bool stop = false;
  bool woken = false;
  const char* name = "";
  bool ended = false;
  bool ends_alone = false;
  bool detached = false;
  std::function<std::uint32_t()> tick;
  pthread_t thread = {};
};

bool Worker::Start(const char* name, std::function<std::uint32_t()> tick, bool ends_alone) {
  auto state = std::make_shared<State>();
  state->ends_alone = ends_alone;
  state->name = name;
  state->tick = std::move(tick);
  auto argument = std::make_unique<std::shared_ptr<State>>(state);
  // Signals are the trainer's: a new thread inherits the mask of the one that makes it.
  sigset_t all;
  sigset_t before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  const bool made = !IsToFail() && ::pthread_create(&state->thread, nullptr, Run, argument.get()) == 0;
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (!made) return false;
  [[maybe_unused]] const auto* const taken = argument.release();  // the thread owns it now
  state_ = std::move(state);
  return true;
}

void* Worker::Run(void* argument) {
  const std::unique_ptr<std::shared_ptr<State>> owned(static_cast<std::shared_ptr<State>*>(argument));
  State& state = **owned;
  ::pthread_setname_np(::pthread_self(), state.name);
  std::unique_lock lock(state.mutex);
  while (!state.stop) {
    state.woken = false;
    lock.unlock();
    const std::uint32_t wait_ms = TickSafely(state.tick);
    lock.lock();
    if (wait_ms == kDone) break;
    state.changed.wait_for(lock, std::chrono::milliseconds(wait_ms), [&] { return state.stop || state.woken; });
  }
  if (state.ends_alone && !state.stop) state.detached = ::pthread_detach(::pthread_self()) == 0;
  state.ended = true;
  state.changed.notify_all();
  return nullptr;
}

void Worker::Wake() {
  if (!state_) return;
  const std::lock_guard lock(state_->mutex);
  state_->woken = true;
  state_->changed.notify_all();
}

bool Worker::Stop(std::uint32_t timeout_ms) {
  if (!state_) return true;
  bool ended = false;
  bool detached = false;
  {
    std::unique_lock lock(state_->mutex);
    state_->stop = true;
    state_->changed.notify_all();
    ended = state_->changed.wait_for(lock, std::chrono::milliseconds(timeout_ms), [&] { return state_->ended; });
    detached = state_->detached;
  }
  if (ended && !detached) ::pthread_join(state_->thread, nullptr);
  if (!ended) ::pthread_detach(state_->thread);
  state_.reset();
  return ended;
}

void Worker::Forget() {
  // The copy of the mutex may be held by a thread that does not exist here: never to be touched again.
  if (state_) static_cast<void>(new std::shared_ptr<State>(std::move(state_)));
  state_.reset();
}

}  // namespace vigil::platform
