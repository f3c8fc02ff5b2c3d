/*
 * The format, one rule a function.
 *
 * The header ends at the first line that does not begin with '#'; that line is kept back for
 * xs_trace_next(). Peak and number of events are added up while reading and compared at the end: a
 * trace that was cut at a line's end differs in nothing else.
 */
#include "report/trace_file.h"

#include <string.h>

#include "base/error.h"
#include "report/trace_ids.h"
#include "report/trace_line.h"

#define MAGIC       "# xseg-trace 1"
#define FORM_EVENTS "# events N streams S peak_requested BYTES"
#define FORM_REF    "# ref NAME peak_reserved BYTES"

/* A live block, or a link in the list of slots that are free again. */
struct slot {
    uint64_t size;
    uint32_t stream;
    uint32_t next_free; /* slot + 1; 0: none */
};

struct xs_trace_file {
    struct xs_trace_source source;
    struct xs_trace_header header;
    bool has_events_line;
    const char *pending; /* a line that was read but not yet used; NULL: none, or the end */
    size_t pending_len;

    struct xs_trace_ids ids;
    struct xs_array slots; /* of struct slot */
    uint32_t n_slots;
    uint32_t first_free; /* slot + 1; 0: none */

    uint64_t events;
    uint64_t live_bytes;
    uint64_t peak_bytes;
};

static struct xs_trace_line line_of(const struct xs_trace_file *f, const char *text, size_t len)
{
    return (struct xs_trace_line){text, text + len, text, &f->source};
}

static enum xseg_result no_memory(const struct xs_trace_file *f)
{
    return xs_fail(XSEG_ERROR_HOST_MEMORY, "%s:%llu: no memory to hold the trace", f->source.name,
                   (unsigned long long)f->source.line);
}

/* ---- the header ------------------------------------------------------------------------------ */

static enum xseg_result read_events_line(struct xs_trace_file *f, struct xs_trace_line *line)
{
    uint64_t streams = 0;
    struct xs_trace_header *h = &f->header;
    if (f->has_events_line)
        return xs_trace_line_bad(line, "a second line of this kind");
    enum xseg_result result =
        xs_trace_line_number(line, "number of events", XS_TRACE_ID_MAX, &h->events);
    if (result == XSEG_OK && !xs_trace_line_literal(line, "streams"))
        return xs_trace_line_bad(line, "expected '" FORM_EVENTS "'");
    if (result == XSEG_OK)
        result = xs_trace_line_number(line, "number of streams", XS_TRACE_STREAMS_MAX, &streams);
    if (result == XSEG_OK && !xs_trace_line_literal(line, "peak_requested"))
        return xs_trace_line_bad(line, "expected '" FORM_EVENTS "'");
    if (result == XSEG_OK)
        result = xs_trace_line_number(line, "peak_requested", XS_TRACE_ID_MAX, &h->peak_requested);
    h->streams = (uint32_t)streams;
    f->has_events_line = true;
    return result != XSEG_OK ? result : xs_trace_line_end(line);
}

static enum xseg_result read_ref_line(struct xs_trace_file *f, struct xs_trace_line *line)
{
    struct xs_trace_header *h = &f->header;
    const char *name;
    size_t len;
    if (h->n_refs == XS_TRACE_REFS_MAX)
        return xs_trace_line_bad(line, "more than 16 lines of this kind");
    struct xs_trace_ref *ref = &h->refs[h->n_refs];
    if (!xs_trace_line_word(line, &name, &len) || !xs_trace_line_literal(line, "peak_reserved"))
        return xs_trace_line_bad(line, "expected '" FORM_REF "'");
    if (len >= sizeof(ref->name))
        return xs_trace_line_bad_text(line, "name too long", name, len);
    memcpy(ref->name, name, len);
    enum xseg_result result =
        xs_trace_line_number(line, "peak_reserved", XS_TRACE_ID_MAX, &ref->peak_reserved);
    h->n_refs++;
    return result != XSEG_OK ? result : xs_trace_line_end(line);
}

static enum xseg_result read_source_line(struct xs_trace_file *f, struct xs_trace_line *line)
{
    char *to = f->header.source;
    size_t len = xs_min((size_t)(line->end - line->at), sizeof(f->header.source) - 1);
    memcpy(to, line->at, len);
    to[len] = '\0';
    return XSEG_OK;
}

static const struct header_line {
    const char *word;
    enum xseg_result (*read)(struct xs_trace_file *f, struct xs_trace_line *line);
} header_lines[] = {
    {"source", read_source_line},
    {"events", read_events_line},
    {"ref", read_ref_line},
};

/* A line that begins with '#'. What is unknown is a comment. */
static enum xseg_result read_hash_line(struct xs_trace_file *f, struct xs_trace_line line)
{
    const char *word;
    size_t len;
    if (!xs_trace_line_literal(&line, "#") || !xs_trace_line_word(&line, &word, &len))
        return XSEG_OK;
    for (size_t i = 0; i < XS_COUNT_OF(header_lines); i++) {
        const struct header_line *kind = &header_lines[i];
        if (len == strlen(kind->word) && memcmp(word, kind->word, len) == 0) {
            return f->events > 0 ? xs_trace_line_bad(&line, "header line after an event")
                                 : kind->read(f, &line);
        }
    }
    return XSEG_OK;
}

/* Reads on to the next line that is no comment; f->pending NULL is the end. */
static enum xseg_result advance(struct xs_trace_file *f)
{
    for (;;) {
        enum xseg_result result = xs_trace_source_line(&f->source, &f->pending, &f->pending_len);
        bool is_hash =
            result == XSEG_OK && f->pending != NULL && f->pending_len > 0 && f->pending[0] == '#';
        if (!is_hash)
            return result;
        result = read_hash_line(f, line_of(f, f->pending, f->pending_len));
        if (result != XSEG_OK)
            return result;
    }
}

static enum xseg_result read_header(struct xs_trace_file *f)
{
    const char *line;
    size_t len;
    enum xseg_result result = xs_trace_source_line(&f->source, &line, &len);
    if (result != XSEG_OK)
        return result;
    if (line == NULL)
        return xs_fail(XSEG_ERROR_IO, "%s: empty: expected '" MAGIC "'", f->source.name);
    if (len != strlen(MAGIC) || memcmp(line, MAGIC, len) != 0) {
        struct xs_trace_line first = line_of(f, line, len);
        return xs_trace_line_bad(&first, "not a trace: expected '" MAGIC "'");
    }
    result = advance(f);
    if (result == XSEG_OK && !f->has_events_line) {
        return xs_fail(XSEG_ERROR_IO, "%s:%llu: missing header line '" FORM_EVENTS "'",
                       f->source.name, (unsigned long long)f->source.line);
    }
    return result;
}

/* ---- events ---------------------------------------------------------------------------------- */

/* A free slot, or a new one. */
static enum xseg_result take_slot(struct xs_trace_file *f, uint32_t *slot)
{
    struct slot *slots = f->slots.base;
    if (f->first_free != 0) {
        *slot = f->first_free - 1;
        f->first_free = slots[*slot].next_free;
        return XSEG_OK;
    }
    size_t need = ((size_t)f->n_slots + 1) * sizeof(struct slot);
    if (f->n_slots == XS_TRACE_SLOTS_MAX || !xs_array_reserve(&f->slots, need))
        return no_memory(f);
    *slot = f->n_slots++;
    return XSEG_OK;
}

static enum xseg_result bad_id(const struct xs_trace_file *f, const char *why,
                               const struct xs_trace_id *id)
{
    return xs_fail(XSEG_ERROR_IO, "%s:%llu: %s: '%llu' (line %u)", f->source.name,
                   (unsigned long long)f->source.line, why, (unsigned long long)(id->key - 1),
                   id->line);
}

static enum xseg_result add_live(struct xs_trace_file *f, uint64_t size,
                                 const struct xs_trace_line *line)
{
    if (size > XS_TRACE_ID_MAX - f->live_bytes)
        return xs_trace_line_bad(line, "live bytes pass 2^63");
    f->live_bytes += size;
    f->peak_bytes = f->live_bytes > f->peak_bytes ? f->live_bytes : f->peak_bytes;
    return XSEG_OK;
}

static enum xseg_result place_alloc(struct xs_trace_file *f, uint64_t id_number,
                                    struct xs_trace_event *event)
{
    struct xs_trace_id *id = xs_trace_ids_at(&f->ids, id_number);
    if (id == NULL)
        return no_memory(f);
    if (xs_unlikely(id->slot < XS_TRACE_ID_FREED))
        return bad_id(f, "id is already live", id);
    enum xseg_result result = take_slot(f, &event->slot);
    if (result != XSEG_OK)
        return result;
    struct slot *slots = f->slots.base;
    slots[event->slot] = (struct slot){.size = event->size, .stream = event->stream};
    id->slot = event->slot;
    id->line = (uint32_t)f->source.line;
    return XSEG_OK;
}

static enum xseg_result read_alloc(struct xs_trace_file *f, struct xs_trace_line *line,
                                   struct xs_trace_event *event)
{
    uint64_t id = 0;
    uint64_t stream = 0;
    uint64_t streams = f->header.streams;
    enum xseg_result result = xs_trace_line_number(line, "id", XS_TRACE_ID_MAX, &id);
    if (result == XSEG_OK)
        result = xs_trace_line_number(line, "size", XS_TRACE_SIZE_MAX, &event->size);
    if (result == XSEG_OK && streams == 0)
        return xs_trace_line_bad(line, "an allocation in a trace of 0 streams");
    if (result == XSEG_OK)
        result = xs_trace_line_number(line, "stream", streams - 1, &stream);
    if (result == XSEG_OK)
        result = xs_trace_line_end(line);
    event->stream = (uint16_t)stream;
    event->kind = XS_TRACE_ALLOC;
    if (result == XSEG_OK)
        result = place_alloc(f, id, event);
    return result != XSEG_OK ? result : add_live(f, event->size, line);
}

static enum xseg_result read_free(struct xs_trace_file *f, struct xs_trace_line *line,
                                  struct xs_trace_event *event)
{
    uint64_t id_number = 0;
    enum xseg_result result = xs_trace_line_number(line, "id", XS_TRACE_ID_MAX, &id_number);
    if (result == XSEG_OK)
        result = xs_trace_line_end(line);
    if (result != XSEG_OK)
        return result;
    struct xs_trace_id *id = xs_trace_ids_at(&f->ids, id_number);
    if (id == NULL)
        return no_memory(f);
    if (xs_unlikely(id->slot == XS_TRACE_ID_NEVER))
        return xs_trace_line_bad(line, "free of an id that was never allocated");
    if (xs_unlikely(id->slot == XS_TRACE_ID_FREED))
        return bad_id(f, "double free of id", id);
    struct slot *slot = (struct slot *)f->slots.base + id->slot;
    *event = (struct xs_trace_event){slot->size, id->slot, (uint16_t)slot->stream, XS_TRACE_FREE};
    slot->next_free = f->first_free;
    f->first_free = id->slot + 1;
    f->live_bytes -= slot->size;
    id->slot = XS_TRACE_ID_FREED;
    id->line = (uint32_t)f->source.line;
    return XSEG_OK;
}

static enum xseg_result read_event(struct xs_trace_file *f, struct xs_trace_event *event)
{
    struct xs_trace_line line = line_of(f, f->pending, f->pending_len);
    const char *letter;
    size_t len;
    if (xs_trace_line_word(&line, &letter, &len) && len == 1 && letter[0] == 'a')
        return read_alloc(f, &line, event);
    if (len == 1 && letter[0] == 'f')
        return read_free(f, &line, event);
    return xs_trace_line_bad(&line, "neither 'a ID SIZE STREAM' nor 'f ID'");
}

/* Does what was read agree with what the header promised? */
static enum xseg_result check_end(const struct xs_trace_file *f)
{
    const struct xs_trace_header *h = &f->header;
    if (f->events != h->events) {
        return xs_fail(XSEG_ERROR_IO, "%s:%llu: cut trace: %llu events, the header says %llu",
                       f->source.name, (unsigned long long)f->source.line,
                       (unsigned long long)f->events, (unsigned long long)h->events);
    }
    if (f->peak_bytes != h->peak_requested) {
        return xs_fail(XSEG_ERROR_IO, "%s: peak_requested is %llu, the header says %llu",
                       f->source.name, (unsigned long long)f->peak_bytes,
                       (unsigned long long)h->peak_requested);
    }
    return XSEG_OK;
}

/* ---- the file -------------------------------------------------------------------------------- */

static struct xs_trace_file *new_file(void)
{
    struct xs_array memory = {0};
    return xs_array_reserve(&memory, sizeof(struct xs_trace_file)) ? memory.base : NULL;
}

static void delete_file(struct xs_trace_file *f)
{
    struct xs_array memory = {f, xs_round_up(sizeof(*f), 64 * XS_KIB)};
    xs_array_drop(&memory);
}

static enum xseg_result start(struct xs_trace_file *f, struct xs_trace_file **file)
{
    enum xseg_result result = read_header(f);
    if (result != XSEG_OK) {
        xs_trace_close(f);
        return result;
    }
    *file = f;
    return XSEG_OK;
}

enum xseg_result xs_trace_open(struct xs_trace_file **file, const char *path)
{
    struct xs_trace_file *f = new_file();
    if (f == NULL)
        return xs_fail(XSEG_ERROR_HOST_MEMORY, "%s: no memory to read the trace", path);
    enum xseg_result result = xs_trace_source_open(&f->source, path);
    if (result != XSEG_OK) {
        delete_file(f);
        return result;
    }
    return start(f, file);
}

enum xseg_result xs_trace_open_memory(struct xs_trace_file **file, const char *name,
                                      const char *text, size_t bytes)
{
    struct xs_trace_file *f = new_file();
    if (f == NULL)
        return xs_fail(XSEG_ERROR_HOST_MEMORY, "%s: no memory to read the trace", name);
    xs_trace_source_open_memory(&f->source, name, text, bytes);
    return start(f, file);
}

const struct xs_trace_header *xs_trace_file_header(const struct xs_trace_file *file)
{
    return &file->header;
}

enum xseg_result xs_trace_next(struct xs_trace_file *file, struct xs_trace_event *event)
{
    *event = (struct xs_trace_event){.kind = XS_TRACE_END};
    if (file->pending == NULL)
        return check_end(file);
    enum xseg_result result = read_event(file, event);
    if (result != XSEG_OK)
        return result;
    file->events++;
    return advance(file);
}

void xs_trace_close(struct xs_trace_file *file)
{
    xs_trace_source_close(&file->source);
    xs_trace_ids_drop(&file->ids);
    xs_array_drop(&file->slots);
    delete_file(file);
}

/* ---- the whole trace ------------------------------------------------------------------------- */

enum xseg_result xs_trace_load(struct xs_trace *trace, struct xs_trace_file *file)
{
    struct xs_array memory = {0};
    struct xs_trace_event event;
    size_t n = 0;
    for (;;) {
        enum xseg_result result = xs_trace_next(file, &event);
        if (result == XSEG_OK && event.kind == XS_TRACE_END)
            break;
        if (result == XSEG_OK && !xs_array_reserve(&memory, (n + 1) * sizeof(event)))
            result = no_memory(file);
        if (result != XSEG_OK) {
            xs_array_drop(&memory);
            return result;
        }
        ((struct xs_trace_event *)memory.base)[n++] = event;
    }
    *trace = (struct xs_trace){
        .header = file->header, .events = memory.base, .n_slots = file->n_slots, .memory = memory};
    return XSEG_OK;
}

void xs_trace_unload(struct xs_trace *trace)
{
    xs_array_drop(&trace->memory);
    *trace = (struct xs_trace){0};
}
