// The part of the interface of NVIDIA's runtime (nvdla/sw, umd/core/include/nvdla) that the program uses.
#ifndef NVDLA_I_RUNTIME_H
#define NVDLA_I_RUNTIME_H

#include <cstdint>

typedef uint8_t NvU8;
typedef uint16_t NvU16;
typedef uint32_t NvU32;
typedef uint64_t NvU64;
typedef enum { NvDlaSuccess = 0, NvDlaError_BadParameter = 0x00000004 } NvDlaError;

namespace nvdla {

class IRuntime {
public:
    virtual bool load(NvU8 *buf, int instance) = 0;
    virtual void unload(void) = 0;
    virtual NvDlaError allocateSystemMemory(void **h_mem, NvU64 size, void **pData) = 0;
    virtual void freeSystemMemory(void *phMem, NvU64 size) = 0;
    virtual bool bindInputTensor(int index, void *hMem) = 0;
    virtual bool bindOutputTensor(int index, void *hMem) = 0;
    virtual NvDlaError getNumInputTensors(int *input_tensors) = 0;
    virtual NvDlaError getNumOutputTensors(int *output_tensors) = 0;
    virtual bool initEMU(void) = 0;
    virtual void stopEMU(void) = 0;
    virtual bool submit() = 0;

protected:
    virtual ~IRuntime() {}
};

IRuntime *createRuntime();
void destroyRuntime(IRuntime *runtime);

}  // namespace nvdla

#endif
