/* cuInit finds no device. */
#define FAKE_INIT_RESULT XS_CUDA_ERROR_NO_DEVICE
#include "fake_driver.h"
