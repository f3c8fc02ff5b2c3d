/* Every entry is there. */
#include "fake_driver.h"
