/*
 * $model, compiled by xonnc.
 *
 *     $prefix m;
 *     if (${prefix}_create(&m, ...) || ${prefix}_set_input(&m, 0, data, bytes) || ${prefix}_run(&m))
 *         puts(${prefix}_error(&m));
 *     result = ${prefix}_get_output(&m, 0);
 *     ${prefix}_destroy(&m);
 *
 * Functions that can fail give 0, or -1 and a text of what is wrong. Arrays are in rows, aligned as their
 * elements are. A model runs in one thread at a time; several models may run at once.
 */
#ifndef ${PREFIX}_H
#define ${PREFIX}_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>
$switches
#ifndef ${PREFIX}_NO_MALLOC
#include <stdio.h>
#include <stdlib.h>
#endif

#ifdef __cplusplus
extern "C" {
#endif

#define ${PREFIX}_INPUTS $inputs
#define ${PREFIX}_OUTPUTS $outputs
#define ${PREFIX}_ARENA_BYTES $arena
#define ${PREFIX}_WEIGHT_BYTES UINT64_C($weight_bytes)
#define ${PREFIX}_WEIGHT_IDENTITY UINT64_C($identity)
#define ${PREFIX}_WEIGHT_FILE $weight_file

/*
 * An input or output: its name, the type of its elements as numpy calls it, its sizes, all bytes and those of
 * an element. A size that is open is -1, and there are 0 bytes then.
 */
typedef struct {
    const char *name;
    const char *type;
    int rank;
    const int64_t *shape;
    size_t bytes;
    size_t element;
} ${prefix}_tensor;

typedef struct {
    const void *inputs[$input_slots];
    void *outputs[$output_slots];
    const void *weights;
    void *arena;
    /* Memory of this model's own. */
    void *allocated[$output_slots + 2];
    const char *error;
#ifdef ${PREFIX}_OPEN
    /* Sizes of the inputs, what follows from them, and sizes of the outputs. */
    int64_t shapes[$input_sizes];
    int64_t sizes[$sizes];
    int64_t results[$output_sizes];
    int is_planned;
#endif
} $prefix;

/*
 * The model itself: 0, or the number of what an input breaks. The arena begins at a multiple of 64 bytes, and
 * arrays are not checked.
 */
#ifdef ${PREFIX}_OPEN
int ${prefix}_main(const void *weights, void *arena, const void *const *inputs, void *const *outputs,
    const int64_t *sizes);
#else
int ${prefix}_main(const void *weights, void *arena, const void *const *inputs, void *const *outputs);
#endif

#ifdef ${PREFIX}_WEIGHTS_INSIDE
extern const unsigned char ${prefix}_weights[];
#endif
#ifdef ${PREFIX}_NO_MALLOC
extern unsigned char ${prefix}_arena[];
#endif

static inline const ${prefix}_tensor *${prefix}_input(int number)
{
$input_table
    return number >= 0 && number < ${PREFIX}_INPUTS ? &tensors[number] : NULL;
}

static inline const ${prefix}_tensor *${prefix}_output(int number)
{
$output_table
    return number >= 0 && number < ${PREFIX}_OUTPUTS ? &tensors[number] : NULL;
}

/* What the numbers that ${prefix}_main gives mean. */
static inline const char *${prefix}_broken(int number)
{
    static const char *const texts[] = {
        "all is well",
$texts
    };
    return texts[number];
}

static inline const char *${prefix}_error(const $prefix *m)
{
    return m->error;
}

static inline int ${prefix}_fails($prefix *m, const char *error)
{
    m->error = error;
    return -1;
}

/* Whether 64 bytes are what a file of this model's constants begins with. */
static inline int ${prefix}_is_weight_header(const unsigned char *header)
{
    uint64_t size = 0, identity = 0;
    int place;
    for (place = 7; place >= 0; place--) {
        size = size << 8 | header[16 + place];
        identity = identity << 8 | header[24 + place];
    }
    return memcmp(header, "XONNCWGT\1\0\0\0\100\0\0\0", 16) == 0 && size == ${PREFIX}_WEIGHT_BYTES &&
           identity == ${PREFIX}_WEIGHT_IDENTITY;
}

#ifdef ${PREFIX}_NO_MALLOC

/* `weights` is the whole file of constants, at a multiple of 64 bytes. One model at a time. */
static inline int ${prefix}_create($prefix *m, const void *weights, size_t bytes)
{
    memset(m, 0, sizeof *m);
    if (bytes != ${PREFIX}_WEIGHT_BYTES + 64 || !${prefix}_is_weight_header((const unsigned char *)weights))
        return ${prefix}_fails(m, "the weights are not those of this model");
    m->weights = (const unsigned char *)weights + 64;
    m->arena = ${prefix}_arena;
    return 0;
}

static inline void ${prefix}_destroy($prefix *m)
{
    memset(m, 0, sizeof *m);
}

#else

/* Memory at a multiple of 64 bytes. */
static inline void *${prefix}_allocate($prefix *m, int slot, uint64_t bytes)
{
    unsigned char *memory;
    if (bytes > SIZE_MAX - 128) return NULL;
    memory = (unsigned char *)malloc((size_t)bytes + 64);
    m->allocated[slot] = memory;
    return memory == NULL ? NULL : memory + (64 - (uintptr_t)memory % 64);
}

static inline void ${prefix}_destroy($prefix *m)
{
    int slot;
    for (slot = 0; slot < $output_slots + 2; slot++) free(m->allocated[slot]);
    memset(m, 0, sizeof *m);
}

static inline int ${prefix}_load_weights($prefix *m, const char *path)
{
    unsigned char header[64];
    unsigned char *weights = (unsigned char *)${prefix}_allocate(m, 1, ${PREFIX}_WEIGHT_BYTES);
    FILE *file;
    size_t found = 0;
    if (weights == NULL) return ${prefix}_fails(m, "no memory for the weights");
    file = fopen(path, "rb");
    if (file == NULL) return ${prefix}_fails(m, "the file of weights cannot be opened");
    if (fread(header, 1, 64, file) == 64 && ${prefix}_is_weight_header(header))
        found = fread(weights, 1, (size_t)${PREFIX}_WEIGHT_BYTES, file) + 1;
    fclose(file);
    if (found == 0) return ${prefix}_fails(m, "the file of weights is not this model's");
    if (found - 1 != ${PREFIX}_WEIGHT_BYTES) return ${prefix}_fails(m, "the file of weights is cut short");
    m->weights = weights;
    return 0;
}

/* `path` is the file of weights; NULL: the one called ${PREFIX}_WEIGHT_FILE, or what lies in the object. */
static inline int ${prefix}_create($prefix *m, const char *path)
{
    int number, failed = 0;
    memset(m, 0, sizeof *m);
#ifdef ${PREFIX}_WEIGHTS_INSIDE
    if (path == NULL) m->weights = ${prefix}_weights;
#endif
    if (m->weights == NULL) failed = ${prefix}_load_weights(m, path == NULL ? ${PREFIX}_WEIGHT_FILE : path);
#ifdef ${PREFIX}_OPEN
    {
        static const int64_t given[] = {$given};
        for (number = 0; number < $input_sizes; number++) m->shapes[number] = given[number];
    }
#else
    m->arena = failed ? NULL : ${prefix}_allocate(m, 0, ${PREFIX}_ARENA_BYTES);
    if (!failed && m->arena == NULL) failed = ${prefix}_fails(m, "no memory for the arena");
    for (number = 0; number < ${PREFIX}_OUTPUTS && !failed; number++) {
        m->outputs[number] = ${prefix}_allocate(m, number + 2, ${prefix}_output(number)->bytes);
        if (m->outputs[number] == NULL) failed = ${prefix}_fails(m, "no memory for the outputs");
    }
#endif
    if (failed) {
        const char *error = m->error;
        ${prefix}_destroy(m);
        m->error = error;
    }
    return failed;
}

#endif

#ifdef ${PREFIX}_OPEN

/* Numbers above this are no sizes: as many bytes as programs have addresses on most processors. */
#define ${PREFIX}_MOST INT64_C($most)

static inline int64_t ${prefix}_mul(int64_t a, int64_t b, int *large)
{
    int64_t x = a < 0 ? -a : a, y = b < 0 ? -b : b;
    if (y != 0 && x > ${PREFIX}_MOST / y) {
        *large = 1;
        return 0;
    }
    return a * b;
}

static inline int64_t ${prefix}_add(int64_t a, int64_t b, int *large)
{
    int64_t total = a + b;
    if (total > ${PREFIX}_MOST || total < -${PREFIX}_MOST) {
        *large = 1;
        return 0;
    }
    return total;
}

static inline int64_t ${prefix}_floordiv(int64_t a, int64_t b, int *large)
{
    (void)large;
    return a / b - (a % b < 0);
}

static inline int64_t ${prefix}_min(int64_t a, int64_t b, int *large)
{
    (void)large;
    return a < b ? a : b;
}

static inline int64_t ${prefix}_max(int64_t a, int64_t b, int *large)
{
    (void)large;
    return a > b ? a : b;
}

/*
 * Computes what follows from the sizes of the inputs `d`: numbers `s`, and sizes of the outputs `o`. Gives
 * NULL, or what is wrong.
 */
static inline const char *${prefix}_sizes(const int64_t *d, int64_t *s, int64_t *o)
{
    int64_t total, most, bytes;
    int number, large = 0;
    for (number = 0; number < $input_sizes; number++) {
        if (d[number] < 0) return "the shape of an input is not set";
        if (d[number] > ${PREFIX}_MOST) return "sizes beyond any memory";
    }
    most = bytes = 0;
    (void)most;
    (void)bytes;
$plan
$made
    (void)o;
    return large || s[$arena_slot] > ${PREFIX}_MOST ? "sizes beyond any memory" : NULL;
}

/* The sizes of an input as they are set. */
static inline int64_t *${prefix}_sizes_of_input($prefix *m, int number)
{
    int before, first = 0;
    for (before = 0; before < number; before++) first += ${prefix}_input(before)->rank;
    return m->shapes + first;
}

/* Says how large an input is, before it is set; what was set for outputs is forgotten. */
static inline int ${prefix}_set_shape($prefix *m, int number, const int64_t *shape)
{
    const ${prefix}_tensor *tensor = ${prefix}_input(number);
    int axis;
    if (tensor == NULL) return ${prefix}_fails(m, "no such input");
    for (axis = 0; axis < tensor->rank; axis++)
        if (shape[axis] < 0 || (tensor->shape[axis] >= 0 && shape[axis] != tensor->shape[axis]))
            return ${prefix}_fails(m, "an input of another shape");
    for (axis = 0; axis < tensor->rank; axis++) ${prefix}_sizes_of_input(m, number)[axis] = shape[axis];
    m->inputs[number] = NULL;
    m->is_planned = 0;
    return 0;
}

/* Makes memory of the sizes that are set. */
static inline int ${prefix}_plan($prefix *m)
{
    const char *wrong;
    int number;
    if (m->is_planned) return 0;
    wrong = ${prefix}_sizes(m->shapes, m->sizes, m->results);
    if (wrong != NULL) return ${prefix}_fails(m, wrong);
    free(m->allocated[0]);
    m->allocated[0] = NULL;
    m->arena = ${prefix}_allocate(m, 0, (uint64_t)m->sizes[$arena_slot]);
    if (m->arena == NULL) return ${prefix}_fails(m, "no memory for the arena");
    for (number = 0; number < ${PREFIX}_OUTPUTS; number++) {
        free(m->allocated[number + 2]);
        m->allocated[number + 2] = NULL;
        m->outputs[number] = ${prefix}_allocate(m, number + 2, (uint64_t)m->sizes[$output_slot + number]);
        if (m->outputs[number] == NULL) return ${prefix}_fails(m, "no memory for the outputs");
    }
    m->is_planned = 1;
    return 0;
}

/* The sizes of an output for the shapes that are set; NULL if they do not fit together. */
static inline const int64_t *${prefix}_output_shape($prefix *m, int number)
{
    int before, first = 0;
    if (${prefix}_output(number) == NULL || ${prefix}_plan(m)) return NULL;
    for (before = 0; before < number; before++) first += ${prefix}_output(before)->rank;
    return m->results + first;
}

#endif

/* The array is read where it lies, at each run. */
static inline int ${prefix}_set_input($prefix *m, int number, const void *data, size_t bytes)
{
    const ${prefix}_tensor *tensor = ${prefix}_input(number);
    size_t wanted;
    if (tensor == NULL) return ${prefix}_fails(m, "no such input");
    wanted = tensor->bytes;
#ifdef ${PREFIX}_OPEN
    {
        const int64_t *shape = ${prefix}_sizes_of_input(m, number);
        int axis, large = 0;
        int64_t total = (int64_t)tensor->element;
        for (axis = 0; axis < tensor->rank; axis++) {
            if (shape[axis] < 0) return ${prefix}_fails(m, "the shape of an input is not set");
            total = ${prefix}_mul(total, shape[axis], &large);
        }
        if (large) return ${prefix}_fails(m, "sizes beyond any memory");
        wanted = (size_t)total;
    }
#endif
    if (data == NULL || bytes != wanted) return ${prefix}_fails(m, "an input of another size");
    m->inputs[number] = data;
    return 0;
}

/* The array is written where it lies, at each run, in place of memory of the model's own. */
static inline int ${prefix}_set_output($prefix *m, int number, void *data, size_t bytes)
{
    const ${prefix}_tensor *tensor = ${prefix}_output(number);
    size_t wanted;
    if (tensor == NULL) return ${prefix}_fails(m, "no such output");
    wanted = tensor->bytes;
#ifdef ${PREFIX}_OPEN
    if (${prefix}_plan(m)) return -1;
    wanted = (size_t)m->sizes[$output_slot + number];
#endif
    if (data == NULL || bytes != wanted) return ${prefix}_fails(m, "an output of another size");
    m->outputs[number] = data;
    return 0;
}

static inline const void *${prefix}_get_output(const $prefix *m, int number)
{
    return ${prefix}_output(number) == NULL ? NULL : m->outputs[number];
}

static inline int ${prefix}_run($prefix *m)
{
    int number;
#ifdef ${PREFIX}_OPEN
    if (m->weights == NULL) return ${prefix}_fails(m, "the model is not created");
    if (${prefix}_plan(m)) return -1;
#endif
    if (m->arena == NULL) return ${prefix}_fails(m, "the model is not created");
    for (number = 0; number < ${PREFIX}_INPUTS; number++)
        if (m->inputs[number] == NULL) return ${prefix}_fails(m, "an input is not set");
    for (number = 0; number < ${PREFIX}_OUTPUTS; number++)
        if (m->outputs[number] == NULL) return ${prefix}_fails(m, "an output is not set");
#ifdef ${PREFIX}_OPEN
    number = ${prefix}_main(m->weights, m->arena, m->inputs, m->outputs, m->sizes);
#else
    number = ${prefix}_main(m->weights, m->arena, m->inputs, m->outputs);
#endif
    if (number) return ${prefix}_fails(m, ${prefix}_broken(number));
    m->error = NULL;
    return 0;
}

#ifdef __cplusplus
}
#endif

#endif
