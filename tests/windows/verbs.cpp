// The verbs for arrays on a device whose memory is the host's, that of the driver in tests/testthat/cuda/driver.cpp.
// They replace arrays/cuda/none.cpp: where there is no device, the tests try the border's way of devices by them.
#include "arrays/cuda/verbs.hpp"

#include "arrays/host_verbs.hpp"
#include "device/copy.hpp"
#include "device/driver.hpp"

namespace kernweave::arrays::cuda {
namespace {

// Items as memory of a device, and no groups that lie where the keys do.
class Adopted : public Results {
 public:
  Adopted(Device& gpu, Results& made) : gpu_(gpu), made_(made) {}
  Numbers numbers(const char* name, Index, Index count) override {
    return {static_cast<int*>(room(name, count, Kind::integers)), nullptr, std::numeric_limits<int>::min(), 0};
  }
  void* items(Index count) override { return room(nullptr, count, Kind::items); }
  void adopt(const char* name, Block block, Index count, Kind kind) override {
    made_.adopt(name, std::move(block), count, kind);
  }
  void given(const char* name) override { made_.given(name); }

 private:
  void* room(const char* name, Index count, Kind kind) {
    Block block = gpu_.allocate(static_cast<std::size_t>(std::max<Index>(count, 1)) * sizeof(double), "a test");
    void* const at = device::address<void>(block.at());
    made_.adopt(name, std::move(block), count, kind);
    return at;
  }

  Device& gpu_;
  Results& made_;
};

// Leaves to the CPU what a device does.
class TestVerbs : public HostVerbs {
 public:
  explicit TestVerbs(Device& gpu) : HostVerbs(Workers()), gpu_(gpu) {}

  bool scan(const Request& request, bool exclusive, const Items& items, Index columns, const Segments& segments,
            const Numbers& out) const override {
    if (HostVerbs::scan(request, exclusive, items, columns, segments, out)) throw Declined();
    return false;
  }
  void rising(const Whole& at, Index most, Results& made) const override { HostVerbs::rising(at, most, adopted(made)); }
  void order(const OrderOf& task, Results& made) const override { HostVerbs::order(task, adopted(made)); }
  void sort(const OrderOf& task, Results& made) const override { HostVerbs::sort(task, adopted(made)); }
  void groups(const Column& keys, Results& made) const override { HostVerbs::groups(keys, adopted(made)); }
  void set(const SetOf& task, Results& made) const override {
    if (ends_missing(task.a) || ends_missing(task.b)) throw Declined();
    HostVerbs::set(task, adopted(made));
  }
  void join(const JoinOf& task, Results& made) const override {
    if (task.x.size() > 1) throw Declined();
    HostVerbs::join(task, adopted(made));
  }

 private:
  Results& adopted(Results& made) const {
    lent_ = std::make_unique<Adopted>(gpu_, made);
    return *lent_;
  }

  Device& gpu_;
  mutable std::unique_ptr<Results> lent_;
};

}  // namespace

// A device of the driver in tests is the one that the report lists with "none".
std::unique_ptr<Verbs> verbs_on(Device& gpu) {
  const auto devices = device::report().devices;
  const auto number = static_cast<std::size_t>(gpu.number());
  const bool in_tests = number < devices.size() && devices[number].find(": none,") != std::string::npos;
  return in_tests ? std::make_unique<TestVerbs>(gpu) : nullptr;
}

}  // namespace kernweave::arrays::cuda
