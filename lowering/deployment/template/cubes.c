#include "cubes.h"

#include <math.h>
#include <string.h>

static uint32_t bits_of(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static float float_of(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* Rounds to nearest, ties to even; overflow gives infinity, NaN stays NaN. */
static uint16_t to_half(float value)
{
    const uint32_t bits = bits_of(value), magnitude = bits & 0x7fffffffu;
    const uint16_t sign = (uint16_t)(bits >> 16 & 0x8000u);
    if (magnitude > 0x7f800000u) {
        const uint32_t payload = magnitude >> 13 & 0x3ffu;
        return (uint16_t)(sign | 0x7c00u | (payload ? payload : 1));
    }
    if (magnitude >= 0x477ff000u) return (uint16_t)(sign | 0x7c00u); /* 65520 and more */
    if (magnitude < 0x38800000u) {
        /* Subnormal: the sum's last bit has the weight 2^-24, so the addition rounds. */
        const float shifted = float_of(magnitude) + 0.5f;
        return (uint16_t)(sign | (bits_of(shifted) - 0x3f000000u));
    }
    return (uint16_t)(sign | ((magnitude - 0x38000000u + 0xfffu + (magnitude >> 13 & 1)) >> 13));
}

static float from_half(uint16_t half)
{
    const uint32_t sign = (uint32_t)(half & 0x8000u) << 16, magnitude = half & 0x7fffu;
    if (magnitude >= 0x7c00u) return float_of(sign | 0x7f800000u | (magnitude & 0x3ffu) << 13);
    if (magnitude >= 0x400u) return float_of(sign | ((magnitude << 13) + 0x38000000u));
    return float_of(sign | bits_of((float)magnitude * 5.9604644775390625e-8f)); /* 2^-24 */
}

static int8_t quantized(float value, float scale, int32_t zero_point)
{
    float rounded = rintf(value / scale); /* ties to even, the default rounding mode */
    if (isnan(rounded)) rounded = 0.0f;
    rounded += (float)zero_point;
    return (int8_t)(rounded < -128.0f ? -128.0f : rounded > 127.0f ? 127.0f : rounded);
}

static uint32_t element_size(uint32_t type)
{
    return type == CUBE_FLOAT32 ? 4 : type == CUBE_INT16 || type == CUBE_FLOAT16 ? 2 : 1;
}

static float load(const cube *shape, const char *value)
{
    float number;
    uint16_t half;
    if (shape->value == CUBE_FLOAT32) {
        memcpy(&number, value, sizeof number);
        return number;
    }
    memcpy(&half, value, sizeof half);
    return from_half(half);
}

static void pack_element(const cube *shape, const char *value, char *stored)
{
    if (shape->value == shape->element) {
        memcpy(stored, value, element_size(shape->element));
    } else if (shape->element == CUBE_FLOAT16) {
        const uint16_t half = to_half(load(shape, value));
        memcpy(stored, &half, sizeof half);
    } else {
        *(int8_t *)stored = quantized(load(shape, value), shape->scale, shape->zero_point);
    }
}

static void unpack_element(const cube *shape, const char *stored, char *value)
{
    float number;
    uint16_t half;
    if (shape->value == shape->element) {
        memcpy(value, stored, element_size(shape->element));
        return;
    }
    if (shape->element == CUBE_FLOAT16) {
        memcpy(&half, stored, sizeof half);
        number = from_half(half);
    } else {
        number = ((float)*(const int8_t *)stored - (float)shape->zero_point) * shape->scale;
    }
    if (shape->value == CUBE_FLOAT16) {
        half = to_half(number);
        memcpy(value, &half, sizeof half);
    } else {
        memcpy(value, &number, sizeof number);
    }
}

void cube_pack(const cube *shape, const void *values, void *memory)
{
    const char *value = values;
    const uint64_t plane = (uint64_t)shape->height * shape->width;
    const uint32_t size = element_size(shape->element), step = element_size(shape->value);
    const uint32_t lanes = shape->element == CUBE_BYTES ? 1 : shape->atom / size;
    uint32_t image, channel, y, x;
    for (image = 0; image < shape->images; image++) {
        char *base = (char *)memory + shape->offset + image * shape->image_stride;
        if (shape->element == CUBE_BYTES) {
            for (y = 0; y < shape->height; y++, value += shape->width)
                memcpy(base + (uint64_t)y * shape->line_stride, value, shape->width);
            continue;
        }
        /* Lanes after the last channel are zeros. */
        for (channel = 0; channel < (shape->channels + lanes - 1) / lanes * lanes; channel++) {
            char *surface = base + (uint64_t)(channel / lanes) * shape->surface_stride + channel % lanes * size;
            for (y = 0; y < shape->height; y++) {
                char *stored = surface + (uint64_t)y * shape->line_stride;
                for (x = 0; x < shape->width; x++, stored += shape->atom) {
                    if (channel < shape->channels) {
                        const uint64_t index = channel * plane + (uint64_t)y * shape->width + x;
                        pack_element(shape, value + index * step, stored);
                    } else {
                        memset(stored, 0, size);
                    }
                }
            }
        }
        value += shape->channels * plane * step;
    }
}

void cube_unpack(const cube *shape, const void *memory, void *values)
{
    char *value = values;
    const uint32_t size = element_size(shape->element), step = element_size(shape->value);
    const uint32_t lanes = shape->atom / size;
    uint32_t image, channel, y, x;
    for (image = 0; image < shape->images; image++) {
        const char *base = (const char *)memory + shape->offset + image * shape->image_stride;
        for (channel = 0; channel < shape->channels; channel++) {
            const char *surface =
                base + (uint64_t)(channel / lanes) * shape->surface_stride + channel % lanes * size;
            for (y = 0; y < shape->height; y++) {
                const char *stored = surface + (uint64_t)y * shape->line_stride;
                for (x = 0; x < shape->width; x++, stored += shape->atom, value += step)
                    unpack_element(shape, stored, value);
            }
        }
    }
}
