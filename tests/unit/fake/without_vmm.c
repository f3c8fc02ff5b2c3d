/* Lacks one of the virtual memory calls. */
#define FAKE_WITHOUT_mem_unmap ~, "absent_"
#include "fake_driver.h"
