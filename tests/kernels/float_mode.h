/* SPDX-License-Identifier: MIT */
/* The processor's float mode and its sticky flags, where it is known how to ask (x86). */
#ifndef HG_TEST_KERNELS_FLOAT_MODE_H
#define HG_TEST_KERNELS_FLOAT_MODE_H

#include <stdint.h>

#if defined(__x86_64__) || defined(__i386__)
#include <xmmintrin.h>
#define HAS_MXCSR 1
static inline uint32_t float_mode(void)
{
    return _mm_getcsr();
}
static inline void set_float_mode(uint32_t mode)
{
    _mm_setcsr(mode);
}
#else
#define HAS_MXCSR 0
static inline uint32_t float_mode(void)
{
    return 0;
}
static inline void set_float_mode(uint32_t mode)
{
    (void)mode;
}
#endif

#endif
