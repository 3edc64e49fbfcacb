"""Elements of arrays of other libraries: what they are comes from the array, with and without ml_dtypes."""

import ctypes
import sys
import types

import numpy as np
import pytest

import softwarp
from softwarp import _capsule, _formats

from test_ptx import SAXPY

VALUES = np.array([1.5, -0.25, 2, 0], np.float32)

# By the name of a dtype: the format, DLPack's code and bits.
KINDS = {
    "bfloat16": ("bf16", 4, 16),
    "float8_e4m3fn": ("e4m3", 10, 8),
    "float8_e5m2": ("e5m2", 12, 8),
    "float8_e8m0fnu": ("ue8m0", 14, 8),
}
SHOWN = {"ue8m0": [2, 0.25, 2, 1]}

# It does not round to nearest.
ROUNDING = {"ue8m0": "rz"}


def codes_of(format):
    """Some codes of a format, and their values."""
    values = np.float32(SHOWN.get(format, VALUES))
    # ue8m0 does not round to nearest; the values are exact.
    codes = [softwarp.format(format).encode(float(value), "rz") for value in values]
    return np.array(codes, np.uint16 if format == "bf16" else np.uint8), values


@pytest.fixture(params=["ml_dtypes", "without"])
def ml_dtypes(request, monkeypatch):
    """With ml_dtypes, and as if it were not installed."""
    if request.param == "without":
        monkeypatch.setitem(sys.modules, "ml_dtypes", None)
    else:
        pytest.importorskip("ml_dtypes")
    _formats._dtype.cache_clear()
    yield request.param == "ml_dtypes"
    monkeypatch.undo()
    _formats._dtype.cache_clear()


class DType:
    """A dtype that only its name tells."""

    def __init__(self, name):
        self.name_of_it = name

    def __repr__(self):
        return f"lib.{self.name_of_it}"


_new = ctypes.pythonapi.PyCapsule_New
_new.restype = ctypes.py_object
_new.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]


class _Managed(ctypes.Structure):
    """`DLManagedTensor`"""

    _fields_ = [("tensor", _capsule._Tensor), ("manager_ctx", ctypes.c_void_p), ("deleter", ctypes.c_void_p)]


class Tensor:
    """An array of a library that is not there, as DLPack shows it."""

    def __init__(self, codes, code, bits, *, dtype=None, lanes=1, version=None, flags=0, shape=None):
        self.codes = codes
        if dtype is not None:
            self.dtype = DType(dtype)
        shape = codes.shape if shape is None else shape
        self.shape_of_it = (ctypes.c_int64 * len(shape))(*shape)
        steps = [step // codes.itemsize for step in codes.strides]
        self.strides = (ctypes.c_int64 * len(steps))(*steps) if shape == codes.shape else None
        tensor = _capsule._Tensor(
            codes.ctypes.data, 1, 0, len(shape), code, bits, lanes, self.shape_of_it, self.strides, 0
        )
        self.whole = _Managed(tensor, None, None) if version is None else _capsule._Versioned(*version, None, None, flags, tensor)
        self.name = b"dltensor" if version is None else b"dltensor_versioned"

    def __dlpack_device__(self):
        return (1, 0)

    def __dlpack__(self, **options):
        if self.name == b"dltensor" and options:
            raise TypeError("no options")
        return _new(ctypes.addressof(self.whole), self.name, None)


def tensors():
    for name, (format, code, bits) in KINDS.items():
        codes, values = codes_of(format)
        yield format, values, Tensor(codes, code, bits)
        yield format, values, Tensor(codes, code, bits, dtype=name)
        yield format, values, Tensor(codes, code, bits, dtype=name, version=(1, 1))
        # The library has no other way to say it than by its dtype.
        yield format, values, Tensor(codes, 1, bits, dtype=name)
        yield format, values, Tensor(codes, 0, bits, dtype=name)


def test_values_are_those_of_the_array(ml_dtypes):
    for format, values, x in tensors():
        assert softwarp.convert(x, "f32").tolist() == values.tolist()
        assert softwarp.convert(x, "f32", from_=format).tolist() == values.tolist()
        quantized = softwarp.quantize(x, "mxfp8")
        assert quantized.dequantize().tolist() == values.tolist()
        assert quantized.error(x).max_abs == 0
        with pytest.raises(TypeError, match=f"x has elements of {format}, and from_ says e3m2"):
            softwarp.convert(x, "f32", from_="e3m2")
        module = softwarp.Module(SAXPY)
        assert module.array(x, np.float32).numpy().tolist() == values.tolist()
        assert module.array(x, np.int32).numpy().tolist() == values.astype(np.int32).tolist()
        inside = module.array(x)
        assert softwarp.convert(inside, "f32").tolist() == values.tolist()
        assert inside.format == (None if ml_dtypes else format)
        inside.set(x)
        inside.set(values)
        assert softwarp.convert(inside, "f32").tolist() == values.tolist()
        if format == "ue8m0" and not ml_dtypes:
            with pytest.raises(ValueError, match="not all powers of two"):
                inside.set(3 * values)
        # Codes of its dtype are what they are.
        inside.set(inside.numpy())
        assert softwarp.convert(inside, "f32").tolist() == values.tolist()


def test_a_launch_reads_and_writes_the_memory_itself(ml_dtypes):
    half = """.version 8.6
    .target sm_90
    .address_size 64
    .visible .entry twice(.param .u64 to) {
        .reg .b16 %x;
        .reg .b64 %p;
        ld.param.u64 %p, [to];
        ld.global.b16 %x, [%p];
        add.rn.bf16 %x, %x, %x;
        st.global.b16 [%p], %x;
        ret;
    }"""
    codes, _ = codes_of("bf16")
    x = Tensor(codes, 4, 16, dtype="bfloat16")
    softwarp.Module(half).twice[1, 1](x)
    assert softwarp.convert(x, "f32").tolist() == [3, -0.25, 2, 0]


def test_arrays_of_other_shapes_are_read_in_place(ml_dtypes):
    codes, values = codes_of("bf16")
    whole, numbers = np.tile(codes, (3, 1)), np.tile(values, (3, 1))
    for view in (whole.T, whole[::-1], whole[:, ::2], whole[1:, :0]):
        wanted = {(4, 3): numbers.T, (3, 4): numbers[::-1], (3, 2): numbers[:, ::2], (2, 0): numbers[1:, :0]}[view.shape]
        assert softwarp.convert(Tensor(view, 4, 16), "f32").tolist() == wanted.tolist()
    one = Tensor(codes[:1].reshape(()), 4, 16)
    assert softwarp.convert(one, "f32").tolist() == 1.5
    fixed = Tensor(codes, 4, 16, version=(1, 0), flags=1)
    with pytest.raises(ValueError, match="out is read-only"):
        softwarp.convert(values, "bf16", out=fixed)


def test_elements_of_less_than_a_byte(ml_dtypes):
    packed = np.array([[0x21, 0x7F]], np.uint8)
    values = [[0.5, 1, -6, 6]]
    for x in (
        Tensor(packed, 17, 4, lanes=2),
        Tensor(packed, 17, 4, lanes=2, dtype="float4_e2m1fn_x2"),
        Tensor(packed, 1, 8, dtype="float4_e2m1fn_x2"),
        Tensor(packed, 17, 4, shape=(1, 4)),
    ):
        assert softwarp.convert(x, "f32").tolist() == values
        assert softwarp.quantize(x, "mxfp4").dequantize().tolist() == values
    each = Tensor(np.array([1, 2], np.uint8), 17, 4, version=(1, 1), flags=4)
    assert softwarp.convert(each, "f32").tolist() == [0.5, 1]
    with pytest.raises(TypeError, match="x cannot be read|x has elements of float6_e2m3fn"):
        softwarp.convert(Tensor(packed, 15, 6), "f32")


def test_what_is_not_known_is_an_error_that_says_what_to_do(ml_dtypes):
    codes = np.array([1, 2], np.uint8)
    for x, name in (
        (Tensor(codes, 11, 8), "float8_e4m3fnuz"),
        (Tensor(codes, 11, 8, dtype="float8_e4m3fnuz"), "float8_e4m3fnuz"),
        (Tensor(codes, 1, 8, dtype="qint8"), "qint8"),
        (Tensor(codes, 99, 8), "DLPack's type 99"),
    ):
        for use in (
            lambda: softwarp.convert(x, "f32"),
            lambda: softwarp.quantize(x, "mxfp4"),
            lambda: softwarp.Module(SAXPY).array(x),
            lambda: softwarp.Module(SAXPY).saxpy[1, 1](1, x, x, 1),
        ):
            with pytest.raises(TypeError, match=f"has elements of .*{name}.*from_="):
                use()


def test_what_a_library_says_twice_must_be_the_same(ml_dtypes):
    halves, words = np.array([0x3F80, 0x4000], np.uint16), np.array([0x3F800000], np.uint32)
    for x, name in (
        (Tensor(halves, 2, 16, dtype="bfloat16"), "float16"),
        (Tensor(halves, 4, 16, dtype="float16"), "bf16"),
        (Tensor(halves, 4, 16, dtype="uint16"), "bf16"),
        (Tensor(words, 0, 32, dtype="float32"), "int32"),
        (Tensor(words, 2, 32, dtype="complex64"), "float32"),
        (Tensor(words.view(np.uint8), 12, 8, dtype="float8_e4m3fn"), "e5m2"),
        (Tensor(words.view(np.uint8), 2, 8, dtype="float8_e4m3fn"), "float8"),
        (Tensor(words.view(np.uint8), 6, 8, dtype="float8_e4m3fn"), "bool8"),
    ):
        for use in (
            lambda: softwarp.convert(x, "f32"),
            lambda: softwarp.Module(SAXPY).array(x),
            lambda: softwarp.Module(SAXPY).saxpy[1, 1](1, x, x, 1),
        ):
            with pytest.raises(TypeError, match=f"has the dtype .* and gives elements of {name} to DLPack"):
                use()
    # A number of bits that the type does not have.
    with pytest.raises(TypeError, match="has elements of bfloat8"):
        softwarp.convert(Tensor(words.view(np.uint8), 4, 8), "f32")
    # Bytes that are said to be truth values.
    assert softwarp.Module(SAXPY).array(Tensor(np.array([1, 0], np.uint8), 1, 8, dtype="bool")).dtype == np.bool_


def test_arrays_without_dlpack_are_what_their_dtype_says(ml_dtypes):
    codes, values = codes_of("bf16")

    def shown(array):
        return types.SimpleNamespace(dtype=DType("bfloat16"), __array_interface__=array.__array_interface__, kept=array)

    assert softwarp.convert(shown(codes), "f32").tolist() == values.tolist()
    with pytest.raises(TypeError, match="x has the dtype bfloat16 and gives an array of float16"):
        softwarp.convert(shown(codes.view(np.float16)), "f32")


def test_packed_codes_are_bytes_or_elements_of_four_bits(ml_dtypes):
    eights = Tensor(np.array([1, 2], np.uint8), 10, 8)
    for use in (softwarp.pack4, softwarp.unpack4):
        for x in (np.array([True, False]), eights):
            with pytest.raises(TypeError, match="codes are in arrays of bytes"):
                use(x)
    assert softwarp.pack4(softwarp.convert(VALUES, "e2m1")).tolist() == [0x83, 0x04]
    pairs = Tensor(np.array([0x21], np.uint8), 17, 4, lanes=2)
    assert softwarp.unpack4(pairs).tolist() == [1, 2]


def test_tensor_maps_do_not_take_other_formats(ml_dtypes):
    map = softwarp.tensor.Map(type="f16", dims=(64, 8), box=(64, 8))
    codes = np.zeros((8, 64), np.uint16)
    assert map.copy(codes).tolist() == map.copy(codes.view(np.float16)).tolist() == map.copy(codes.view(np.uint8)).tolist()
    with pytest.raises(TypeError, match="array holds bf16, and the map's elements are f16"):
        map.copy(Tensor(codes, 4, 16))
    with pytest.raises(TypeError, match="array holds bf16, and the map's elements are f16"):
        map.store(np.zeros(1024, np.uint8), Tensor(codes, 4, 16))
    same = softwarp.tensor.Map(type="bf16", dims=(64, 8), box=(64, 8))
    assert same.copy(Tensor(codes, 4, 16)).size == 1024


def test_textures_do_not_take_codes_for_integers(monkeypatch):
    monkeypatch.setitem(sys.modules, "ml_dtypes", None)
    _formats._dtype.cache_clear()
    x = Tensor(codes_of("bf16")[0], 4, 16)
    with pytest.raises(TypeError, match="texels has elements of bf16.*install ml_dtypes"):
        softwarp.Module(SAXPY).texture(x)
    monkeypatch.undo()
    _formats._dtype.cache_clear()


def test_arrays_on_a_gpu_are_refused():
    x = types.SimpleNamespace(__cuda_array_interface__={"shape": (1,), "typestr": "<f4", "data": (0, False), "version": 3})
    with pytest.raises(TypeError, match="x is on a GPU"):
        softwarp.convert(x, "f16")


def test_results_are_written_in_the_format_of_the_array(ml_dtypes):
    out = Tensor(np.zeros(4, np.uint16), 4, 16, dtype="bfloat16")
    assert softwarp.convert(VALUES, "bf16", out=out) is out
    assert out.codes.tolist() == codes_of("bf16")[0].tolist()
    other = Tensor(np.zeros(4, np.uint8), 10, 8, dtype="float8_e4m3fn")
    with pytest.raises(TypeError, match="out has elements of e4m3, and e5m2 is wanted"):
        softwarp.convert(VALUES, "e5m2", out=other)


def test_forms_of_cvt_take_elements_of_their_operands(ml_dtypes):
    x = Tensor(codes_of("bf16")[0], 4, 16)
    assert softwarp.cvt("f32.bf16", x).tolist() == VALUES.tolist()
    if not ml_dtypes:
        with pytest.raises(TypeError, match="has elements of bf16"):
            softwarp.cvt("f32.f16", x)


def test_integers_are_numbers_or_bits_of_a_register():
    assert softwarp.cvt("f32.f16", np.uint16([0x3C00])).tolist() == [1]
    for array in (np.int16([1]), np.uint8([1]), np.int64([1])):
        with pytest.raises(TypeError, match="operand a is f16, and an array of .*int.* was given"):
            softwarp.cvt("f32.f16", array)
    assert softwarp.cvt("rn.f32.s8", np.int64([-128, 127])).tolist() == [-128, 127]
    for form, value in (("rn.f32.s8", 300), ("rn.f32.s8", -300), ("rn.f32.s8", 200), ("rn.f32.s32", 1 << 31), ("rn.f32.u32", -1)):
        with pytest.raises(ValueError, match="operand a"):
            softwarp.cvt(form, np.int64([value]))


def test_tensors_of_torch(ml_dtypes):
    torch = pytest.importorskip("torch")
    for name, (format, _, _) in KINDS.items():
        if not hasattr(torch, name):
            continue
        codes, values = codes_of(format)
        integers = torch.from_numpy(codes.view(np.int16 if format == "bf16" else np.uint8))
        x = integers.view(getattr(torch, name))
        assert softwarp.convert(x, "f32").tolist() == values.tolist()
        again = softwarp.convert(torch.from_numpy(values), format, rounding=ROUNDING.get(format, "rn"))
        assert again.dtype == x.dtype and again.view(integers.dtype).tolist() == integers.tolist()
        out = torch.zeros(4).to(x.dtype)
        softwarp.convert(values, format, rounding=ROUNDING.get(format, "rn"), out=out)
        assert out.view(integers.dtype).tolist() == integers.tolist()
    assert softwarp.convert(VALUES, "bf16", like="torch").dtype == torch.bfloat16
    learned = torch.ones(2, dtype=torch.bfloat16, requires_grad=True)
    assert softwarp.convert(learned, "f32", like="numpy").tolist() == [1, 1]
    pairs = getattr(torch, "float4_e2m1fn_x2", None)
    if pairs is not None:
        x = torch.tensor([0x21, 0x7F], dtype=torch.uint8).view(pairs)
        assert softwarp.convert(x, "f32", like="numpy").tolist() == [0.5, 1, -6, 6]
    with pytest.raises(TypeError, match="softwarp does not know"):
        softwarp.convert(torch.zeros(2).to(torch.float8_e4m3fnuz), "f32")


class Torch(types.ModuleType):
    """As much of torch as is used: NumPy's arrays under its names."""

    def __init__(self):
        super().__init__("torch")
        self.names = {"int16": np.int16, "uint8": np.uint8, "float32": np.float32, **dict.fromkeys(KINDS, np.uint8)}
        self.names.update(bfloat16=np.uint16, float4_e2m1fn_x2=np.uint8, float8_e4m3fnuz=np.uint8)
        dtypes = {name: type(name, (), {"__repr__": lambda self, name=name: f"torch.{name}"})() for name in self.names}

        class Tensor:
            def __init__(self, array, dtype):
                self.array, self.dtype = array, dtype

            def detach(self):
                return self

            def view(self, dtype):
                return Tensor(self.array.view(torch.names[str(dtype)[6:]]), dtype)

            def __dlpack_device__(self):
                return (1, 0)

            def __dlpack__(self, **options):
                if str(self.dtype)[6:] in (*KINDS, "float4_e2m1fn_x2"):
                    raise BufferError("not through DLPack")
                return self.array.__dlpack__(**options)

        torch = self
        self.Tensor = Tensor
        self.__dict__.update(dtypes)
        self.from_numpy = lambda array: Tensor(array, dtypes[array.dtype.name])


def test_tensors_under_the_names_of_torch(ml_dtypes, monkeypatch):
    torch = Torch()
    monkeypatch.setitem(sys.modules, "torch", torch)
    for name, (format, _, _) in KINDS.items():
        codes, values = codes_of(format)
        x = torch.Tensor(codes.copy(), getattr(torch, name))
        assert softwarp.convert(x, "f32").array.tolist() == values.tolist()
        assert softwarp.quantize(x, "mxfp8").dequantize(like="numpy").tolist() == values.tolist()
        again = softwarp.convert(values, format, rounding=ROUNDING.get(format, "rn"), like="torch")
        assert again.dtype is x.dtype and again.array.view(codes.dtype).tolist() == codes.tolist()
        out = torch.Tensor(np.zeros(4, codes.dtype), x.dtype)
        assert softwarp.convert(values, format, rounding=ROUNDING.get(format, "rn"), out=out) is out and out.array.tolist() == codes.tolist()
        inside = softwarp.Module(SAXPY).array(x)
        assert softwarp.convert(inside, "f32").tolist() == values.tolist()
    pairs = torch.Tensor(np.array([0x21, 0x7F], np.uint8), torch.float4_e2m1fn_x2)
    assert softwarp.convert(pairs, "f32", like="numpy").tolist() == [0.5, 1, -6, 6]
    with pytest.raises(TypeError, match="torch.float8_e4m3fnuz, which softwarp does not know"):
        softwarp.convert(torch.Tensor(np.zeros(2, np.uint8), torch.float8_e4m3fnuz), "f32")
    # Formats that torch lacks are codes there.
    assert repr(softwarp.convert(VALUES, "e2m1", like="torch").dtype) == "torch.uint8"
