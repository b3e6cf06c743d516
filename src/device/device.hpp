// An open GPU: its properties, memory and stream; kernels in which each thread needs only its number.
#pragma once
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <vector>
#include "device/driver.hpp"

namespace kernweave {
namespace device {

class Device;

// Memory of the device, given back to its pool at the end.
class Block {
 public:
  Block() = default;
  Block(Device* device, Pointer at, std::size_t bytes) : device_(device), at_(at), bytes_(bytes) {}
  Block(Block&& other) noexcept { swap(other); }
  Block& operator=(Block&& other) noexcept {
    swap(other);
    return *this;
  }
  ~Block();

  Pointer at() const { return at_; }
  std::size_t bytes() const { return bytes_; }
  explicit operator bool() const { return at_ != 0; }

 private:
  void swap(Block& other) {
    std::swap(device_, other.device_);
    std::swap(at_, other.at_);
    std::swap(bytes_, other.bytes_);
  }
  Device* device_ = nullptr;
  Pointer at_ = 0;
  std::size_t bytes_ = 0;
};

// The functions of a loaded module.
class Kernels {
 public:
  explicit Kernels(const void* image);
  Kernels(const Kernels&) = delete;
  Kernels& operator=(const Kernels&) = delete;
  ~Kernels();

  // Returns null if the module has no function of this name.
  Function find(const char* name) const;
  // Must be called before a function is launched with so much shared memory.
  void allow_shared(const char* name, int shared_bytes) const;
  // Returns the number of blocks of so many threads that a multiprocessor runs at the same time.
  int resident(const char* name, int threads, std::int64_t shared_bytes) const;

 private:
  Module module_ = nullptr;
};

class Device {
 public:
  explicit Device(int number);
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  // Makes this device current for the thread. Must be called at the start of each piece of work.
  void enter() const;

  Block allocate(std::size_t bytes, const char* what);
  // Makes the block at least `bytes` large; its old content is lost.
  void make_room(Block* block, std::size_t bytes, const char* what);
  // Gives unused blocks back to the driver.
  void trim();

  // `from` may be overwritten after the call, unless it is staging().
  void upload(Pointer to, const void* from, std::size_t bytes);
  // Waits until all work is done.
  void download(void* to, Pointer from, std::size_t bytes);
  void wait();
  // Waits after any failure: kernels may still use memory that is about to serve others.
  void wait_after_failure() noexcept;
  // Returns host memory with fast transfers, of kStagingBytes; it may be overwritten after wait().
  char* staging() const { return staging_; }
  static constexpr std::size_t kStagingBytes = 1 << 20;

  void launch(Function function, unsigned blocks_x, unsigned blocks_y, unsigned blocks_z, unsigned threads,
              unsigned shared_bytes, const std::vector<char>& arguments);

  // Returns the kernels of a source. A source is compiled once, unless many others were compiled since.
  std::shared_ptr<const Kernels> kernels(const std::string& source);
  // Announces that a source will be needed soon.
  void expect(const std::string& source);
  // Returns the kernels of an image (device/nvrtc.hpp), which is loaded once.
  std::shared_ptr<const Kernels> kernels_of_image(const unsigned char* image);

  // Returns the bytes of free memory of the device.
  std::size_t free_memory();
  // Returns the bytes of all memory of the device.
  std::size_t memory() const { return memory_; }

  int number() const { return number_; }
  // The stream, in which work is done in the order of submission.
  Stream stream() const { return stream_; }
  int capability() const { return capability_; }
  int processors() const { return processors_; }

 private:
  friend class Block;
  using Pool = std::multimap<std::size_t, Pointer>;
  Pool::iterator take(std::size_t size, const char* what);
  void give_back(Pointer at, std::size_t bytes) noexcept;

  int number_, capability_ = 0, processors_ = 0;
  Context context_ = nullptr;
  Stream stream_ = nullptr;
  std::size_t memory_ = 0;
  char* staging_ = nullptr;
  Pool pool_;                             // unused blocks by their size
  std::map<Pointer, std::size_t> taken_;  // allocations of the driver, of which pieces are in the pool or in use
  struct Compiled {
    std::shared_ptr<Kernels> kernels;
    long long used;  // the time of the last use, counted in calls
  };
  std::map<std::string, Compiled> kernels_;
  std::map<const unsigned char*, std::shared_ptr<Kernels>> images_;
  long long calls_ = 0;
};

// Returns the bytes of a kernel's one argument.
template <class Argument>
std::vector<char> arguments_of(const Argument& argument) {
  std::vector<char> bytes(sizeof argument);
  std::memcpy(bytes.data(), &argument, sizeof argument);
  return bytes;
}

// Returns the device of this number, and opens it at the first call.
Device& open(int number);

// Counts the devices.
int count();
// For tests on machines with one device: numbers beyond the last wrap around, and open the same device once more.
void pretend(int count);

// Tells whether a parent process has opened a device. Contexts do not survive a fork: the child must not touch them.
bool opened_by_parent();
// Notes that a device has been lost: every further call to it would fail.
void lose_gpu();
bool gpu_is_lost();
// Tells whether this process may use devices: no parent process has opened one, and none has been lost.
bool is_usable();

// --- a thread for each number --------------------------------------------------------------------------------------
// Kernels in which a thread's work is a function of the thread's number alone: their source and their launches.

// Returns the source of kernels of these names. Each kernel calls the function of its name in one of our headers
// (kernweave/gpu/) with a task of this type and the number of the thread.
std::string text_for_each(const char* header, const char* task, const std::vector<const char*>& names);

// Launches so many threads of a kernel of this source; a task is passed as its bytes.
void launch_for_each(Device* device, const std::string& text, const char* kernel, long long count,
                     const std::vector<char>& task);

// Launches one thread for each of the `count` numbers of the task.
template <class Task>
void launch_for_each(Device* device, const std::string& text, const char* kernel, const Task& task) {
  launch_for_each(device, text, kernel, task.count, arguments_of(task));
}

}  // namespace device
}  // namespace kernweave
