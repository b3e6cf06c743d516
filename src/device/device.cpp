// Opens devices, pools their memory, keeps their kernels.
#include "device/device.hpp"

#include <algorithm>
#include <atomic>
#include <sstream>

#include "base/error.hpp"
#include "base/system.hpp"
#include "device/nvrtc.hpp"

namespace kernweave {
namespace device {
namespace {

// Rounds up to one of few sizes, which waste at most an eighth, so that a block that was given back can serve again.
std::size_t rounded(std::size_t bytes) {
  std::size_t step = 256;
  while (step * 16 <= bytes) step *= 2;
  return (bytes + step - 1) / step * step;
}

long owner = 0;  // the process that opened the first device
std::atomic<bool> is_lost{false};
int pretended = 0;

}  // namespace

Block::~Block() {
  if (at_) device_->give_back(at_, bytes_);
}

Kernels::Kernels(const void* image) { check(driver().cuModuleLoadData(&module_, image), "loading kernels"); }

void Kernels::allow_shared(const char* name, int shared_bytes) const {
  constexpr int kWithoutAsking = 49152;
  if (shared_bytes > kWithoutAsking)
    check(driver().cuFuncSetAttribute(find(name), kDynamicShared, shared_bytes), "asking for shared memory");
}

int Kernels::resident(const char* name, int threads, std::int64_t shared_bytes) const {
  const Function function = find(name);
  internal_check(function != nullptr, "no kernel ", name);
  int blocks = 0;
  check(driver().cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, function, threads,
                                                             static_cast<std::size_t>(shared_bytes)),
        "asking how many blocks fit");
  return std::max(1, blocks);
}

Kernels::~Kernels() { driver().cuModuleUnload(module_); }

Function Kernels::find(const char* name) const {
  Function function = nullptr;
  return driver().cuModuleGetFunction(&function, module_, name) == 0 ? function : nullptr;
}

Device::Device(int number) : number_(number) {
  const Driver& d = driver();
  DeviceId id = 0;
  check(d.cuDeviceGet(&id, number % open_driver().devices), "opening a device");
  capability_ = 10 * attribute(kMajor, id) + attribute(kMinor, id);
  processors_ = attribute(kProcessors, id);
  check(d.cuDeviceTotalMem(&memory_, id), "asking for memory");
  check(d.cuDevicePrimaryCtxRetain(&context_, id), "starting a device");
  enter();
  constexpr unsigned kNonBlocking = 1;
  check(d.cuStreamCreate(&stream_, kNonBlocking), "making a stream");
  void* staging = nullptr;
  check(d.cuMemHostAlloc(&staging, kStagingBytes, 0), "memory for transfers");
  staging_ = static_cast<char*>(staging);
}

void Device::enter() const { check(driver().cuCtxSetCurrent(context_), "entering a device"); }

Block Device::allocate(std::size_t bytes, const char* what) {
  const std::size_t size = rounded(bytes > 0 ? bytes : 1);
  auto ready = pool_.find(size);
  if (ready == pool_.end()) ready = take(size, what);
  const Pointer at = ready->second;
  pool_.erase(ready);
  return Block(this, at, size);
}

// Takes memory from the driver, for small blocks several at a time: an allocation takes as long as a whole small call.
Device::Pool::iterator Device::take(std::size_t size, const char* what) {
  constexpr std::size_t kSmallBytes = 1 << 18, kTogether = 16;
  std::size_t count = size <= kSmallBytes ? kTogether : 1;
  Pointer at = 0;
  Status status = driver().cuMemAlloc(&at, size * count);
  if (status == kOutOfMemory) {
    trim();
    count = 1;
    status = driver().cuMemAlloc(&at, size);
  }
  if (status == kOutOfMemory)
    fail(Fault::memory, what, " needs ", size >> 20, " MB on the GPU; ", free_memory() >> 20, " MB are free");
  check(status, what);
  taken_[at] = size * count;
  while (--count > 0) pool_.emplace(size, at + count * size);
  return pool_.emplace(size, at);
}

void Device::make_room(Block* block, std::size_t bytes, const char* what) {
  if (*block && block->bytes() >= bytes) return;
  *block = Block();
  *block = allocate(bytes, what);
}

void Device::give_back(Pointer at, std::size_t bytes) noexcept { pool_.emplace(bytes, at); }

// Blocks that were allocated together are freed together.
void Device::trim() {
  wait();
  const auto home = [&](Pointer at) { return std::prev(taken_.upper_bound(at)); };
  std::map<Pointer, std::size_t> unused;
  for (const auto& ready : pool_) unused[home(ready.second)->first] += ready.first;
  const auto whole = [&](Pointer at) { return unused[at] == taken_[at]; };
  for (auto ready = pool_.begin(); ready != pool_.end();)
    ready = whole(home(ready->second)->first) ? pool_.erase(ready) : std::next(ready);
  for (const auto& some : unused) {
    if (!whole(some.first)) continue;
    driver().cuMemFree(some.first);
    taken_.erase(some.first);
  }
}

std::size_t Device::free_memory() {
  std::size_t free = 0, total = 0;
  check(driver().cuMemGetInfo(&free, &total), "asking for memory");
  for (const auto& ready : pool_) free += ready.first;
  return free;
}

void Device::upload(Pointer to, const void* from, std::size_t bytes) {
  if (bytes > 0) check(driver().cuMemcpyHtoDAsync(to, from, bytes, stream_), "sending data");
}

void Device::download(void* to, Pointer from, std::size_t bytes) {
  if (bytes > 0) check(driver().cuMemcpyDtoHAsync(to, from, bytes, stream_), "fetching results");
  wait();
}

void Device::wait() { check(driver().cuStreamSynchronize(stream_), "a kernel"); }

void Device::wait_after_failure() noexcept {
  driver().cuCtxSetCurrent(context_);
  driver().cuStreamSynchronize(stream_);
}

void Device::launch(Function function, unsigned blocks_x, unsigned blocks_y, unsigned blocks_z, unsigned threads,
                    unsigned shared_bytes, const std::vector<char>& arguments) {
  void* parameters[] = {const_cast<char*>(arguments.data())};
  check(driver().cuLaunchKernel(function, blocks_x, blocks_y, blocks_z, threads, 1, 1, shared_bytes, stream_,
                                parameters, nullptr),
        "starting a kernel");
}

std::shared_ptr<const Kernels> Device::kernels(const std::string& source) {
  constexpr std::size_t kMostKernels = 512;
  const auto found = kernels_.find(source);
  if (found != kernels_.end()) {
    found->second.used = ++calls_;
    return found->second.kernels;
  }
  auto fresh = std::make_shared<Kernels>(compile(source, capability_).data());
  if (kernels_.size() >= kMostKernels) {
    const auto earlier = [](const auto& a, const auto& b) { return a.second.used < b.second.used; };
    wait();
    kernels_.erase(std::min_element(kernels_.begin(), kernels_.end(), earlier));
  }
  return kernels_.emplace(source, Compiled{std::move(fresh), ++calls_}).first->second.kernels;
}

void Device::expect(const std::string& source) {
  if (!kernels_.count(source)) compile_ahead(source, capability_);
}

std::shared_ptr<const Kernels> Device::kernels_of_image(const unsigned char* image) {
  std::shared_ptr<Kernels>& loaded = images_[image];
  if (!loaded) loaded = std::make_shared<Kernels>(image);
  return loaded;
}

int count() { return std::max(open_driver().devices, pretended); }
void pretend(int count) { pretended = count; }

bool opened_by_parent() { return owner != 0 && owner != this_process(); }
void lose_gpu() { is_lost = true; }
bool gpu_is_lost() { return is_lost; }
bool is_usable() { return !opened_by_parent() && !is_lost; }

Device& open(int number) {
  // Never destroyed: the driver may be gone before us.
  static std::map<int, Device>& devices = *new std::map<int, Device>;
  internal_check(!opened_by_parent(), "a device of another process");
  owner = this_process();
  const auto at = devices.try_emplace(number, number);
  at.first->second.enter();
  return at.first->second;
}

// --- a thread for each number --------------------------------------------------------------------------------------
// One source for all kernels of a header, compiled once for each device and kept with the kernels of formulas.

namespace {

constexpr unsigned kThreads = 256;

}  // namespace

std::string text_for_each(const char* header, const char* task, const std::vector<const char*>& names) {
  std::ostringstream out;
  out << "#include \"kernweave/gpu/" << header << "\"\n";
  for (const char* name : names)
    out << "extern \"C\" __global__ void __launch_bounds__(" << kThreads << ") " << name
        << "(const kernweave::gpu::" << task << " t) {\n"
        << "  const long long at = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;\n"
        << "  if (at < t.count) kernweave::gpu::" << name << "(t, at);\n}\n";
  return out.str();
}

void launch_for_each(Device* device, const std::string& text, const char* kernel, long long count,
                     const std::vector<char>& task) {
  if (count == 0) return;
  device->enter();
  const Function function = device->kernels(text)->find(kernel);
  internal_check(function != nullptr, "no kernel ", kernel);
  device->launch(function, static_cast<unsigned>((count + kThreads - 1) / kThreads), 1, 1, kThreads, 0, task);
}

}  // namespace device
}  // namespace kernweave
