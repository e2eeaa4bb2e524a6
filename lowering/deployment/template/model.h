// A compiled package: loadables on NVDLA through its runtime, and native code for the CPU.
#ifndef XONNC_MODEL_H
#define XONNC_MODEL_H

#include <cstddef>
#include <memory>
#include <string>

namespace xonnc {

// An input or output. Arrays are in row-major order; type is NumPy's name of the element type.
struct Port {
    const char *name;
    const char *type;
    const char *shape;
    size_t bytes;
};

// Not for concurrent use. Functions throw std::runtime_error with the reason.
class Model {
public:
    // Loads the files of the folder `data` and allocates all memory.
    explicit Model(const std::string &data);
    ~Model();

    static size_t inputs();
    static size_t outputs();
    static const Port &input(size_t index);
    static const Port &output(size_t index);

    // The array of an input, to be filled before `run`, which leaves it as it is.
    void *input_data(size_t index);

    // The array of an output; valid until the next `run`.
    const void *output_data(size_t index) const;

    void run();

private:
    struct State;
    std::unique_ptr<State> state;
};

}  // namespace xonnc

#endif
