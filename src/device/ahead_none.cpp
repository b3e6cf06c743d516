// In place of the kernel compiled at installation, where no nvcc was found: there is none.

extern "C" {
extern const unsigned char kernweave_ahead_probe[4];
const unsigned char kernweave_ahead_probe[4] = {};
}
