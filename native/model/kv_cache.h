// Paged keys and values of all layers: blocks of 16 token slots, which the scheduler hands to
// sequences by number.
#pragma once

#include "kernels/kernels.h"
#include "model/mapped_memory.h"
#include "model/options.h"

namespace mxbench {

class KvCache {
 public:
  KvCache(const ModelShape& shape, KvFormat format, int blocks)
      : format_(format),
        blocks_(blocks),
        heads_(shape.kv_heads),
        head_bytes_(KvHeadBytes(format, shape.head_width)),
        block_bytes_(head_bytes_ * static_cast<size_t>(shape.kv_heads) *
                     static_cast<size_t>(shape.layers)),
        memory_(MappedMemory::Anonymous(block_bytes_ * static_cast<size_t>(blocks))) {}

  // One head's part of a block: K, then V (kernels.h). Layer by layer, since a step walks one layer
  // at a time.
  uint8_t* HeadBlock(int layer, int block, int head) const {
    const size_t index =
        (static_cast<size_t>(layer) * static_cast<size_t>(blocks_) + static_cast<size_t>(block)) *
            static_cast<size_t>(heads_) +
        static_cast<size_t>(head);
    return memory_.data() + index * head_bytes_;
  }

  KvFormat format() const { return format_; }
  int blocks() const { return blocks_; }
  // Of one block over all layers.
  size_t block_bytes() const { return block_bytes_; }

 private:
  KvFormat format_;
  int blocks_;
  int heads_;
  size_t head_bytes_;
  size_t block_bytes_;
  MappedMemory memory_;
};

}  // namespace mxbench
