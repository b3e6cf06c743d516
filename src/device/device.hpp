// One GPU that has been opened: what it is, its memory, its stream; kernels of which a thread needs its number alone.
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

// The functions of a module that has been loaded.
class Kernels {
 public:
  explicit Kernels(const void* image);
  Kernels(const Kernels&) = delete;
  Kernels& operator=(const Kernels&) = delete;
  ~Kernels();

  // Null where the module has none of this name.
  Function find(const char* name) const;
  // Must be called before one of them is launched with so much shared memory.
  void allow_shared(const char* name, int shared_bytes) const;
  // Blocks of so many threads that a multiprocessor works on at the same time.
  int resident(const char* name, int threads, std::int64_t shared_bytes) const;

 private:
  Module module_ = nullptr;
};

class Device {
 public:
  explicit Device(int number);
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  // Makes this device the one that the thread's calls are for. Must be called at the start of each piece of work.
  void enter() const;

  Block allocate(std::size_t bytes, const char* what);
  // Makes a block at least as large as that; what was in it is lost.
  void make_room(Block* block, std::size_t bytes, const char* what);
  // Gives blocks that nobody has back to the driver.
  void trim();

  // `from` may be overwritten once this returns, unless it is staging().
  void upload(Pointer to, const void* from, std::size_t bytes);
  // Waits until all is done.
  void download(void* to, Pointer from, std::size_t bytes);
  void wait();
  // Waits after any failure: kernels may still use memory that is about to serve others.
  void wait_after_failure() noexcept;
  // Memory of the host that transfers read faster: kStagingBytes, which may be written anew after wait().
  char* staging() const { return staging_; }
  static constexpr std::size_t kStagingBytes = 1 << 20;

  void launch(Function function, unsigned blocks_x, unsigned blocks_y, unsigned blocks_z, unsigned threads,
              unsigned shared_bytes, const std::vector<char>& arguments);

  // Compiled once for each source, unless many others have come since.
  std::shared_ptr<const Kernels> kernels(const std::string& source);
  // Says that a source will be asked for soon.
  void expect(const std::string& source);
  // Returns the kernels of an image (device/nvrtc.hpp), which is loaded once.
  std::shared_ptr<const Kernels> kernels_of_image(const unsigned char* image);

  // Bytes that nobody uses.
  std::size_t free_memory();
  // Bytes of the device.
  std::size_t memory() const { return memory_; }

  int number() const { return number_; }
  // All work is done in the order in which it was put there.
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
  Pool pool_;                             // blocks that nobody has, by their size
  std::map<Pointer, std::size_t> taken_;  // from the driver, pieces of which are in the pool or in use
  struct Compiled {
    std::shared_ptr<Kernels> kernels;
    long long used;  // when, counted in calls
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

// The device of this number, opened when first asked for.
Device& open(int number);

// Counts the devices.
int count();
// For tests on machines with one: numbers beyond the last count from the first again, and open it once more.
void pretend(int count);

// Tells whether a parent process has opened a device. Contexts do not survive a fork: the child must not touch them.
bool opened_by_parent();
// Notes that a device has been lost: every further call to it would fail.
void lose_gpu();
bool gpu_is_lost();
// Tells whether this process may use devices: no parent process has opened one, and none has been lost.
bool is_usable();

// --- a thread for each number --------------------------------------------------------------------------------------
// Kernels whose threads' work is a function of the thread's number alone: their text, and their launches.

// Kernels of these names, each of which calls the function of that name in one of our headers (kernweave/gpu/) with a
// task of this type and the number of the thread.
std::string text_for_each(const char* header, const char* task, const std::vector<const char*>& names);

// Starts so many threads of a kernel of a text; a task is passed as its bytes.
void launch_for_each(Device* device, const std::string& text, const char* kernel, long long count,
                     const std::vector<char>& task);

// Starts a thread for each number that the task counts.
template <class Task>
void launch_for_each(Device* device, const std::string& text, const char* kernel, const Task& task) {
  launch_for_each(device, text, kernel, task.count, arguments_of(task));
}

}  // namespace device
}  // namespace kernweave
