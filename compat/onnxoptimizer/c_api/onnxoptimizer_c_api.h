/*
 * The C API of ONNX-optimizer.
 *
 * `xonnc optimize --c-api DIR` makes this header and the library; link with -lonnx_optimizer_c_api. The library
 * starts the Python that made it. Functions may be called from any thread. Those that fail print a line on
 * standard error.
 */
#ifndef ONNXOPTIMIZER_C_API_H
#define ONNXOPTIMIZER_C_API_H

#ifndef __cplusplus
#include <stdbool.h>
#endif
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The names of all passes, ended by NULL; for C_API_ReleasePasses. NULL if it fails. */
const char **C_API_GetAvailablePasses(void);

/* The names of the passes that fuse or eliminate, which are the default in Python. */
const char **C_API_GetFuseAndEliminationPass(void);

/* Frees such names, and sets the pointer to them to NULL. */
void C_API_ReleasePasses(const char ***passes);

/*
 * Optimizes the model in `mp_in_size` bytes at `mp_in`. `passes` are at least one name, ended by NULL; with
 * `fix_point` they are repeated until none changes anything, at most 50 times. `*mp_out` is the optimized model,
 * which the caller frees with free(). Returns whether it succeeds; else `*mp_out` and `*mp_out_size` stay as they
 * are.
 */
bool C_API_Optimize(const char *mp_in, const size_t mp_in_size, const char **passes, const bool fix_point,
                    void **mp_out, size_t *mp_out_size);

/*
 * Optimizes a model file; weights that are in other files are found there. With `save_external_data` weights go to
 * the file `data_file_name` beside `export_model_path`, which may be NULL without. Returns whether it succeeds; if
 * not, nothing is written.
 */
bool C_API_OtimizeFromFile(const char *import_model_path, const char *export_model_path, const char **passes,
                           const bool fix_point, const bool save_external_data, const char *data_file_name);

#ifdef __cplusplus
}
#endif

#endif
