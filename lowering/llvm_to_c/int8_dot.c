/* Products of four bytes without sign and four with, added to sums of 32 bits. */
#if defined(XONNC_X86)
#if defined(__AVX512VNNI__) && defined(__AVX512VL__)
#define XONNC_DOT_u32x4(a, b, c) ((xonnc_u32x4)_mm_dpbusd_epi32((__m128i)(a), (__m128i)(b), (__m128i)(c)))
#define XONNC_DOT_u32x8(a, b, c) ((xonnc_u32x8)_mm256_dpbusd_epi32((__m256i)(a), (__m256i)(b), (__m256i)(c)))
#define XONNC_DOT_u32x16(a, b, c) ((xonnc_u32x16)_mm512_dpbusd_epi32((__m512i)(a), (__m512i)(b), (__m512i)(c)))
#elif defined(__AVXVNNI__)
#define XONNC_DOT_u32x4(a, b, c) ((xonnc_u32x4)_mm_dpbusd_avx_epi32((__m128i)(a), (__m128i)(b), (__m128i)(c)))
#define XONNC_DOT_u32x8(a, b, c) \
    ((xonnc_u32x8)_mm256_dpbusd_avx_epi32((__m256i)(a), (__m256i)(b), (__m256i)(c)))
#else
#define XONNC_PAIRS_u32x4(a, b) ((xonnc_u32x4)_mm_madd_epi16((__m128i)(a), (__m128i)(b)))
#if defined(__AVX2__)
#define XONNC_PAIRS_u32x8(a, b) ((xonnc_u32x8)_mm256_madd_epi16((__m256i)(a), (__m256i)(b)))
#endif
#if defined(__AVX512BW__)
#define XONNC_PAIRS_u32x16(a, b) ((xonnc_u32x16)_mm512_madd_epi16((__m512i)(a), (__m512i)(b)))
#endif
#endif
#elif XONNC_VECTOR_BYTES && defined(__ARM_FEATURE_MATMUL_INT8)
#define XONNC_DOT_u32x4(a, b, c) \
    ((xonnc_u32x4)vusdotq_s32((int32x4_t)(a), (uint8x16_t)(b), (int8x16_t)(c)))
#endif
