/* One document in either of two forms, JSON or pickle, so that what goes into it is said once. */
#ifndef XS_REPORT_DOCUMENT_H
#define XS_REPORT_DOCUMENT_H

#include "base/json.h"
#include "report/pickle.h"

struct xs_document {
    bool is_pickle;
    struct xs_json json;
    struct xs_pickle pickle;
};

static inline void xs_document_begin(struct xs_document *d, struct xs_out *out, bool is_pickle)
{
    d->is_pickle = is_pickle;
    d->json = (struct xs_json){.out = out};
    if (is_pickle)
        xs_pickle_begin(&d->pickle, out);
}

static inline void xs_document_end(struct xs_document *d)
{
    if (d->is_pickle)
        xs_pickle_end(&d->pickle);
    else
        xs_out_text(d->json.out, "\n");
}

/* '{', '[' or '(': a tuple of two, in JSON a list. */
static inline void xs_document_open(struct xs_document *d, const char *key, char bracket)
{
    if (d->is_pickle)
        xs_pickle_open(&d->pickle, key, bracket);
    else
        xs_json_open(&d->json, key, bracket == '(' ? '[' : bracket);
}

static inline void xs_document_close(struct xs_document *d, char bracket)
{
    if (d->is_pickle)
        xs_pickle_close(&d->pickle);
    else
        xs_json_close(&d->json, bracket == ')' ? ']' : bracket);
}

/* One writer of a value for each type that both forms have. */
#define XS_DOCUMENT_VALUE(what, type)                                                              \
    static inline void xs_document_##what(struct xs_document *d, const char *key, type value)      \
    {                                                                                              \
        if (d->is_pickle)                                                                          \
            xs_pickle_##what(&d->pickle, key, value);                                              \
        else                                                                                       \
            xs_json_##what(&d->json, key, value);                                                  \
    }
XS_DOCUMENT_VALUE(text, const char *)
XS_DOCUMENT_VALUE(count, uint64_t)
XS_DOCUMENT_VALUE(signed, int64_t)
XS_DOCUMENT_VALUE(bool, bool)
#undef XS_DOCUMENT_VALUE

static inline void xs_document_real(struct xs_document *d, const char *key, double value)
{
    if (d->is_pickle)
        xs_pickle_real(&d->pickle, key, value);
    else
        xs_json_real(&d->json, key, value, 6);
}

#endif
