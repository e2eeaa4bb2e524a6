/*
 * The functions that a compiled model exports, the same for all models: what differs is in tables.
 *
 * C source of a model contains this text. For objects and LLVM IR, which are made where there is no C compiler,
 * `native_api.ll` is what clang makes of it (`python -m xonnc.tools.native_api`).
 */

enum { NO_INPUT = 1, NO_OUTPUT, NO_MODEL, NO_MEMORY, NO_FILE, OTHER_WEIGHTS, SHORT_WEIGHTS, UNALIGNED, NO_SHAPE,
       OTHER_SHAPE, OTHER_BYTES, INPUT_UNSET, OUTPUT_UNSET, NEGATIVE, TOO_LARGE, FIRST_OWN };

/* In `xonnc_info`. */
enum { INPUTS, OUTPUTS, WEIGHT_BYTES, IDENTITY, ARENA_BYTES, IS_DYNAMIC, INPUT_SIZES, OUTPUT_SIZES, SIZES, ARENA_SLOT,
       OUTPUT_SLOT, PLAN_LENGTH, FIRST_BOUND, MESSAGES };

/* In a row of `xonnc_ports`. */
enum { RANK, FIRST_SIZE, BYTES, ELEMENT, PORT_FIELDS };

/* What a row of `xonnc_plan` does: see `xonnc_sizes`. */
enum { DIM, NUMBER, ADD, MUL, FLOORDIV, MIN, MAX, REQUIRE, NOT_NEGATIVE, BEGIN, COUNT, TIMES, TIMES_DIM, MOST, END,
       TOTAL, STORE, RESULT, RESULT_DIM, RESULT_NUMBER };

/* Numbers above this are no sizes: as many bytes as programs have addresses on most processors. */
#define XONNC_LARGEST ((int64_t)1 << 47)

struct PREFIX_model {
    const unsigned char *weights;
    unsigned char *arena;
    void *own_weights, *own_arena;
    const void **inputs;
    void **outputs, **own_outputs;
    /* Sizes of the inputs, what follows from them, and sizes of the outputs. */
    int64_t *shapes, *sizes, *results;
    int is_planned;
};

static int xonnc_is_input(int32_t number)
{
    return number >= 0 && number < xonnc_info[INPUTS];
}

static int xonnc_is_output(int32_t number)
{
    return number >= 0 && number < xonnc_info[OUTPUTS];
}

static const int64_t *xonnc_input(int32_t number)
{
    return xonnc_ports + number * PORT_FIELDS;
}

static const int64_t *xonnc_output(int32_t number)
{
    return xonnc_ports + (xonnc_info[INPUTS] + number) * PORT_FIELDS;
}

/* Texts: the file of weights, names and types of the inputs and of the outputs, what codes mean. */
static const char *xonnc_text(int64_t number)
{
    return xonnc_texts[1 + number];
}

const char *PREFIX_message(int32_t code)
{
    const int64_t first = 2 * (xonnc_info[INPUTS] + xonnc_info[OUTPUTS]);
    if (code < 0 || code >= xonnc_info[MESSAGES]) return "no code of this model";
    return xonnc_text(first + code);
}

int32_t PREFIX_input_count(void)
{
    return (int32_t)xonnc_info[INPUTS];
}

const char *PREFIX_input_name(int32_t input)
{
    return xonnc_is_input(input) ? xonnc_text(2 * input) : NULL;
}

const char *PREFIX_input_type(int32_t input)
{
    return xonnc_is_input(input) ? xonnc_text(2 * input + 1) : NULL;
}

uint64_t PREFIX_input_element_bytes(int32_t input)
{
    return xonnc_is_input(input) ? (uint64_t)xonnc_input(input)[ELEMENT] : 0;
}

int32_t PREFIX_input_rank(int32_t input)
{
    return xonnc_is_input(input) ? (int32_t)xonnc_input(input)[RANK] : -1;
}

const int64_t *PREFIX_input_shape(int32_t input)
{
    return xonnc_is_input(input) ? xonnc_shapes + xonnc_input(input)[FIRST_SIZE] : NULL;
}

uint64_t PREFIX_input_bytes(int32_t input)
{
    return xonnc_is_input(input) ? (uint64_t)xonnc_input(input)[BYTES] : 0;
}

int32_t PREFIX_output_count(void)
{
    return (int32_t)xonnc_info[OUTPUTS];
}

const char *PREFIX_output_name(int32_t output)
{
    return xonnc_is_output(output) ? xonnc_text(2 * (xonnc_info[INPUTS] + output)) : NULL;
}

const char *PREFIX_output_type(int32_t output)
{
    return xonnc_is_output(output) ? xonnc_text(2 * (xonnc_info[INPUTS] + output) + 1) : NULL;
}

uint64_t PREFIX_output_element_bytes(int32_t output)
{
    return xonnc_is_output(output) ? (uint64_t)xonnc_output(output)[ELEMENT] : 0;
}

int32_t PREFIX_output_rank(int32_t output)
{
    return xonnc_is_output(output) ? (int32_t)xonnc_output(output)[RANK] : -1;
}

const int64_t *PREFIX_output_shape(int32_t output)
{
    return xonnc_is_output(output) ? xonnc_shapes + xonnc_output(output)[FIRST_SIZE] : NULL;
}

uint64_t PREFIX_output_bytes(int32_t output)
{
    return xonnc_is_output(output) ? (uint64_t)xonnc_output(output)[BYTES] : 0;
}

/* Whether 64 bytes are what a file of this model's constants begins with (docs/native-code.md). */
static int xonnc_is_weight_header(const unsigned char *header)
{
    uint64_t size = 0, identity = 0;
    int place;
    for (place = 7; place >= 0; place--) {
        size = size << 8 | header[16 + place];
        identity = identity << 8 | header[24 + place];
    }
    return memcmp(header, "XONNCWGT\1\0\0\0\100\0\0\0", 16) == 0 && size == (uint64_t)xonnc_info[WEIGHT_BYTES] &&
           identity == (uint64_t)xonnc_info[IDENTITY];
}

/* A product, or `is_large` if it is beyond any size. */
static int64_t xonnc_mul(int64_t a, int64_t b, int *is_large)
{
    const int64_t x = a < 0 ? -a : a, y = b < 0 ? -b : b;
    if (y != 0 && x > XONNC_LARGEST / y) {
        *is_large = 1;
        return 0;
    }
    return a * b;
}

static int64_t xonnc_add(int64_t a, int64_t b, int *is_large)
{
    const int64_t total = a + b;
    if (total > XONNC_LARGEST || total < -XONNC_LARGEST) {
        *is_large = 1;
        return 0;
    }
    return total;
}

/*
 * Computes what follows from the sizes of the inputs `d`: numbers `s`, where things lie in the arena among them, and
 * sizes of the outputs `o`. Gives 0, or the code of what is wrong.
 */
static int32_t xonnc_sizes(const int64_t *d, int64_t *s, int64_t *o)
{
    int64_t row, total = 0, most = 0, bytes = 0;
    int is_large = 0;
    for (row = 0; row < xonnc_info[INPUT_SIZES]; row++) {
        if (d[row] < 0) return NO_SHAPE;
        if (d[row] > XONNC_LARGEST) return TOO_LARGE;
    }
    for (row = 0; row < xonnc_info[PLAN_LENGTH]; row++) {
        const int64_t kind = xonnc_plan[4 * row], t = xonnc_plan[4 * row + 1];
        const int64_t a = xonnc_plan[4 * row + 2], b = xonnc_plan[4 * row + 3];
        switch (kind) {
        case DIM: s[t] = d[a]; break;
        case NUMBER: s[t] = a; break;
        case ADD: s[t] = xonnc_add(s[a], s[b], &is_large); break;
        case MUL: s[t] = xonnc_mul(s[a], s[b], &is_large); break;
        case FLOORDIV: s[t] = s[a] / s[b] - (s[a] % s[b] < 0); break;
        case MIN: s[t] = s[a] < s[b] ? s[a] : s[b]; break;
        case MAX: s[t] = s[a] > s[b] ? s[a] : s[b]; break;
        case REQUIRE: if (s[a] != s[b]) return (int32_t)t; break;
        case NOT_NEGATIVE: if (s[a] < 0) return NEGATIVE; break;
        /* A part of the arena, which is as large as the largest that lies in it. */
        case BEGIN: s[t] = total; most = 0; break;
        case COUNT: bytes = a; break;
        case TIMES: bytes = xonnc_mul(bytes, s[a], &is_large); break;
        case TIMES_DIM: bytes = xonnc_mul(bytes, d[a], &is_large); break;
        case MOST: if (bytes > most) most = bytes; break;
        case END: total = xonnc_add(total, (most + 63) / 64 * 64, &is_large); break;
        case TOTAL: s[t] = total; break;
        case STORE: s[t] = bytes; break;
        case RESULT: o[t] = s[a]; break;
        case RESULT_DIM: o[t] = d[a]; break;
        default: o[t] = a; break;
        }
        if (is_large) return TOO_LARGE;
    }
    return 0;
}

#ifdef XONNC_NO_MALLOC

/* One model at a time, in static arrays: no files, and outputs are the caller's. */
static int xonnc_is_used;

static void *xonnc_allocate_state(uint64_t bytes)
{
    static _Alignas(64) unsigned char state[XONNC_STATE_BYTES];
    if (xonnc_is_used || bytes > XONNC_STATE_BYTES) return NULL;
    xonnc_is_used = 1;
    return state;
}

static void xonnc_free_state(void *memory)
{
    (void)memory;
    xonnc_is_used = 0;
}

static void *xonnc_allocate(uint64_t bytes)
{
    static _Alignas(64) unsigned char arena[XONNC_ARENA_BYTES];
    return bytes > XONNC_ARENA_BYTES ? NULL : arena;
}

static void xonnc_free(void *memory)
{
    (void)memory;
}

static unsigned char *xonnc_aligned(void *memory)
{
    return (unsigned char *)memory;
}

static int32_t xonnc_load(struct PREFIX_model *m, const char *path)
{
    (void)m;
    (void)path;
    return NO_FILE;
}

#else

static void *xonnc_allocate(uint64_t bytes)
{
    return bytes > SIZE_MAX - 128 ? NULL : malloc((size_t)bytes + 64);
}

static void xonnc_free(void *memory)
{
    free(memory);
}

static void *xonnc_allocate_state(uint64_t bytes)
{
    return xonnc_allocate(bytes);
}

static void xonnc_free_state(void *memory)
{
    free(memory);
}

/* Where memory has a multiple of 64 bytes. */
static unsigned char *xonnc_aligned(void *memory)
{
    return (unsigned char *)memory + (64 - (uintptr_t)memory % 64);
}

static int32_t xonnc_load(struct PREFIX_model *m, const char *path)
{
    const size_t bytes = (size_t)xonnc_info[WEIGHT_BYTES];
    unsigned char header[64];
    FILE *file = fopen(path, "rb");
    int32_t code = OTHER_WEIGHTS;
    if (file == NULL) return NO_FILE;
    if (fread(header, 1, 64, file) == 64 && xonnc_is_weight_header(header)) {
        m->own_weights = xonnc_allocate(bytes);
        code = NO_MEMORY;
        if (m->own_weights != NULL) {
            m->weights = xonnc_aligned(m->own_weights);
            code = fread(xonnc_aligned(m->own_weights), 1, bytes, file) == bytes ? 0 : SHORT_WEIGHTS;
        }
    }
    fclose(file);
    return code;
}

#endif

/* Bytes of the state of a model: the struct, and what it points to. */
static uint64_t xonnc_state_bytes(void)
{
    return sizeof(struct PREFIX_model) + 8 * (uint64_t)(xonnc_info[INPUTS] + 2 * xonnc_info[OUTPUTS] +
                                                       xonnc_info[INPUT_SIZES] + xonnc_info[SIZES] +
                                                       xonnc_info[OUTPUT_SIZES]);
}

/* A model without constants and memory yet. */
static struct PREFIX_model *xonnc_new(void)
{
    struct PREFIX_model *m = (struct PREFIX_model *)xonnc_allocate_state(xonnc_state_bytes());
    int64_t number;
    if (m == NULL) return NULL;
    memset(m, 0, (size_t)xonnc_state_bytes());
    m->shapes = (int64_t *)(m + 1);
    m->sizes = m->shapes + xonnc_info[INPUT_SIZES];
    m->results = m->sizes + xonnc_info[SIZES];
    m->inputs = (const void **)(m->results + xonnc_info[OUTPUT_SIZES]);
    m->outputs = (void **)(m->inputs + xonnc_info[INPUTS]);
    m->own_outputs = m->outputs + xonnc_info[OUTPUTS];
    for (number = 0; number < xonnc_info[INPUT_SIZES]; number++) m->shapes[number] = xonnc_shapes[number];
    for (number = 0; number < xonnc_info[OUTPUT_SIZES]; number++)
        m->results[number] = xonnc_shapes[xonnc_info[INPUT_SIZES] + number];
    return m;
}

static void xonnc_end(struct PREFIX_model *m)
{
    int64_t number;
    if (m == NULL) return;
    for (number = 0; number < xonnc_info[OUTPUTS]; number++) xonnc_free(m->own_outputs[number]);
    xonnc_free(m->own_arena);
    xonnc_free(m->own_weights);
    xonnc_free_state(m);
}

static uint64_t xonnc_output_bytes(const struct PREFIX_model *m, int32_t output)
{
    return (uint64_t)(xonnc_info[IS_DYNAMIC] ? m->sizes[xonnc_info[OUTPUT_SLOT] + output] : xonnc_output(output)[BYTES]);
}

/* Makes memory for the sizes that are set. */
static int32_t xonnc_place(struct PREFIX_model *m)
{
    int32_t code = 0, number;
    uint64_t arena = (uint64_t)xonnc_info[ARENA_BYTES];
    if (m->is_planned) return 0;
    if (xonnc_info[IS_DYNAMIC]) {
        code = xonnc_sizes(m->shapes, m->sizes, m->results);
        if (code) return code;
        arena = (uint64_t)m->sizes[xonnc_info[ARENA_SLOT]];
    }
    xonnc_free(m->own_arena);
    m->own_arena = xonnc_allocate(arena);
    if (m->own_arena == NULL) return NO_MEMORY;
    m->arena = xonnc_aligned(m->own_arena);
#ifndef XONNC_NO_MALLOC
    for (number = 0; number < xonnc_info[OUTPUTS]; number++) {
        xonnc_free(m->own_outputs[number]);
        m->outputs[number] = NULL;
        m->own_outputs[number] = xonnc_allocate(xonnc_output_bytes(m, number));
        if (m->own_outputs[number] == NULL) return NO_MEMORY;
        m->outputs[number] = xonnc_aligned(m->own_outputs[number]);
    }
#else
    (void)number;
#endif
    m->is_planned = 1;
    return 0;
}

/* Gives a model that is made; ends one that is not. */
static int32_t xonnc_give(struct PREFIX_model *m, int32_t code, struct PREFIX_model **model)
{
    if (code == 0 && !xonnc_info[IS_DYNAMIC]) code = xonnc_place(m);
    if (code) xonnc_end(m);
    *model = code ? NULL : m;
    return code;
}

int32_t PREFIX_create(PREFIX_model **model, const char *weight_file)
{
    struct PREFIX_model *m;
    int32_t code = 0;
    if (model == NULL) return NO_MODEL;
    *model = NULL;
    m = xonnc_new();
    if (m == NULL) return NO_MEMORY;
    m->weights = xonnc_inside;
    if (xonnc_info[WEIGHT_BYTES] > 0 && (weight_file != NULL || m->weights == NULL))
        code = xonnc_load(m, weight_file == NULL ? xonnc_texts[0] : weight_file);
    return xonnc_give(m, code, model);
}

int32_t PREFIX_create_from(PREFIX_model **model, const void *weights, uint64_t bytes)
{
    struct PREFIX_model *m;
    const unsigned char *header = (const unsigned char *)weights;
    if (model == NULL) return NO_MODEL;
    *model = NULL;
    if (header == NULL || bytes < 64 || !xonnc_is_weight_header(header)) return OTHER_WEIGHTS;
    if (bytes - 64 != (uint64_t)xonnc_info[WEIGHT_BYTES]) return SHORT_WEIGHTS;
    if ((uintptr_t)weights % 64 != 0) return UNALIGNED;
    m = xonnc_new();
    if (m == NULL) return NO_MEMORY;
    m->weights = header + 64;
    return xonnc_give(m, 0, model);
}

void PREFIX_destroy(PREFIX_model *model)
{
    xonnc_end(model);
}

int32_t PREFIX_set_shape(PREFIX_model *model, int32_t input, const int64_t *shape, int32_t rank)
{
    const int64_t *port, *declared;
    int32_t axis;
    if (model == NULL) return NO_MODEL;
    if (!xonnc_is_input(input)) return NO_INPUT;
    port = xonnc_input(input);
    declared = xonnc_shapes + port[FIRST_SIZE];
    if (rank != port[RANK] || (rank > 0 && shape == NULL)) return OTHER_SHAPE;
    for (axis = 0; axis < rank; axis++)
        if (shape[axis] < 0 || (declared[axis] >= 0 && shape[axis] != declared[axis])) return OTHER_SHAPE;
    for (axis = 0; axis < rank; axis++) model->shapes[port[FIRST_SIZE] + axis] = shape[axis];
    model->inputs[input] = NULL;
    /* Where no size is dynamic, everything lies where it did. */
    if (xonnc_info[IS_DYNAMIC]) model->is_planned = 0;
    return 0;
}

int32_t PREFIX_set_input(PREFIX_model *model, int32_t input, const void *data, uint64_t bytes)
{
    const int64_t *port;
    int64_t total, axis;
    int is_large = 0;
    if (model == NULL) return NO_MODEL;
    if (!xonnc_is_input(input)) return NO_INPUT;
    port = xonnc_input(input);
    total = port[ELEMENT];
    for (axis = 0; axis < port[RANK]; axis++) {
        const int64_t size = model->shapes[port[FIRST_SIZE] + axis];
        if (size < 0) return NO_SHAPE;
        total = xonnc_mul(total, size, &is_large);
    }
    if (is_large) return TOO_LARGE;
    if (data == NULL || bytes != (uint64_t)total) return OTHER_BYTES;
    model->inputs[input] = data;
    return 0;
}

int32_t PREFIX_set_output(PREFIX_model *model, int32_t output, void *data, uint64_t bytes)
{
    int32_t code;
    if (model == NULL) return NO_MODEL;
    if (!xonnc_is_output(output)) return NO_OUTPUT;
    code = xonnc_place(model);
    if (code) return code;
    if (data == NULL || bytes != xonnc_output_bytes(model, output)) return OTHER_BYTES;
    model->outputs[output] = data;
    return 0;
}

int32_t PREFIX_run(PREFIX_model *model)
{
    int32_t code, number;
    if (model == NULL) return NO_MODEL;
    code = xonnc_place(model);
    if (code) return code;
    for (number = 0; number < xonnc_info[INPUTS]; number++)
        if (model->inputs[number] == NULL) return INPUT_UNSET;
    for (number = 0; number < xonnc_info[OUTPUTS]; number++)
        if (model->outputs[number] == NULL) return OUTPUT_UNSET;
    code = xonnc_main(model->weights, model->arena, model->inputs, model->outputs, model->sizes);
    return code ? (int32_t)xonnc_info[FIRST_BOUND] + code - 1 : 0;
}

const void *PREFIX_get_output(PREFIX_model *model, int32_t output)
{
    return model != NULL && xonnc_is_output(output) ? model->outputs[output] : NULL;
}

const int64_t *PREFIX_get_output_shape(PREFIX_model *model, int32_t output)
{
    if (model == NULL || !xonnc_is_output(output) || xonnc_place(model)) return NULL;
    return model->results + (xonnc_output(output)[FIRST_SIZE] - xonnc_info[INPUT_SIZES]);
}

uint64_t PREFIX_get_output_bytes(PREFIX_model *model, int32_t output)
{
    if (model == NULL || !xonnc_is_output(output) || xonnc_place(model)) return 0;
    return xonnc_output_bytes(model, output);
}
