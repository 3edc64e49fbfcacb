// What the tests share.
#pragma once
#include <cstdio>
#include <cstdlib>

// Ends the test with 1 if a call of the runtime failed.
#define CHECK(call)                                                                                                    \
    do {                                                                                                               \
        cudaError_t error = (call);                                                                                    \
        if (error != cudaSuccess) {                                                                                    \
            std::fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call, cudaGetErrorString(error));             \
            std::exit(1);                                                                                              \
        }                                                                                                              \
    } while (0)
