#include "model.h"

#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <vector>

#include "cubes.h"
#include "nvdla/IRuntime.h"
#include "parts/parts.h"

namespace xonnc {
namespace {

// A value between steps, in the arena.
struct Value {
    size_t offset;
    size_t bytes;
};

// A tensor of a loadable; tensors are bound in the order of the tables.
struct Binding {
    size_t value;
    cube shape;
};

// The functions of a CPU part, from its own header.
struct CpuPart {
    int32_t (*create)(void **part, const char *weights);
    void (*destroy)(void *part);
    const char *(*message)(int32_t code);
    int32_t (*set_input)(void *part, int32_t index, const void *data, uint64_t bytes);
    int32_t (*set_output)(void *part, int32_t index, void *data, uint64_t bytes);
    int32_t (*run)(void *part);
};

#define CPU_PART(name)                                                                               \
    {[](void **part, const char *weights) {                                                          \
         return name##_create(reinterpret_cast<name##_model **>(part), weights);                     \
     },                                                                                              \
     [](void *part) { name##_destroy(static_cast<name##_model *>(part)); },                          \
     name##_message,                                                                                 \
     [](void *part, int32_t index, const void *data, uint64_t bytes) {                               \
         return name##_set_input(static_cast<name##_model *>(part), index, data, bytes);             \
     },                                                                                              \
     [](void *part, int32_t index, void *data, uint64_t bytes) {                                     \
         return name##_set_output(static_cast<name##_model *>(part), index, data, bytes);            \
     },                                                                                              \
     [](void *part) { return name##_run(static_cast<name##_model *>(part)); }}

// A loadable (`cpu` is null) with its bindings, or a CPU part with the indices of its values.
struct Step {
    const char *file;  // the loadable, or the weights of the CPU part; null if they are in its code
    const CpuPart *cpu;
    const Binding *bound_inputs, *bound_outputs;
    const size_t *input_values, *output_values;
    size_t inputs, outputs;
};

#include "tables.inc"

const size_t ALIGNMENT = 64;

std::vector<char> read_file(const std::string &path)
{
    std::ifstream file(path, std::ios::binary);
    if (!file) throw std::runtime_error(path + ": no such file");
    return std::vector<char>(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
}

void require(bool done, const std::string &what)
{
    if (!done) throw std::runtime_error(what);
}

// Memory of the device, mapped for the CPU.
struct DeviceMemory {
    void *handle;
    void *data;
    size_t bytes;
};

class Loadable {
public:
    Loadable(const Step &step, const std::string &path) : step_(step), content_(read_file(path))
    {
        runtime_ = nvdla::createRuntime();
        require(runtime_ != nullptr, "no NVDLA runtime");
        try {
            load(path);
        } catch (...) {
            release();
            throw;
        }
    }

    ~Loadable() { release(); }
    Loadable(const Loadable &) = delete;
    Loadable &operator=(const Loadable &) = delete;

    void run(char *arena)
    {
        for (size_t i = 0; i < step_.inputs; i++) {
            const Binding &bound = step_.bound_inputs[i];
            cube_pack(&bound.shape, arena + VALUES[bound.value].offset, memories_[i].data);
        }
        require(runtime_->submit(), std::string(step_.file) + ": the runtime failed to run it");
        for (size_t i = 0; i < step_.outputs; i++) {
            const Binding &bound = step_.bound_outputs[i];
            cube_unpack(&bound.shape, memories_[step_.inputs + i].data, arena + VALUES[bound.value].offset);
        }
    }

private:
    void load(const std::string &path)
    {
        // The runtime keeps pointers into the content.
        is_loaded_ = runtime_->load(reinterpret_cast<NvU8 *>(content_.data()), 0);
        require(is_loaded_, path + ": the runtime does not load it");
        has_emulator_ = runtime_->initEMU();
        require(has_emulator_, path + ": the runtime does not start its CPU emulator");
        int inputs = 0, outputs = 0;
        require(runtime_->getNumInputTensors(&inputs) == NvDlaSuccess &&
                    runtime_->getNumOutputTensors(&outputs) == NvDlaSuccess &&
                    size_t(inputs) == step_.inputs && size_t(outputs) == step_.outputs,
                path + ": it has other inputs and outputs; is it the file that was deployed?");
        for (size_t i = 0; i < step_.inputs + step_.outputs; i++) {
            const bool is_input = i < step_.inputs;
            const int index = int(is_input ? i : i - step_.inputs);
            const Binding &bound = is_input ? step_.bound_inputs[index] : step_.bound_outputs[index];
            DeviceMemory memory = {nullptr, nullptr, size_t(bound.shape.bytes)};
            require(runtime_->allocateSystemMemory(&memory.handle, memory.bytes, &memory.data) == NvDlaSuccess,
                    path + ": no device memory for its inputs and outputs");
            memories_.push_back(memory);
            require(is_input ? runtime_->bindInputTensor(index, memory.handle)
                             : runtime_->bindOutputTensor(index, memory.handle),
                    path + ": the runtime does not bind its inputs and outputs");
        }
    }

    void release()
    {
        for (const DeviceMemory &memory : memories_) runtime_->freeSystemMemory(memory.handle, memory.bytes);
        if (has_emulator_) runtime_->stopEMU();
        if (is_loaded_) runtime_->unload();
        nvdla::destroyRuntime(runtime_);
    }

    const Step &step_;
    std::vector<char> content_;
    nvdla::IRuntime *runtime_ = nullptr;
    bool is_loaded_ = false, has_emulator_ = false;
    std::vector<DeviceMemory> memories_;
};

// Native code, which reads and writes its values where they are in the arena.
class CpuCode {
public:
    CpuCode(const Step &step, const std::string &folder, char *arena) : cpu_(*step.cpu)
    {
        const std::string weights = step.file ? folder + "/" + step.file : std::string();
        check(cpu_.create(&part_, step.file ? weights.c_str() : nullptr), weights);
        try {
            for (size_t i = 0; i < step.inputs; i++) {
                const Value &value = VALUES[step.input_values[i]];
                check(cpu_.set_input(part_, int32_t(i), arena + value.offset, value.bytes), "input of CPU part");
            }
            for (size_t i = 0; i < step.outputs; i++) {
                const Value &value = VALUES[step.output_values[i]];
                check(cpu_.set_output(part_, int32_t(i), arena + value.offset, value.bytes), "output of CPU part");
            }
        } catch (...) {
            cpu_.destroy(part_);
            throw;
        }
    }

    ~CpuCode() { cpu_.destroy(part_); }
    CpuCode(const CpuCode &) = delete;
    CpuCode &operator=(const CpuCode &) = delete;

    void run() { check(cpu_.run(part_), "CPU part"); }

private:
    void check(int32_t code, const std::string &where) const
    {
        if (code) throw std::runtime_error(where + ": " + cpu_.message(code));
    }

    const CpuPart &cpu_;
    void *part_ = nullptr;
};

}  // namespace

struct Model::State {
    // Parts keep pointers into the arena, which is aligned by hand since C++11 has no aligned allocation.
    std::vector<char> memory = std::vector<char>(ARENA_BYTES + ALIGNMENT);
    char *arena = memory.data() + (ALIGNMENT - reinterpret_cast<uintptr_t>(memory.data()) % ALIGNMENT);
    std::vector<std::unique_ptr<Loadable>> loadables;
    std::vector<std::unique_ptr<CpuCode>> codes;
};

Model::Model(const std::string &data) : state(new State)
{
    for (const Step &step : STEPS) {
        if (step.cpu)
            state->codes.emplace_back(new CpuCode(step, data, state->arena));
        else
            state->loadables.emplace_back(new Loadable(step, data + "/" + step.file));
    }
}

Model::~Model() = default;

size_t Model::inputs() { return INPUT_COUNT; }
size_t Model::outputs() { return OUTPUT_COUNT; }
const Port &Model::input(size_t index) { return INPUTS[index]; }
const Port &Model::output(size_t index) { return OUTPUTS[index]; }
void *Model::input_data(size_t index) { return state->arena + VALUES[INPUT_VALUES[index]].offset; }
const void *Model::output_data(size_t index) const
{
    return state->arena + VALUES[OUTPUT_VALUES[index]].offset;
}

void Model::run()
{
    size_t loadable = 0, code = 0;
    for (const Step &step : STEPS) {
        if (step.cpu)
            state->codes[code++]->run();
        else
            state->loadables[loadable++]->run(state->arena);
    }
}

}  // namespace xonnc
