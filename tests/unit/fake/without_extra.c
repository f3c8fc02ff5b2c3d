/* Lacks all that is used only where it is present. */
#define FAKE_WITHOUT_stream_get_id         ~, "absent_"
#define FAKE_WITHOUT_ctx_record_event      ~, "absent_"
#define FAKE_WITHOUT_memset_d8_async       ~, "absent_"
#define FAKE_WITHOUT_exchange_capture_mode ~, "absent_"
#include "fake_driver.h"
