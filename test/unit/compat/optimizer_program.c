/* A program that uses the C API of ONNX-optimizer; with OPENED_LATER it opens the library by dlopen. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "onnxoptimizer_c_api.h"

static __typeof__(&C_API_GetAvailablePasses) available_passes;
static __typeof__(&C_API_GetFuseAndEliminationPass) default_passes;
static __typeof__(&C_API_ReleasePasses) release_passes;
static __typeof__(&C_API_Optimize) optimize;
static __typeof__(&C_API_OtimizeFromFile) optimize_file;

static void find(const char *library) {
#ifdef OPENED_LATER
  void *opened = dlopen(library, RTLD_NOW | RTLD_LOCAL);
  available_passes = (__typeof__(available_passes))dlsym(opened, "C_API_GetAvailablePasses");
  default_passes = (__typeof__(default_passes))dlsym(opened, "C_API_GetFuseAndEliminationPass");
  release_passes = (__typeof__(release_passes))dlsym(opened, "C_API_ReleasePasses");
  optimize = (__typeof__(optimize))dlsym(opened, "C_API_Optimize");
  optimize_file = (__typeof__(optimize_file))dlsym(opened, "C_API_OtimizeFromFile");
#else
  (void)library;
  available_passes = C_API_GetAvailablePasses;
  default_passes = C_API_GetFuseAndEliminationPass;
  release_passes = C_API_ReleasePasses;
  optimize = C_API_Optimize;
  optimize_file = C_API_OtimizeFromFile;
#endif
}

static int print_names(const char **names) {
  for (const char **name = names; names && *name; ++name) {
    puts(*name);
  }
  release_passes(&names);
  return names != NULL;
}

static char *given;
static size_t given_size;
static const char **passes;
static bool fixed;

static void read_model(const char *path) {
  FILE *file = fopen(path, "rb");
  fseek(file, 0, SEEK_END);
  given_size = (size_t)ftell(file);
  rewind(file);
  given = malloc(given_size + 1);
  given_size = fread(given, 1, given_size, file);
  fclose(file);
}

static void *optimize_ten_times(void *unused) {
  for (int i = 0; i < 10; ++i) {
    void *out = NULL;
    size_t size = 0;
    if (!optimize(given, given_size, passes, fixed, &out, &size)) {
      return &given;
    }
    free(out);
  }
  return unused;
}

/* LIBRARY, then: all | default | null | bytes IN OUT FIXED PASS… | threads IN OUT FIXED PASS… |
   file IN OUT FIXED DATA PASS… */
int main(int count, char **arguments) {
  find(arguments[1]);
  const char *action = arguments[2];
  if (strcmp(action, "all") == 0) {
    return print_names(available_passes());
  }
  if (strcmp(action, "default") == 0) {
    return print_names(default_passes());
  }
  void *out = NULL;
  size_t size = 0;
  if (strcmp(action, "null") == 0) {
    const char *none[] = {NULL}, **nothing = NULL;
    release_passes(NULL);
    release_passes(&nothing);
    bool any = optimize(NULL, 4, none, false, &out, &size) || optimize("abcd", 0, none, false, &out, &size) ||
               optimize("abcd", 4, NULL, false, &out, &size) || optimize("abcd", 4, none, false, NULL, &size) ||
               optimize("abcd", 4, none, false, &out, NULL) || optimize_file(NULL, "a", none, false, false, NULL) ||
               optimize_file("a", NULL, none, false, false, NULL) ||
               optimize_file("a", "b", none, false, true, NULL);
    return any || out != NULL;
  }
  fixed = strcmp(arguments[5], "1") == 0;
  if (strcmp(action, "file") == 0) {
    const char *data = arguments[6];
    passes = (const char **)&arguments[7];
    return optimize_file(arguments[3], arguments[4], passes, fixed, *data != 0, *data ? data : NULL) ? 0 : 1;
  }
  passes = (const char **)&arguments[6];
  read_model(arguments[3]);
  if (strcmp(action, "threads") == 0) {
    pthread_t threads[4];
    void *failed = NULL;
    for (int i = 0; i < 4; ++i) {
      pthread_create(&threads[i], NULL, optimize_ten_times, NULL);
    }
    for (int i = 0; i < 4; ++i) {
      void *one = NULL;
      pthread_join(threads[i], &one);
      failed = one ? one : failed;
    }
    return failed != NULL;
  }
  if (!optimize(given, given_size, passes, fixed, &out, &size)) {
    return out == NULL && size == 0 ? 1 : 2;
  }
  FILE *file = fopen(arguments[4], "wb");
  fwrite(out, 1, size, file);
  fclose(file);
  free(out);
  free(given);
  return count < 6;
}
