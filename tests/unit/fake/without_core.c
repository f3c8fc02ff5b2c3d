/* Lacks an entry that nothing works without. */
#define FAKE_WITHOUT_mem_free ~, "absent_"
#include "fake_driver.h"
