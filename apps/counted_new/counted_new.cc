// The operator new of our programs: counts what each thread takes against the budget it works under.
#include <malloc.h>

#include <cstdlib>
#include <new>

#include "platform/memory_budget.h"

namespace {

// By what the allocator gave, not by what was asked for: only that is known when it is given back.
void* Counted(void* memory) noexcept {
  if (memory == nullptr) return nullptr;
  if (vigil::platform::TakeMemory(static_cast<std::int64_t>(::malloc_usable_size(memory)))) return memory;
  std::free(memory);
  return nullptr;
}

void* Allocate(std::size_t size) noexcept { return Counted(std::malloc(size == 0 ? 1 : size)); }

void* Allocate(std::size_t size, std::align_val_t alignment) noexcept {
  const auto align = static_cast<std::size_t>(alignment);
  void* memory = nullptr;
  const std::size_t least = align < sizeof(void*) ? sizeof(void*) : align;
  return ::posix_memalign(&memory, least, size == 0 ? 1 : size) == 0 ? Counted(memory) : nullptr;
}

void* OrThrow(void* memory) {
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

void Free(void* memory) noexcept {
  if (memory == nullptr) return;
  vigil::platform::GiveMemoryBack(static_cast<std::int64_t>(::malloc_usable_size(memory)));
  std::free(memory);
}

}  // namespace

void* operator new(std::size_t size) { return OrThrow(Allocate(size)); }
void* operator new[](std::size_t size) { return OrThrow(Allocate(size)); }
void* operator new(std::size_t size, const std::nothrow_t&) noexcept { return Allocate(size); }
void* operator new[](std::size_t size, const std::nothrow_t&) noexcept { return Allocate(size); }
void* operator new(std::size_t size, std::align_val_t alignment) { return OrThrow(Allocate(size, alignment)); }
void* operator new[](std::size_t size, std::align_val_t alignment) { return OrThrow(Allocate(size, alignment)); }
void* operator new(std::size_t size, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  return Allocate(size, alignment);
}
void* operator new[](std::size_t size, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  return Allocate(size, alignment);
}
void operator delete(void* memory) noexcept { Free(memory); }
void operator delete[](void* memory) noexcept { Free(memory); }
void operator delete(void* memory, std::size_t) noexcept { Free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { Free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { Free(memory); }
void operator delete[](void* memory, std::align_val_t) noexcept { Free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { Free(memory); }
void operator delete[](void* memory, std::size_t, std::align_val_t) noexcept { Free(memory); }
void operator delete(void* memory, const std::nothrow_t&) noexcept { Free(memory); }
void operator delete[](void* memory, const std::nothrow_t&) noexcept { Free(memory); }
