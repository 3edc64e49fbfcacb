"""A pytest plugin that answers from the driver what cuda.core asks of the CUDA runtime.

cuda-bindings has a static CUDA runtime inside, which does not run on softwarp. cuda.core calls three of its functions.

    PYTHONPATH=tests/field python -m pytest -p driver_runtime tests
"""

from cuda.bindings import driver, runtime


def error(code):
    """The runtime's error for a code of the driver; most have the same number."""
    try:
        return runtime.cudaError_t(int(code))
    except ValueError:
        return runtime.cudaError_t.cudaErrorUnknown


def device_synchronize():
    (code,) = driver.cuCtxSynchronize()
    # Without a context, the runtime takes the device's primary one, where nothing is under way.
    no_context = code == driver.CUresult.CUDA_ERROR_INVALID_CONTEXT
    return (runtime.cudaError_t.cudaSuccess if no_context else error(code),)


def get_device_count():
    driver.cuInit(0)
    code, count = driver.cuDeviceGetCount()
    return error(code), count


def device_get_pci_bus_id(size, device):
    code, text = driver.cuDeviceGetPCIBusId(size, device)
    return error(code), text


runtime.cudaDeviceSynchronize = device_synchronize
runtime.cudaGetDeviceCount = get_device_count
runtime.cudaDeviceGetPCIBusId = device_get_pci_bus_id
