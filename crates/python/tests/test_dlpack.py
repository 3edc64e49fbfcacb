"""Arrays of other libraries."""

import numpy as np
import pytest

import softwarp

from test_ptx import SAXPY


class Other:
    """An array of another library."""

    def __init__(self, array, device=(1, 0)):
        self.array = array
        self.place = device

    def __dlpack__(self, **kwargs):
        return self.array.__dlpack__(**kwargs)

    def __dlpack_device__(self):
        return self.place


X = np.linspace(-3, 3, 64, dtype=np.float32)


def test_arrays_are_taken():
    assert (softwarp.convert(Other(X), "f16") == softwarp.convert(X, "f16")).all()
    ours, theirs = softwarp.quantize(X, "mxfp4"), softwarp.quantize(Other(X), "mxfp4")
    assert (ours.codes == theirs.codes).all() and (ours.dequantize() == theirs.dequantize()).all()
    assert ours.error(Other(X)) == ours.error()


def test_results_are_written_without_copies():
    out = Other(np.zeros(64, np.float16))
    assert softwarp.convert(X, "f16", out=out) is out
    assert (out.array == X.astype(np.float16)).all()
    module = softwarp.Module(SAXPY)
    y = Other(np.zeros(64, np.float32))
    module.saxpy[1, 64](2, Other(X), y, 64)
    assert (y.array == 2 * X).all()
    both = Other(X.copy())
    module.saxpy[1, 64](1, both, both, 64)
    assert (both.array == 2 * X).all()
    assert module.array(Other(X)).numpy().tolist() == X.tolist()


def test_other_devices_are_refused_by_name():
    away = Other(X, (2, 0))
    with pytest.raises(TypeError, match="^x is on"):
        softwarp.convert(away, "f16")
    with pytest.raises(TypeError, match="^x is on"):
        softwarp.quantize(away, "mxfp4")
    with pytest.raises(TypeError, match="^out is on"):
        softwarp.convert(X, "f32", out=away)
    with pytest.raises(TypeError, match="^y is on"):
        softwarp.Module(SAXPY).saxpy[1, 64](2, X, away, 64)
    with pytest.raises(TypeError, match="^array is on"):
        softwarp.tensor.Map(type="f32", dims=(64,), box=(64,)).copy(away)


def test_like_is_numpy_or_torch():
    assert isinstance(softwarp.convert(X, "f16", like="numpy"), np.ndarray)
    with pytest.raises(ValueError, match="like= is"):
        softwarp.convert(X, "f16", like="tables")


def test_arrays_of_jax():
    jax = pytest.importorskip("jax.numpy")
    x = jax.asarray(X)
    assert (softwarp.convert(x, "e5m2").view(np.uint8) == softwarp.convert(X, "e5m2").view(np.uint8)).all()
    y = np.zeros(64, np.float32)
    softwarp.Module(SAXPY).saxpy[1, 64](1, x, y, 64)
    assert (y == X).all()
    with pytest.raises(ValueError, match="wrote to y"):
        softwarp.Module(SAXPY).saxpy[1, 64](1, X, x, 64)


def test_tensors_of_torch():
    torch = pytest.importorskip("torch")
    x = torch.from_numpy(X.copy())
    codes = softwarp.convert(x, "e4m3")
    assert codes.dtype == torch.float8_e4m3fn
    assert (codes.view(torch.uint8).numpy() == softwarp.convert(X, "e4m3").view(np.uint8)).all()
    assert isinstance(softwarp.convert(x, "e4m3", like="numpy"), np.ndarray)
    assert softwarp.convert(X, "bf16", like="torch").dtype == torch.bfloat16
    assert (softwarp.convert(x.bfloat16(), "f32") == x.bfloat16().float()).all()
    assert isinstance(softwarp.quantize(x, "mxfp4").dequantize(), torch.Tensor)
    y = torch.zeros(64)
    softwarp.Module(SAXPY).saxpy[1, 64](2, x, y, 64)
    assert (y == 2 * x).all()
