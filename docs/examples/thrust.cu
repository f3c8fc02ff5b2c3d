// Thrust on xseg: a vector's memory, and the scratch of its algorithms.  nvcc -std=c++17 thrust.cu -lxseg
#include <cstdio>
#include <thrust/device_vector.h>
#include <thrust/execution_policy.h>
#include <thrust/sequence.h>
#include <thrust/sort.h>

#include <xseg/xseg.hpp>

template <class T>
using vector = thrust::device_vector<T, xseg::allocator<T, thrust::device_ptr<T>>>;

int main()
{
    cudaSetDevice(0); // xseg allocates in the context that is current
    xseg::allocator<char> scratch;
    vector<int> v(1 << 20);
    for (int round = 0; round < 10; round++) {
        thrust::sequence(v.rbegin(), v.rend());
        thrust::sort(thrust::cuda::par(scratch), v.begin(), v.end());
    }
    xseg_stats s;
    s.size = sizeof(s);
    xseg::check(xseg_get_stats(0, &s));
    std::printf("first %d, last %d; %llu bytes reserved, %llu of %llu allocations from the cache\n",
                int(v.front()), int(v.back()), (unsigned long long)s.reserved_bytes.current,
                (unsigned long long)s.cache_hits, (unsigned long long)s.allocations.allocated);
    return v.front() == 0 && v.back() == (1 << 20) - 1 ? 0 : 1;
}
