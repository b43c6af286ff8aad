// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A file: magic, hash of the rest, size of the IR, size of the schedule, IR,
// schedule, object.
#include "lib/Target/KernelCache.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/BLAKE3.h"
#include "llvm/Support/Chrono.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"
#include <list>
#include <mutex>

using namespace kvern;
using llvm::StringRef;

static constexpr StringRef kMagic = "KVERNKR2";
static constexpr size_t kHashSize = 32;
static constexpr size_t kSizesSize = 16;
static constexpr size_t kHeaderSize = 8 + kHashSize + kSizesSize;
static constexpr uint64_t kMaxMemory = uint64_t(256) << 20;

std::string kvern::getKernelKey(llvm::ArrayRef<StringRef> facts) {
  llvm::BLAKE3 hasher;
  for (StringRef fact : facts) {
    uint8_t size[8];
    llvm::support::endian::write64le(size, fact.size());
    hasher.update(llvm::ArrayRef<uint8_t>(size));
    hasher.update(fact);
  }
  auto hash = hasher.final<kHashSize>();
  return llvm::toHex(hash, /*LowerCase=*/true);
}

static std::string hashOf(StringRef bytes) {
  llvm::BLAKE3 hasher;
  hasher.update(bytes);
  auto hash = hasher.final<kHashSize>();
  return std::string(hash.begin(), hash.end());
}

static std::string getPath(StringRef folder, StringRef key) {
  llvm::SmallString<128> path(folder);
  llvm::sys::path::append(path, key.take_front(2), key + ".kvernkernel");
  return path.str().str();
}

/// Null when there is no valid file.
static std::shared_ptr<const CompiledKernel> readFile(const std::string &path) {
  auto buffer = llvm::MemoryBuffer::getFile(path, /*IsText=*/false,
                                            /*RequiresNullTerminator=*/false);
  if (!buffer) {
    return nullptr;
  }
  StringRef bytes = (*buffer)->getBuffer();
  if (bytes.size() < kHeaderSize || !bytes.starts_with(kMagic)) {
    return nullptr;
  }
  StringRef hash = bytes.substr(kMagic.size(), kHashSize);
  StringRef rest = bytes.drop_front(kMagic.size() + kHashSize);
  if (hashOf(rest) != hash) {
    return nullptr;
  }
  uint64_t irSize = llvm::support::endian::read64le(rest.data());
  uint64_t scheduleSize = llvm::support::endian::read64le(rest.data() + 8);
  rest = rest.drop_front(kSizesSize);
  if (irSize > rest.size() || scheduleSize > rest.size() - irSize) {
    return nullptr;
  }
  auto kernel = std::make_shared<CompiledKernel>();
  kernel->scratch = rest.take_front(irSize).str();
  kernel->schedule = rest.substr(irSize, scheduleSize).str();
  kernel->object = rest.drop_front(irSize + scheduleSize).str();
  return kernel;
}

/// For whoever trims the folder: what was used last stays. Once a minute is
/// enough.
static void touch(const std::string &path) {
  int file;
  if (llvm::sys::fs::openFileForWrite(path, file,
                                      llvm::sys::fs::CD_OpenExisting)) {
    return;
  }
  llvm::sys::fs::file_status status;
  auto now = std::chrono::system_clock::now();
  if (!llvm::sys::fs::status(file, status) &&
      now - status.getLastModificationTime() > std::chrono::minutes(1)) {
    (void)llvm::sys::fs::setLastAccessAndModificationTime(file, now);
  }
  llvm::sys::fs::file_t handle = file;
  (void)llvm::sys::fs::closeFile(handle);
}

static void writeFile(const std::string &path, const CompiledKernel &kernel) {
  std::string rest(kSizesSize, '\0');
  llvm::support::endian::write64le(rest.data(), kernel.scratch.size());
  llvm::support::endian::write64le(rest.data() + 8, kernel.schedule.size());
  rest += kernel.scratch;
  rest += kernel.schedule;
  rest += kernel.object;
  if (llvm::sys::fs::create_directories(llvm::sys::path::parent_path(path))) {
    return;
  }
  auto file = llvm::sys::fs::TempFile::create(
      llvm::sys::path::parent_path(path) + "/.%%%%%%%%%%%%.tmp",
      llvm::sys::fs::all_read | llvm::sys::fs::owner_write);
  if (!file) {
    llvm::consumeError(file.takeError());
    return;
  }
  bool failed;
  {
    llvm::raw_fd_ostream os(file->FD, /*shouldClose=*/false);
    os << kMagic << hashOf(rest) << rest;
    os.flush();
    failed = os.has_error();
    os.clear_error();
  }
  llvm::consumeError(failed ? file->discard() : file->keep(path));
}

/// The table, and its keys from the one used last to the first.
struct KernelCache::Table {
  struct Entry {
    std::shared_ptr<const CompiledKernel> kernel;
    std::list<std::string>::iterator position;
  };

  std::shared_ptr<const CompiledKernel> find(StringRef key) {
    std::lock_guard<std::mutex> lock(mutex);
    auto it = entries.find(key);
    if (it == entries.end()) {
      return nullptr;
    }
    order.splice(order.begin(), order, it->second.position);
    return it->second.kernel;
  }

  void insert(StringRef key, std::shared_ptr<const CompiledKernel> kernel) {
    std::lock_guard<std::mutex> lock(mutex);
    if (entries.contains(key)) {
      return;
    }
    order.push_front(key.str());
    bytes += getSize(*kernel);
    entries[key] = {std::move(kernel), order.begin()};
    while (bytes > kMaxMemory && order.size() > 1) {
      auto last = entries.find(order.back());
      bytes -= getSize(*last->second.kernel);
      entries.erase(last);
      order.pop_back();
    }
  }

  void clear() {
    std::lock_guard<std::mutex> lock(mutex);
    entries.clear();
    order.clear();
    bytes = 0;
  }

private:
  static uint64_t getSize(const CompiledKernel &kernel) {
    return kernel.object.size() + kernel.scratch.size() +
           kernel.schedule.size();
  }

  std::mutex mutex;
  llvm::StringMap<Entry> entries;
  std::list<std::string> order;
  uint64_t bytes = 0;
};

KernelCache::KernelCache() : table(std::make_unique<Table>()) {}

KernelCache &KernelCache::get() {
  // Never destroyed: threads may outlive static destructors.
  static auto *cache = new KernelCache();
  return *cache;
}

std::shared_ptr<const CompiledKernel>
KernelCache::lookup(StringRef key, StringRef folder, bool &fromDisk) {
  fromDisk = false;
  if (auto kernel = table->find(key)) {
    return kernel;
  }
  if (folder.empty()) {
    return nullptr;
  }
  std::string path = getPath(folder, key);
  auto kernel = readFile(path);
  if (kernel) {
    fromDisk = true;
    touch(path);
    table->insert(key, kernel);
  }
  return kernel;
}

void KernelCache::store(StringRef key, StringRef folder,
                        std::shared_ptr<const CompiledKernel> kernel) {
  if (!folder.empty()) {
    writeFile(getPath(folder, key), *kernel);
  }
  table->insert(key, std::move(kernel));
}

void KernelCache::clear() { table->clear(); }
