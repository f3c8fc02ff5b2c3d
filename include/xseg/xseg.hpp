/*
 * xseg for C++17: device memory that frees itself, a memory resource, an allocator. Header only, over xseg.h.
 *
 *   xseg::buffer         owns bytes of device memory; as std::unique_ptr
 *   xseg::resource       as std::pmr::memory_resource, of a device, a stream and a pool; satisfies the resource concepts
 *                        of CCCL (cuda::mr), for host threads and in stream order
 *   xseg::allocator<T>   for containers that never touch their elements on the host: Thrust's, with
 *                        xseg::allocator<T, thrust::device_ptr<T>>, and as thrust::cuda::par(xseg::allocator<char>{})
 *
 * Failures are exceptions: xseg::out_of_memory, which is a std::bad_alloc, and xseg::error. Freeing never throws.
 * Thread-safe as xseg.h is. Memory is for work on its stream; freeing is in that stream's order.
 */
#ifndef XSEG_XSEG_HPP
#define XSEG_XSEG_HPP

#include <cstddef>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>

#include "xseg/pools.h"
#include "xseg/xseg.h"

#if defined(XSEG_WITH_CCCL) /* after CCCL's own switches, so that resource has its properties */
#include <cuda/memory_resource>
#endif

namespace xseg
{

class error : public std::runtime_error
{
  public:
    error(xseg_result code, const char *text) : std::runtime_error(text), code_(code) {}
    xseg_result code() const noexcept { return code_; }

  private:
    xseg_result code_;
};

/* Its text is xseg's report: what was wanted, live, cached, and why that was not enough. */
class out_of_memory : public std::bad_alloc
{
  public:
    explicit out_of_memory(const char *text) : text_(text) {}
    const char *what() const noexcept override { return text_.what(); }

  private:
    std::runtime_error text_; /* copies without throwing */
};

inline void check(xseg_result code)
{
    if (code == XSEG_ERROR_OUT_OF_MEMORY)
        throw out_of_memory(xseg_last_error());
    if (code != XSEG_OK)
        throw error(code, xseg_last_error());
}

/* The least alignment of all memory. */
constexpr std::size_t alignment = 512;

/* ---- buffer ---------------------------------------------------------------------------------- */

class buffer
{
  public:
    buffer() noexcept = default;
    explicit buffer(std::size_t bytes, xseg_stream stream = nullptr,
                    int device = XSEG_CURRENT_DEVICE)
        : bytes_(bytes)
    {
        check(xseg_malloc(&data_, bytes, device, stream));
    }
    buffer(buffer &&other) noexcept { swap(other); }
    buffer &operator=(buffer &&other) noexcept
    {
        buffer(std::move(other)).swap(*this);
        return *this;
    }
    ~buffer() { xseg_free(data_); }

    void *data() const noexcept { return data_; }
    template <class T> T *as() const noexcept { return static_cast<T *>(data_); }
    std::size_t size() const noexcept { return bytes_; }
    explicit operator bool() const noexcept { return data_ != nullptr; }

    /* The caller frees it. */
    void *release() noexcept
    {
        bytes_ = 0;
        return std::exchange(data_, nullptr);
    }
    void reset() noexcept { buffer().swap(*this); }
    /* Work queued on this stream uses it too. */
    void record(xseg_stream stream) { check(xseg_record_stream(data_, stream)); }
    void swap(buffer &other) noexcept
    {
        std::swap(data_, other.data_);
        std::swap(bytes_, other.bytes_);
    }

  private:
    void *data_ = nullptr;
    std::size_t bytes_ = 0;
};

/* ---- resource -------------------------------------------------------------------------------- */

/* cudaStream_t, or a class that holds one: cuda::stream_ref, rmm::cuda_stream_view. */
template <class Stream> xseg_stream handle_of(const Stream &stream)
{
    if constexpr (std::is_convertible_v<Stream, xseg_stream>)
        return stream;
    else if constexpr (std::is_same_v<decltype(stream.get()), xseg_stream>)
        return stream.get();
    else
        return stream.value();
}

class resource
{
  public:
    /* pool 0: the default one, or what the thread or stream uses. The pool is the caller's. */
    explicit resource(xseg_stream stream = nullptr, int device = XSEG_CURRENT_DEVICE,
                      xseg_pool pool = 0) noexcept
        : stream_(stream), device_(device), pool_(pool)
    {
    }

    void *allocate(std::size_t bytes, std::size_t align = alignment)
    {
        return take(bytes, align, stream_);
    }
    void deallocate(void *p, std::size_t, std::size_t = alignment) noexcept { xseg_free(p); }

    /* CCCL's names for the same, of several versions. */
    void *allocate_sync(std::size_t bytes, std::size_t align = alignment)
    {
        return take(bytes, align, stream_);
    }
    void deallocate_sync(void *p, std::size_t, std::size_t = alignment) noexcept { xseg_free(p); }
    template <class Stream> void *allocate(Stream stream, std::size_t bytes, std::size_t align)
    {
        return take(bytes, align, handle_of(stream));
    }
    template <class Stream>
    void deallocate(Stream stream, void *p, std::size_t, std::size_t) noexcept
    {
        xseg_free_async(p, handle_of(stream));
    }
    template <class Stream>
    void *allocate_async(std::size_t bytes, std::size_t align, Stream stream)
    {
        return take(bytes, align, handle_of(stream));
    }
    template <class Stream>
    void deallocate_async(void *p, std::size_t, std::size_t, Stream stream) noexcept
    {
        xseg_free_async(p, handle_of(stream));
    }

    /* What one has allocated, any may free. */
    bool is_equal(const resource &) const noexcept { return true; }
    friend bool operator==(const resource &, const resource &) noexcept { return true; }
    friend bool operator!=(const resource &, const resource &) noexcept { return false; }
#if defined(XSEG_WITH_CCCL)
    friend void get_property(const resource &, cuda::mr::device_accessible) noexcept {}
#endif

    xseg_stream stream() const noexcept { return stream_; }
    int device() const noexcept { return device_; }
    xseg_pool pool() const noexcept { return pool_; }

  private:
    void *take(std::size_t bytes, std::size_t align, xseg_stream stream)
    {
        void *p = nullptr;
        if (align > alignment)
            throw error(XSEG_ERROR_INVALID_VALUE,
                        ("an alignment of " + std::to_string(align) + ": more than 512").c_str());
        check(pool_ ? xseg_pool_malloc(&p, bytes, pool_, stream)
                    : xseg_malloc(&p, bytes, device_, stream));
        return p;
    }

    xseg_stream stream_;
    int device_;
    xseg_pool pool_;
};

/* ---- allocator ------------------------------------------------------------------------------- */

namespace detail
{

template <class Pointer> auto raw(const Pointer &p)
{
    if constexpr (std::is_pointer_v<Pointer>)
        return p;
    else
        return p.get();
}

} // namespace detail

template <class T, class Pointer = T *> class allocator
{
  public:
    using value_type = T;
    using pointer = Pointer;
    using size_type = std::size_t;
    using difference_type = std::ptrdiff_t;
    using propagate_on_container_move_assignment = std::true_type;
    using is_always_equal = std::true_type;
    template <class U> struct rebind {
        using other = allocator<U, typename std::pointer_traits<Pointer>::template rebind<U>>;
    };

    allocator() noexcept = default;
    explicit allocator(const resource &from) noexcept : resource_(from) {}
    template <class U, class P>
    allocator(const allocator<U, P> &other) noexcept : resource_(other.where())
    {
    }

    pointer allocate(size_type n)
    {
        if (n > static_cast<size_type>(-1) / sizeof(T))
            throw std::bad_array_new_length();
        return pointer(static_cast<T *>(resource_.allocate(n * sizeof(T))));
    }
    void deallocate(pointer p, size_type n) noexcept
    {
        resource_.deallocate(const_cast<std::remove_cv_t<T> *>(detail::raw(p)), n * sizeof(T));
    }

    const resource &where() const noexcept { return resource_; }
    template <class U, class P> bool operator==(const allocator<U, P> &) const noexcept
    {
        return true;
    }
    template <class U, class P> bool operator!=(const allocator<U, P> &) const noexcept
    {
        return false;
    }

  private:
    resource resource_;
};

} // namespace xseg

#endif
