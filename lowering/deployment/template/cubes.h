/*
 * Tensors of NVDLA: conversion between arrays in row-major order and feature cubes, with quantization.
 */
#ifndef XONNC_CUBES_H
#define XONNC_CUBES_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Element types of arrays and cubes. CUBE_BYTES: rows of pixels, copied as they are. */
enum { CUBE_INT8, CUBE_INT16, CUBE_FLOAT16, CUBE_FLOAT32, CUBE_BYTES };

/* A bound tensor: channel c of a position is lane c % (atom / element size) of surface c / (atom / element size). */
typedef struct {
    uint32_t images, channels, height, width;
    uint32_t element;        /* element type in the cube */
    uint32_t value;          /* element type in the array */
    uint32_t atom;           /* bytes of a position of a surface */
    uint32_t line_stride;    /* bytes from row to row */
    uint32_t surface_stride; /* bytes from surface to surface */
    uint64_t image_stride;   /* bytes from image to image */
    uint64_t offset;         /* of the first element in the memory object */
    uint64_t bytes;          /* of the memory object */
    float scale;             /* real = scale * (stored - zero_point); 0: not quantized */
    int32_t zero_point;
} cube;

/* Writes an array [images, channels, height, width] to a cube. */
void cube_pack(const cube *shape, const void *values, void *memory);

/* Writes a cube to an array. */
void cube_unpack(const cube *shape, const void *memory, void *values);

#ifdef __cplusplus
}
#endif

#endif
