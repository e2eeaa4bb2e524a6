/*
 * $model, compiled by xonnc.
 *
$ports
 *
 *     ${prefix}_model *m;
 *     int32_t code = ${prefix}_create(&m, NULL);
 *     if (!code) code = ${prefix}_set_input(m, 0, data, bytes);
 *     if (!code) code = ${prefix}_run(m);
 *     if (code) puts(${prefix}_message(code));
 *     else result = ${prefix}_get_output(m, 0);
 *     ${prefix}_destroy(m);
 *
 * Functions that can fail give 0, or a code of which ${prefix}_message tells the meaning. Arrays are in rows,
 * aligned as their elements are. A model runs in one thread at a time; several models may run at once.
 */
#ifndef ${PREFIX}_H
#define ${PREFIX}_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A model with the memory it runs in. */
typedef struct ${prefix}_model ${prefix}_model;

/*
 * Makes a model. `weight_file` is its file of constants; NULL: what lies in the object, or the file that it was
 * compiled with. After a failure there is no model, and `*model` is NULL.
 */
int32_t ${prefix}_create(${prefix}_model **model, const char *weight_file);

/*
 * The same with the content of the file of constants in memory, which stays there as long as the model does. It
 * begins at a multiple of 64 bytes.
 */
int32_t ${prefix}_create_from(${prefix}_model **model, const void *weights, uint64_t bytes);

/* Frees a model; NULL is none. */
void ${prefix}_destroy(${prefix}_model *model);

/* What a code means; 0 is success. */
const char *${prefix}_message(int32_t code);

/*
 * Inputs and outputs count from 0. Name, type of elements as numpy calls it, bytes of an element, number of axes,
 * sizes (-1: dynamic) and bytes of all (0 if a size is dynamic). Of one that there is not: NULL, 0 and -1 axes.
 */
int32_t ${prefix}_input_count(void);
const char *${prefix}_input_name(int32_t input);
const char *${prefix}_input_type(int32_t input);
uint64_t ${prefix}_input_element_bytes(int32_t input);
int32_t ${prefix}_input_rank(int32_t input);
const int64_t *${prefix}_input_shape(int32_t input);
uint64_t ${prefix}_input_bytes(int32_t input);
int32_t ${prefix}_output_count(void);
const char *${prefix}_output_name(int32_t output);
const char *${prefix}_output_type(int32_t output);
uint64_t ${prefix}_output_element_bytes(int32_t output);
int32_t ${prefix}_output_rank(int32_t output);
const int64_t *${prefix}_output_shape(int32_t output);
uint64_t ${prefix}_output_bytes(int32_t output);

/* Says the sizes of an input, which is set after that; what was set for outputs is forgotten. */
int32_t ${prefix}_set_shape(${prefix}_model *model, int32_t input, const int64_t *shape, int32_t rank);

/* The array is read where it lies, at each run. */
int32_t ${prefix}_set_input(${prefix}_model *model, int32_t input, const void *data, uint64_t bytes);

/* The array is written where it lies, at each run, in place of memory of the model's own. */
int32_t ${prefix}_set_output(${prefix}_model *model, int32_t output, void *data, uint64_t bytes);

/* Computes the outputs. */
int32_t ${prefix}_run(${prefix}_model *model);

/* The array of an output; NULL if there is none. */
const void *${prefix}_get_output(${prefix}_model *model, int32_t output);

/* Sizes and bytes of an output for the shapes that are set; NULL and 0 if they do not fit together. */
const int64_t *${prefix}_get_output_shape(${prefix}_model *model, int32_t output);
uint64_t ${prefix}_get_output_bytes(${prefix}_model *model, int32_t output);

#ifdef __cplusplus
}
#endif

#endif
