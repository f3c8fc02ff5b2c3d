/* cuInit fails. */
#define FAKE_INIT_RESULT XS_CUDA_ERROR_UNKNOWN
#include "fake_driver.h"
