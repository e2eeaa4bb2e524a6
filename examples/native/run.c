/*
 * Runs a model of one input and one output of float32 with a dynamic batch:
 *
 *     xonnc compile model.onnx -o model.so
 *     cc run.c ./model.so -o run && ./run 3
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "model.h"

static int fails(int32_t code)
{
    if (code) fprintf(stderr, "model: %s\n", model_message(code));
    return code != 0;
}

int main(int count, char **arguments)
{
    const int32_t rank = model_input_rank(0);
    const int64_t *declared = model_input_shape(0), *sizes;
    int64_t shape[16];
    uint64_t elements = 1, number;
    int32_t axis;
    model_model *model = NULL;
    float *input;
    const float *output;

    if (rank > 16) return 1;
    for (axis = 0; axis < rank; axis++) {
        shape[axis] = declared[axis] < 0 && count > 1 ? atoi(arguments[1]) : declared[axis];
        elements *= (uint64_t)shape[axis];
    }
    input = malloc(elements * sizeof *input);
    if (input == NULL) return 1;
    for (number = 0; number < elements; number++) input[number] = (float)number;

    if (fails(model_create(&model, NULL))) return 1;
    if (fails(model_set_shape(model, 0, shape, rank))) return 1;
    if (fails(model_set_input(model, 0, input, elements * sizeof *input))) return 1;
    if (fails(model_run(model))) return 1;

    printf("%s %s ", model_output_name(0), model_output_type(0));
    sizes = model_get_output_shape(model, 0);
    for (axis = 0; axis < model_output_rank(0); axis++) printf(axis ? "x%" PRId64 : "%" PRId64, sizes[axis]);
    output = model_get_output(model, 0);
    for (number = 0; number < model_get_output_bytes(model, 0) / sizeof *output; number++)
        printf("\n%.9g", (double)output[number]);
    printf("\n");
    model_destroy(model);
    free(input);
    return 0;
}
