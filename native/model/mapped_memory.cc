#include "model/mapped_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "model/engine_error.h"

namespace mxbench {

MappedMemory::~MappedMemory() {
  if (data_ != nullptr) munmap(data_, bytes_);
}

MappedMemory MappedMemory::File(const std::string& path) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0)
    throw EngineError("FILE", "Cannot open " + path + ": " + std::strerror(errno) + ".");
  struct stat status {};
  MappedMemory memory;
  void* data = MAP_FAILED;
  if (fstat(file, &status) == 0 && S_ISREG(status.st_mode) && status.st_size > 0) {
    data = mmap(nullptr, static_cast<size_t>(status.st_size), PROT_READ, MAP_PRIVATE, file, 0);
  }
  close(file);
  if (data == MAP_FAILED)
    throw EngineError("FILE", "Cannot map " + path + ": not a readable file.");
  memory.data_ = static_cast<uint8_t*>(data);
  memory.bytes_ = static_cast<size_t>(status.st_size);
  return memory;
}

MappedMemory MappedMemory::Anonymous(size_t bytes) {
  MappedMemory memory;
  if (bytes == 0) return memory;
  void* data = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (data == MAP_FAILED) {
    throw EngineError("OUT_OF_MEMORY",
                      "The system refused " + std::to_string(bytes) + " bytes of memory.");
  }
  madvise(data, bytes, MADV_HUGEPAGE);
  memory.data_ = static_cast<uint8_t*>(data);
  memory.bytes_ = bytes;
  return memory;
}

void MappedMemory::DropResidentPages() const {
  if (data_ != nullptr) madvise(data_, bytes_, MADV_DONTNEED);
}

}  // namespace mxbench
