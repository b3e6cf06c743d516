// Kernels compiled at installation. configure makes the bytes kernweave_ahead_<name> of each src/*/ahead_<name>.cu,
// with code for several architectures; where no nvcc was found, src/*/ahead_none.cpp has zeros in their place.
#pragma once

namespace kernweave {
namespace device {

// Returns the bytes if they are kernels, else null.
const unsigned char* image_in(const unsigned char* bytes);

// The image of ahead_probe.cu; null tells that nothing was compiled at installation.
const unsigned char* probe_image();

}  // namespace device
}  // namespace kernweave
