// A counter that a lock guards.
#include <cuda/atomic>
extern "C" __global__ void k(int* lock, int* counter)
{
    if (threadIdx.x & 31)
        return;
#if BUG <= 5
#if BUG == 4
    while (atomicCAS_block(lock, 0, 1) != 0) {}
#else
    while (atomicCAS(lock, 0, 1) != 0) {}
#endif
#if BUG != 1 && BUG != 3
    __threadfence();
#endif
    counter[0] = counter[0] + 1;
#if BUG == 5
    __threadfence_block();
#elif BUG != 1 && BUG != 2
    __threadfence();
#endif
#if BUG == 4
    atomicExch_block(lock, 0);
#else
    atomicExch(lock, 0);
#endif
#elif BUG == 6 // the lock is opened by a plain store
    while (atomicCAS(lock, 0, 1) != 0) {}
    __threadfence();
    counter[0] = counter[0] + 1;
    __threadfence();
    lock[0] = 0;
#elif BUG == 7 // a control: a ticket lock
    cuda::atomic_ref<int, cuda::thread_scope_device> next(lock[0]), now(lock[1]);
    int mine = next.fetch_add(1, cuda::memory_order_relaxed);
    while (now.load(cuda::memory_order_acquire) != mine) {}
    counter[0] = counter[0] + 1;
    now.store(mine + 1, cuda::memory_order_release);
#elif BUG == 8 // a ticket lock that does not release
    cuda::atomic_ref<int, cuda::thread_scope_device> next(lock[0]), now(lock[1]);
    int mine = next.fetch_add(1, cuda::memory_order_relaxed);
    while (now.load(cuda::memory_order_acquire) != mine) {}
    counter[0] = counter[0] + 1;
    now.store(mine + 1, cuda::memory_order_relaxed);
#elif BUG == 9 // one of two locks
    while (atomicCAS(lock + blockIdx.x, 0, 1) != 0) {}
    __threadfence();
    counter[0] = counter[0] + 1;
    __threadfence();
    atomicExch(lock + blockIdx.x, 0);
#elif BUG == 10 // a control: a lock by cuda::atomic_flag's operations
    cuda::atomic_ref<int, cuda::thread_scope_device> held(lock[0]);
    while (held.exchange(1, cuda::memory_order_acquire)) {}
    counter[0] = counter[0] + 1;
    held.store(0, cuda::memory_order_release);
#elif BUG == 11 // reads the counter outside of the lock
    while (atomicCAS(lock, 0, 1) != 0) {}
    __threadfence();
    counter[0] = counter[0] + 1;
    __threadfence();
    atomicExch(lock, 0);
    counter[1 + blockIdx.x] = counter[0];
#endif
}
