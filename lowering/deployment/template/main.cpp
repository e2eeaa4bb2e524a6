// Runs the model on files of raw bytes.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <vector>

#include "model.h"

namespace {

const char USAGE[] =
    "usage: %s [--data DIR] [--repeat N] --input NAME=FILE ... --output NAME=FILE ...\n"
    "Files are raw arrays in row-major order. Default of --data: the folder 'data' beside the program.\n";

using xonnc::Model;
using xonnc::Port;

// Splits NAME=FILE; names may contain '='.
std::string file_of(const std::string &argument, const char *name)
{
    const std::string start = std::string(name) + "=";
    return argument.compare(0, start.size(), start) == 0 ? argument.substr(start.size()) : std::string();
}

void read_input(const std::string &path, const Port &port, void *array)
{
    std::ifstream file(path, std::ios::binary);
    if (!file) throw std::runtime_error(path + ": no such file");
    const std::vector<char> content((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
    if (content.size() != port.bytes)
        throw std::runtime_error(path + ": " + std::to_string(content.size()) + " bytes; input " + port.name + " takes " +
                                 std::to_string(port.bytes) + " (" + port.type + " " + port.shape + ")");
    std::memcpy(array, content.data(), content.size());
}

struct Arguments {
    std::string data;
    long repeat = 1;
    std::vector<std::string> inputs, outputs;
};

bool parse(int count, char **given, Arguments &arguments)
{
    const std::string program = given[0];
    const size_t slash = program.rfind('/');
    arguments.data = (slash == std::string::npos ? std::string(".") : program.substr(0, slash)) + "/data";
    for (int i = 1; i < count; i += 2) {
        const std::string option = given[i];
        if (i + 1 == count) return false;
        if (option == "--data") arguments.data = given[i + 1];
        else if (option == "--repeat") arguments.repeat = std::atol(given[i + 1]);
        else if (option == "--input") arguments.inputs.push_back(given[i + 1]);
        else if (option == "--output") arguments.outputs.push_back(given[i + 1]);
        else return false;
    }
    return arguments.repeat > 0;
}

void run(const Arguments &arguments)
{
    Model model(arguments.data);
    for (size_t i = 0; i < Model::inputs(); i++) {
        std::string path;
        for (const std::string &each : arguments.inputs)
            if (!file_of(each, Model::input(i).name).empty()) path = file_of(each, Model::input(i).name);
        if (path.empty()) throw std::runtime_error(std::string("input ") + Model::input(i).name + " is not given");
        read_input(path, Model::input(i), model.input_data(i));
    }
    const auto begun = std::chrono::steady_clock::now();
    for (long i = 0; i < arguments.repeat; i++) model.run();
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begun;
    for (size_t i = 0; i < Model::outputs(); i++) {
        const Port &port = Model::output(i);
        for (const std::string &each : arguments.outputs) {
            const std::string path = file_of(each, port.name);
            if (path.empty()) continue;
            std::ofstream file(path, std::ios::binary);
            file.write(static_cast<const char *>(model.output_data(i)), std::streamsize(port.bytes));
            if (!file.flush()) throw std::runtime_error(path + ": cannot be written");
        }
        std::printf("output %s: %s %s\n", port.name, port.type, port.shape);
    }
    std::printf("%.3f ms for each of %ld runs\n", 1e3 * seconds.count() / double(arguments.repeat), arguments.repeat);
}

}  // namespace

int main(int count, char **given)
{
    Arguments arguments;
    if (!parse(count, given, arguments)) {
        std::fprintf(stderr, USAGE, given[0]);
        return 2;
    }
    try {
        run(arguments);
    } catch (const std::exception &error) {
        std::fprintf(stderr, "%s: %s\n", given[0], error.what());
        return 1;
    }
    return 0;
}
