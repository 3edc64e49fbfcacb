"""Block-scaled formats: against the command line, and by hand."""

import subprocess
import sys

import ml_dtypes
import numpy as np
import pytest

import softwarp

RANDOM = np.random.default_rng(2)


@pytest.mark.parametrize("form", ["mxfp8_e4m3", "mxfp8_e5m2", "mxfp6_e2m3", "mxfp6_e3m2", "mxfp4", "nvfp4"])
@pytest.mark.parametrize("axis", [-1, 0, 1])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16])
def test_the_command_quantises_the_same(tmp_path, form, axis, dtype):
    x = RANDOM.normal(0, 3, (5, 7, 40)).astype(dtype)
    np.save(tmp_path / "x.npy", x)
    words = ["quantize", "--to", form, f"--axis={axis}", "x.npy", "y.npz"]
    subprocess.run([sys.executable, "-m", "softwarp", *words], cwd=tmp_path, check=True, capture_output=True)
    wanted = np.load(tmp_path / "y.npz")
    q = softwarp.quantize(x, form, axis)
    assert np.array_equal(q.codes, wanted["codes"])
    assert np.array_equal(q.scales, wanted["scales"])
    assert q.tensor_scale == wanted.get("tensor_scale", 1.0)
    back = q.dequantize()
    assert back.shape == x.shape and np.abs(back - x).max() == pytest.approx(q.error().max_abs)


def test_a_block_by_hand():
    q = softwarp.quantize(np.float32([12, -7, 1, 0.4, np.inf]), "mxfp4")
    assert q.scales.tolist() == [128] and q.codes.tolist() == [0xE7, 0x01, 0x07]
    assert q.error().not_finite == 1
    assert softwarp.quantize(np.zeros(3, np.float32), "mxfp4").error().snr_db is None


@pytest.mark.parametrize("shape", [(), (0,), (3, 0), (0, 5), (1,), (33,)])
def test_all_shapes_come_back(shape):
    x = np.ones(shape, np.float32)
    for form in ("mxfp4", "nvfp4", "mxfp8"):
        assert np.array_equal(softwarp.quantize(x, form).dequantize(), x)


def test_other_formats_are_quantised_too():
    x = RANDOM.normal(0, 1, (2, 32)).astype(ml_dtypes.bfloat16)
    wanted = softwarp.quantize(x.astype(np.float32), "mxfp4")
    assert np.array_equal(softwarp.quantize(x, "mxfp4").codes, wanted.codes)
    assert np.array_equal(softwarp.quantize(x.view(np.uint16), "mxfp4", from_="bf16").codes, wanted.codes)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"format": "mxfp5"}, "is not a block format"),
        ({"format": "mxfp6"}, "mxfp6_e2m3 and mxfp6_e3m2 are"),
        ({"format": "mxfp4", "axis": 2}, "axis 2 is not there"),
        ({"format": "mxfp4", "scale_rule": "most"}, "floor, nearest, even and amax"),
        ({"format": "nvfp4", "scale_rule": "floor"}, "nvfp4 has one rule"),
        ({"format": "mxfp4", "rounding": "rs"}, "give a seed"),
        ({"format": "mxfp4", "seed": 1}, "stochastic"),
    ],
)
def test_what_cannot_be_is_refused(options, words):
    with pytest.raises(ValueError, match=words):
        softwarp.quantize(np.ones(4, np.float32), **options)
