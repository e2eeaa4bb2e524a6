// A stand-in for NVIDIA's runtime: each submission runs `xonnc simulate` on the loadable.
//
// `load` is given no size, as in the original. So the file is found by its content in the folder of the
// program's data, which the build names (or XONNC_DATA at run time); XONNC_PYTHON is the interpreter.
#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "nvdla/IRuntime.h"

namespace {

const char *const LOADABLES[] = {$loadables nullptr};
const char TARGET[] = "$target";

// Inputs and outputs of each loadable.
const int COUNTS[][2] = {$counts {0, 0}};

struct Memory {
    std::vector<char> data;
};

std::string setting(const char *name, const char *otherwise)
{
    const char *value = std::getenv(name);
    return value && *value ? value : otherwise;
}

std::vector<char> read_file(const std::string &path)
{
    std::ifstream file(path, std::ios::binary);
    return std::vector<char>(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
}

std::string shell_quoted(const std::string &text)
{
    std::string result = "'";
    for (const char each : text) result += each == '\'' ? std::string("'\\''") : std::string(1, each);
    return result + "'";
}

class Simulator : public nvdla::IRuntime {
public:
    ~Simulator() override = default;

    bool load(NvU8 *buf, int) override
    {
        for (int i = 0; LOADABLES[i]; i++) {
            const std::string path = setting("XONNC_DATA", XONNC_DATA) + "/" + LOADABLES[i];
            const std::vector<char> content = read_file(path);
            // Reads no further than the first difference, so never after the end of another file.
            size_t same = 0;
            while (same < content.size() && NvU8(content[same]) == buf[same]) same++;
            if (content.empty() || same < content.size()) continue;
            path_ = path;
            inputs_.assign(size_t(COUNTS[i][0]), nullptr);
            outputs_.assign(size_t(COUNTS[i][1]), nullptr);
            return true;
        }
        return false;
    }

    void unload() override { path_.clear(); }

    NvDlaError allocateSystemMemory(void **handle, NvU64 size, void **data) override
    {
        Memory *memory = new Memory{std::vector<char>(size_t(size), '\xa5')};
        *handle = memory;
        *data = memory->data.data();
        return NvDlaSuccess;
    }

    void freeSystemMemory(void *handle, NvU64) override { delete static_cast<Memory *>(handle); }
    bool bindInputTensor(int index, void *handle) override { return bind(inputs_, index, handle); }
    bool bindOutputTensor(int index, void *handle) override { return bind(outputs_, index, handle); }

    NvDlaError getNumInputTensors(int *count) override { return give(count, inputs_); }
    NvDlaError getNumOutputTensors(int *count) override { return give(count, outputs_); }

    bool initEMU() override { return true; }
    void stopEMU() override {}

    bool submit() override
    {
        char folder[] = "/tmp/xonnc-XXXXXX";
        if (!mkdtemp(folder)) return false;
        const std::string place = folder;
        std::string command = setting("XONNC_PYTHON", XONNC_PYTHON) + " -m xonnc simulate -q --target " +
                              shell_quoted(setting("XONNC_TARGET", TARGET)) + " " + shell_quoted(path_);
        for (size_t i = 0; i < inputs_.size(); i++) {
            const std::string file = place + "/i" + std::to_string(i) + ".bin";
            std::ofstream(file, std::ios::binary).write(inputs_[i]->data.data(), long(inputs_[i]->data.size()));
            command += " --input " + file;
        }
        for (size_t i = 0; i < outputs_.size(); i++) command += " --output " + place + "/o" + std::to_string(i) + ".bin";
        bool done = std::system(command.c_str()) == 0;
        for (size_t i = 0; done && i < outputs_.size(); i++) {
            const std::vector<char> content = read_file(place + "/o" + std::to_string(i) + ".bin");
            done = content.size() == outputs_[i]->data.size();
            // In place: the program has the address.
            if (done) std::copy(content.begin(), content.end(), outputs_[i]->data.begin());
        }
        return std::system(("rm -r " + shell_quoted(place)).c_str()) == 0 && done;
    }

private:
    static bool bind(std::vector<Memory *> &memories, int index, void *handle)
    {
        if (index < 0 || size_t(index) >= memories.size()) return false;
        memories[size_t(index)] = static_cast<Memory *>(handle);
        return true;
    }

    static NvDlaError give(int *count, const std::vector<Memory *> &memories)
    {
        *count = int(memories.size());
        return NvDlaSuccess;
    }

    std::string path_;
    std::vector<Memory *> inputs_, outputs_;
};

}  // namespace

namespace nvdla {

IRuntime *createRuntime() { return new Simulator; }
void destroyRuntime(IRuntime *runtime) { delete static_cast<Simulator *>(runtime); }

}  // namespace nvdla
