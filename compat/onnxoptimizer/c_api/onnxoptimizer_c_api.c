/*
 * The C API of ONNX-optimizer in an embedded Python. Compiled with XONNC_PYTHON, the path of the interpreter whose
 * packages are used, and XONNC_LIBPYTHON, that of its shared library.
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "onnxoptimizer_c_api.h"

#define EXPORT __attribute__((visibility("default")))

static pthread_once_t once = PTHREAD_ONCE_INIT;
static bool is_running = false;

static void start(void) {
  if (Py_IsInitialized()) {
    is_running = true;
    return;
  }
  /* Extension modules look for Python's symbols in the program; a library that was opened by dlopen hides them. */
  dlopen(XONNC_LIBPYTHON, RTLD_LAZY | RTLD_GLOBAL);
  /* Isolated: neither locale, signal handlers nor standard streams of the program change. */
  PyPreConfig early;
  PyPreConfig_InitIsolatedConfig(&early);
  early.utf8_mode = 1;
  PyConfig config;
  PyStatus status = Py_PreInitialize(&early);
  if (!PyStatus_Exception(status)) {
    PyConfig_InitIsolatedConfig(&config);
    config.user_site_directory = 1;
    status = PyConfig_SetBytesString(&config, &config.executable, XONNC_PYTHON);
    if (!PyStatus_Exception(status)) {
      status = Py_InitializeFromConfig(&config);
    }
    PyConfig_Clear(&config);
  }
  if (PyStatus_Exception(status)) {
    fprintf(stderr, "onnxoptimizer: %s does not start: %s\n", XONNC_PYTHON,
            status.err_msg ? status.err_msg : "no reason given");
    return;
  }
  is_running = true;
  PyEval_SaveThread();
}

/* Print the pending exception as a line. */
static void report(void) {
  PyObject *type, *value, *trace;
  PyErr_Fetch(&type, &value, &trace);
  PyErr_NormalizeException(&type, &value, &trace);
  PyObject *text = value ? PyObject_Str(value) : NULL;
  const char *message = text ? PyUnicode_AsUTF8(text) : NULL;
  fprintf(stderr, "onnxoptimizer: %s\n", message ? message : "an error without a message");
  PyErr_Clear();
  Py_XDECREF(text);
  Py_XDECREF(type);
  Py_XDECREF(value);
  Py_XDECREF(trace);
}

/* Call a function of the Python side; takes the reference to `arguments`, and returns NULL after a report. */
static PyObject *call(const char *name, PyObject *arguments) {
  PyObject *module = arguments ? PyImport_ImportModule("xonnc.compat.onnxoptimizer.c_api.calls") : NULL;
  PyObject *function = module ? PyObject_GetAttrString(module, name) : NULL;
  PyObject *result = function ? PyObject_CallObject(function, arguments) : NULL;
  if (result == NULL) {
    report();
  }
  Py_XDECREF(function);
  Py_XDECREF(module);
  Py_XDECREF(arguments);
  return result;
}

/* A list of the names; NULL with an exception if one is not UTF-8. */
static PyObject *list_of(const char **names) {
  PyObject *list = PyList_New(0);
  for (; list != NULL && *names != NULL; ++names) {
    PyObject *name = PyUnicode_FromString(*names);
    if (name == NULL || PyList_Append(list, name) != 0) {
      Py_CLEAR(list);
    }
    Py_XDECREF(name);
  }
  return list;
}

static const char **copy_names(PyObject *list) {
  const Py_ssize_t count = PyList_Size(list);
  const char **names = count < 0 ? NULL : calloc((size_t)count + 1, sizeof(char *));
  for (Py_ssize_t i = 0; names != NULL && i < count; ++i) {
    const char *name = PyUnicode_AsUTF8(PyList_GetItem(list, i));
    names[i] = name ? strdup(name) : NULL;
    if (names[i] == NULL) {
      C_API_ReleasePasses(&names);
    }
  }
  PyErr_Clear();
  return names;
}

static const char **names_from(const char *function) {
  pthread_once(&once, start);
  if (!is_running) {
    return NULL;
  }
  PyGILState_STATE state = PyGILState_Ensure();
  PyObject *list = call(function, PyTuple_New(0));
  const char **names = list ? copy_names(list) : NULL;
  Py_XDECREF(list);
  PyGILState_Release(state);
  return names;
}

EXPORT const char **C_API_GetAvailablePasses(void) { return names_from("get_available_passes"); }

EXPORT const char **C_API_GetFuseAndEliminationPass(void) {
  return names_from("get_fuse_and_elimination_passes");
}

EXPORT void C_API_ReleasePasses(const char ***passes) {
  if (passes == NULL || *passes == NULL) {
    return;
  }
  for (const char **name = *passes; *name != NULL; ++name) {
    free((void *)*name);
  }
  free((void *)*passes);
  *passes = NULL;
}

EXPORT bool C_API_Optimize(const char *mp_in, const size_t mp_in_size, const char **passes, const bool fix_point,
                           void **mp_out, size_t *mp_out_size) {
  if (!mp_in || mp_in_size == 0 || mp_in_size > PY_SSIZE_T_MAX || !passes || !mp_out || !mp_out_size) {
    fprintf(stderr, "onnxoptimizer: C_API_Optimize: an argument is NULL, or there are no bytes\n");
    return false;
  }
  pthread_once(&once, start);
  if (!is_running) {
    return false;
  }
  PyGILState_STATE state = PyGILState_Ensure();
  PyObject *names = list_of(passes);
  PyObject *given = names ? PyMemoryView_FromMemory((char *)mp_in, (Py_ssize_t)mp_in_size, PyBUF_READ) : NULL;
  PyObject *bytes =
      call("optimize_bytes",
           given ? Py_BuildValue("(OOO)", given, names, fix_point ? Py_True : Py_False) : NULL);
  char *start_of_bytes = NULL;
  Py_ssize_t size = 0;
  void *copy = NULL;
  if (bytes != NULL && PyBytes_AsStringAndSize(bytes, &start_of_bytes, &size) == 0) {
    copy = malloc(size ? (size_t)size : 1);
  }
  if (copy != NULL) {
    memcpy(copy, start_of_bytes, (size_t)size);
    *mp_out = copy;
    *mp_out_size = (size_t)size;
  } else if (bytes != NULL) {
    fprintf(stderr, "onnxoptimizer: there is no memory for the optimized model\n");
  }
  PyErr_Clear();
  Py_XDECREF(bytes);
  Py_XDECREF(given);
  Py_XDECREF(names);
  PyGILState_Release(state);
  return copy != NULL;
}

EXPORT bool C_API_OtimizeFromFile(const char *import_model_path, const char *export_model_path,
                                  const char **passes, const bool fix_point, const bool save_external_data,
                                  const char *data_file_name) {
  if (!import_model_path || !export_model_path || !passes || (save_external_data && !data_file_name)) {
    fprintf(stderr, "onnxoptimizer: C_API_OtimizeFromFile: an argument is NULL\n");
    return false;
  }
  pthread_once(&once, start);
  if (!is_running) {
    return false;
  }
  PyGILState_STATE state = PyGILState_Ensure();
  PyObject *names = list_of(passes);
  PyObject *done =
      call("optimize_file",
           names ? Py_BuildValue("(NNOOz)", PyUnicode_DecodeFSDefault(import_model_path),
                                 PyUnicode_DecodeFSDefault(export_model_path), names,
                                 fix_point ? Py_True : Py_False, save_external_data ? data_file_name : NULL)
                 : NULL);
  Py_XDECREF(done);
  Py_XDECREF(names);
  PyGILState_Release(state);
  return done != NULL;
}
