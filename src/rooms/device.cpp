// The room device/, compiled as one: what its files include takes the compiler longer than what they say.
#include "device/copy.cpp"
#include "device/device.cpp"
#include "device/driver.cpp"
#include "device/kernel_cache.cpp"
#include "device/nvrtc.cpp"
