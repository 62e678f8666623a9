// Two kinds of mapped memory that free themselves: a file's bytes, read-only, and anonymous zero
// pages that cost nothing until they are touched.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

namespace mxbench {

class MappedMemory {
 public:
  MappedMemory() = default;
  MappedMemory(MappedMemory&& other) noexcept { *this = std::move(other); }
  MappedMemory& operator=(MappedMemory&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  MappedMemory(const MappedMemory&) = delete;
  MappedMemory& operator=(const MappedMemory&) = delete;
  ~MappedMemory();

  // Maps a whole regular file; EngineError FILE names the path and the reason.
  static MappedMemory File(const std::string& path);
  // Zero pages, huge where the kernel likes; EngineError OUT_OF_MEMORY when the address space
  // refuses them.
  static MappedMemory Anonymous(size_t bytes);

  // Gives resident file pages back; they are read again when touched.
  void DropResidentPages() const;

  uint8_t* data() const { return data_; }
  size_t bytes() const { return bytes_; }

 private:
  uint8_t* data_ = nullptr;
  size_t bytes_ = 0;
};

}  // namespace mxbench
