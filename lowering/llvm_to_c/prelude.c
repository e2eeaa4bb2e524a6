#include <math.h>
#include <stdint.h>
#include <string.h>

#if defined(__GNUC__)
#define XONNC_ALIAS __attribute__((may_alias))
#define XONNC_MAYBE_UNUSED __attribute__((unused))
#define XONNC_INLINE __attribute__((always_inline, unused)) static inline
#define XONNC_KERNEL __attribute__((noinline)) static
#else
#define XONNC_ALIAS
#define XONNC_MAYBE_UNUSED
#define XONNC_INLINE static inline
#define XONNC_KERNEL static
#endif

/* A loop whose body fills the registers; several iterations at a time would not fit. */
#if defined(__GNUC__) && __GNUC__ >= 8 && !defined(__clang__)
#define XONNC_ROLLED _Pragma("GCC unroll 1")
#else
#define XONNC_ROLLED
#endif

/* Bytes of the longest vectors that compiler and processor have; 0: none, all is done number by number. */
#ifndef XONNC_VECTOR_BYTES
#if !defined(__GNUC__)
#define XONNC_VECTOR_BYTES 0
#elif defined(__AVX512F__)
#define XONNC_VECTOR_BYTES 64
#elif defined(__AVX__)
#define XONNC_VECTOR_BYTES 32
#elif defined(__SSE2__) || defined(__ARM_NEON) || defined(__wasm_simd128__)
#define XONNC_VECTOR_BYTES 16
#else
#define XONNC_VECTOR_BYTES 0
#endif
#endif

#if XONNC_VECTOR_BYTES && defined(__has_builtin)
#if __has_builtin(__builtin_convertvector)
#define XONNC_CONVERT
#endif
#if __has_builtin(__builtin_shufflevector)
#define XONNC_SHUFFLE
#endif
#endif

#if XONNC_VECTOR_BYTES && defined(__SSE2__)
#include <immintrin.h>
#define XONNC_X86
#elif XONNC_VECTOR_BYTES && defined(__ARM_NEON)
#include <arm_neon.h>
#endif

/* Whether the first numbers of a vector can be loaded and stored alone. */
#if XONNC_VECTOR_BYTES && defined(__AVX512VL__) && defined(__AVX512BW__)
#define XONNC_MASKS
#endif

/* a * b + c, rounded once where the processor does that in one instruction. */
#if XONNC_VECTOR_BYTES && defined(__FMA__)
#define XONNC_FMA_f32x4(a, b, c) _mm_fmadd_ps(a, b, c)
#define XONNC_FMA_f64x2(a, b, c) _mm_fmadd_pd(a, b, c)
#define XONNC_FMA_f32x8(a, b, c) _mm256_fmadd_ps(a, b, c)
#define XONNC_FMA_f64x4(a, b, c) _mm256_fmadd_pd(a, b, c)
#define XONNC_FMA_f32x16(a, b, c) _mm512_fmadd_ps(a, b, c)
#define XONNC_FMA_f64x8(a, b, c) _mm512_fmadd_pd(a, b, c)
#elif XONNC_VECTOR_BYTES && defined(__aarch64__)
#define XONNC_FMA_f32x4(a, b, c) vfmaq_f32(c, a, b)
#define XONNC_FMA_f64x2(a, b, c) vfmaq_f64(c, a, b)
#else
#define XONNC_FMA_f32x4(a, b, c) ((a) * (b) + (c))
#define XONNC_FMA_f64x2(a, b, c) ((a) * (b) + (c))
#define XONNC_FMA_f32x8(a, b, c) ((a) * (b) + (c))
#define XONNC_FMA_f64x4(a, b, c) ((a) * (b) + (c))
#define XONNC_FMA_f32x16(a, b, c) ((a) * (b) + (c))
#define XONNC_FMA_f64x8(a, b, c) ((a) * (b) + (c))
#endif

/* Memory is used for elements of any type, one after the other. */
typedef unsigned char *xonnc_bytes;
typedef xonnc_bytes XONNC_ALIAS xonnc_xonnc_bytes;
typedef float XONNC_ALIAS xonnc_float;
typedef double XONNC_ALIAS xonnc_double;
typedef uint8_t XONNC_ALIAS xonnc_uint8_t;
typedef uint16_t XONNC_ALIAS xonnc_uint16_t;
typedef uint32_t XONNC_ALIAS xonnc_uint32_t;
typedef uint64_t XONNC_ALIAS xonnc_uint64_t;

/* Rounded once where the processor does that in one instruction. */
#ifdef FP_FAST_FMAF
#define xonnc_fmaf(a, b, c) fmaf(a, b, c)
#else
#define xonnc_fmaf(a, b, c) ((a) * (b) + (c))
#endif
#ifdef FP_FAST_FMA
#define xonnc_fma(a, b, c) fma(a, b, c)
#else
#define xonnc_fma(a, b, c) ((a) * (b) + (c))
#endif

XONNC_MAYBE_UNUSED static inline uint32_t xonnc_bits_of_float(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

XONNC_MAYBE_UNUSED static inline float xonnc_float_of_bits(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

XONNC_MAYBE_UNUSED static inline uint64_t xonnc_bits_of_double(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

XONNC_MAYBE_UNUSED static inline double xonnc_double_of_bits(uint64_t bits)
{
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* Maximum and minimum; NaN where an operand is NaN; -0 below +0. */
XONNC_MAYBE_UNUSED static inline float xonnc_fmaxf(float a, float b)
{
    return a != a ? a : b != b ? b : a > b ? a : b > a ? b : signbit(a) ? b : a;
}

XONNC_MAYBE_UNUSED static inline float xonnc_fminf(float a, float b)
{
    return a != a ? a : b != b ? b : a < b ? a : b < a ? b : signbit(a) ? a : b;
}

XONNC_MAYBE_UNUSED static inline double xonnc_fmax(double a, double b)
{
    return a != a ? a : b != b ? b : a > b ? a : b > a ? b : signbit(a) ? b : a;
}

XONNC_MAYBE_UNUSED static inline double xonnc_fmin(double a, double b)
{
    return a != a ? a : b != b ? b : a < b ? a : b < a ? b : signbit(a) ? a : b;
}

/* Integers of so many bits; what is out of range is the nearest, NaN 0. */
XONNC_MAYBE_UNUSED static inline uint64_t xonnc_to_i64(double x, int bits)
{
    const double end = ldexp(1.0, bits - 1);
    if (x != x) return 0;
    if (x >= end) return (UINT64_C(1) << (bits - 1)) - 1;
    if (x <= -end) return -(UINT64_C(1) << (bits - 1));
    return (uint64_t)(int64_t)x;
}

XONNC_MAYBE_UNUSED static inline uint64_t xonnc_to_u64(double x, int bits)
{
    if (!(x > 0)) return 0;
    if (x >= ldexp(1.0, bits)) return UINT64_MAX >> (64 - bits);
    return (uint64_t)x;
}

/* FP16 values are 16 bits. */
XONNC_MAYBE_UNUSED static inline float xonnc_from_half(uint16_t half)
{
    const uint32_t size = half & 0x7fffu;
    uint32_t bits = size << 13;
    if (size >= 0x7c00u) bits += 0x70000000u;
    else if (size < 0x400u) bits = xonnc_bits_of_float((float)size * 0x1p-24f);
    else bits += 0x38000000u;
    return xonnc_float_of_bits(bits | (uint32_t)(half & 0x8000u) << 16);
}

XONNC_MAYBE_UNUSED static inline uint16_t xonnc_to_half(float x)
{
    const uint32_t bits = xonnc_bits_of_float(x), size = bits & 0x7fffffffu;
    const uint16_t sign = (uint16_t)(bits >> 16 & 0x8000u);
    if (size > 0x7f800000u) return (uint16_t)(sign | 0x7e00u);
    if (size >= 0x477ff000u) return (uint16_t)(sign | 0x7c00u);
    if (size < 0x38800000u)
        return (uint16_t)(sign | (xonnc_bits_of_float(xonnc_float_of_bits(size) + 0.5f) - 0x3f000000u));
    return (uint16_t)(sign | (size - 0x38000000u + 0xfffu + (size >> 13 & 1u)) >> 13);
}
