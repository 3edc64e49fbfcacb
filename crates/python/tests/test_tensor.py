"""Tensor maps, copies and drawings."""

import json
import subprocess
import sys

import numpy as np
import pytest

import softwarp
from softwarp.tensor import Map, MapError

TILED = {"type": "f16", "dims": (64, 64), "box": (64, 8), "swizzle": "128B"}


def command(*words, **kwargs):
    return subprocess.run([sys.executable, "-m", "softwarp", *words], capture_output=True, **kwargs)


def test_bytes_are_those_of_the_command(tmp_path):
    file = tmp_path / "map.json"
    file.write_text(json.dumps(TILED))
    done = command("tensor", "encode", str(file), text=True)
    assert Map(**TILED).encode().hex() == done.stdout.strip()


@pytest.mark.parametrize("swizzle", ["none", "32B", "64B", "128B"])
def test_a_copy_is_that_of_the_command(tmp_path, swizzle):
    fields = {"type": "u16", "dims": (64, 64), "box": (16, 8), "swizzle": swizzle}
    tensor = np.random.default_rng(1).integers(0, 1 << 16, (64, 64), dtype=np.uint16)
    (tmp_path / "map.json").write_text(json.dumps(fields))
    np.save(tmp_path / "tensor.npy", tensor)
    words = ["map.json", "--at", "56,60", "--input", "tensor.npy", "--output", "tile.bin"]
    done = command("tensor", "copy", *words, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    tile = Map(**fields).copy(tensor, at=(56, 60))
    assert tile.tobytes() == (tmp_path / "tile.bin").read_bytes()
    if swizzle == "none":
        inside = tile.view(np.uint16).reshape(8, 16)
        assert (inside[:4, :8] == tensor[60:, 56:]).all()
        assert (inside[4:] == 0).all() and (inside[:, 8:] == 0).all()


def test_bytes_are_read_back():
    map = Map(**TILED)
    back = Map.decode(map.encode())
    assert back.encode() == map.encode()
    assert back.to_dict()["dims"] == [64, 64]
    with pytest.raises(ValueError, match="128 of them, and 5"):
        Map.decode(b"abcde")
    with pytest.raises(ValueError, match="bytes: "):
        Map.decode(bytes([255]) * 64 + bytes(64))


def test_what_is_wrong_is_an_object():
    found = Map(type="f16", dims=(250, 64), box=(64, 8)).check()
    assert [(one.code, one.severity) for one in found] == [("E1013", "error")]
    assert "strides[0]" in found[0].message and found[0].title
    for wrong in (lambda map: map.encode(), lambda map: map.copy(np.zeros(4)), lambda map: map.draw()):
        with pytest.raises(MapError) as error:
            wrong(Map(type="f16", dims=(250, 64), box=(64, 8)))
        assert error.value.diagnostics == found
    assert Map(type="f17", dims=(64, 64), box=(64, 8)).check()[0].severity == "error"
    with pytest.raises(ValueError, match="sm_1"):
        Map(**TILED, arch="sm_1").check()


def test_bad_copies_name_what_is_wrong():
    map = Map(**TILED)
    with pytest.raises(TypeError, match="array holds float64"):
        map.copy(np.zeros((64, 64)))
    with pytest.raises(ValueError, match=r"array has the shape \(32, 64\)"):
        map.copy(np.zeros((32, 64), np.float16))
    with pytest.raises(ValueError, match="2 coordinates"):
        map.copy(np.zeros((64, 64), np.float16), at=(1, 2, 3))
    with pytest.raises(ValueError, match="mode: "):
        map.copy(np.zeros((64, 64), np.float16), mode="sideways")
    with pytest.raises(ValueError, match="faults"):
        map.copy(np.zeros((64, 64), np.float16), shared=1)
    with pytest.raises(ValueError, match="faults"):
        map.copy(np.zeros(16, np.float16), at=(0, 8))


def test_drawings_are_those_of_the_command(tmp_path):
    file = tmp_path / "map.json"
    file.write_text(json.dumps(TILED))
    drawing = Map(**TILED).draw(at=(0, 8))
    done = command("tensor", "draw", str(file), "--at", "0,8", "--svg", "-", text=True)
    assert drawing._repr_svg_() == str(drawing) == done.stdout
    drawing.save(tmp_path / "page.html")
    assert (tmp_path / "page.html").read_text().startswith("<!")
    done = command("formats", "e4m3", "--svg", "-", text=True)
    e4m3 = softwarp.format("e4m3")
    assert e4m3._repr_svg_() == done.stdout
    assert done.stdout in e4m3._repr_html_()


@pytest.mark.parametrize("swizzle", ["none", "32B", "64B", "128B"])
def test_a_store_undoes_a_load(swizzle):
    map = Map(type="u16", dims=(64, 64), box=(16, 8), swizzle=swizzle)
    tensor = np.random.default_rng(1).integers(0, 1 << 16, (64, 64), dtype=np.uint16)
    tile = map.copy(tensor, at=(16, 8))
    other = np.zeros_like(tensor)
    map.store(tile, other, at=(16, 8))
    assert (other[8:16, 16:32] == tensor[8:16, 16:32]).all() and np.count_nonzero(other) <= 128
    # What is outside of the tensor is not written.
    map.store(tile, other, at=(56, 60))
    assert (other[60:, 56:] == tensor[8:12, 16:24]).all()


def test_reductions():
    map = Map(type="s32", dims=(32, 8), box=(32, 8))
    before = np.random.default_rng(2).integers(-100, 100, (8, 32), dtype=np.int32)
    given = np.random.default_rng(3).integers(-100, 100, (8, 32), dtype=np.int32)
    for name, wanted in (("add", before + given), ("min", np.minimum(before, given)), ("xor", before ^ given)):
        tensor = before.copy()
        map.store(given, tensor, at=(0, 0), reduce=name)
        assert (tensor == wanted).all(), name
    assert map.draw(at=(0, 0), direction="add").svg.startswith("<svg")


def test_stores_that_cannot_be():
    map = Map(type="u16", dims=(64, 64), box=(16, 8))
    tile, tensor = np.zeros(256, np.uint8), np.zeros((64, 64), np.uint16)
    frozen = tensor.copy()
    frozen.flags.writeable = False
    for arguments, options, error, words in (
        ((tile, frozen), {}, ValueError, "array is read-only"),
        ((tile, tensor.T), {}, ValueError, "C order"),
        ((tile, tensor.astype(">u2")), {}, ValueError, "byte order"),
        ((tile, tensor.tolist()), {}, TypeError, "array is a list"),
        ((tile, np.zeros((64, 64))), {}, TypeError, "array holds float64"),
        ((tile, tensor[:8].copy()), {}, ValueError, "array has the shape"),
        ((tile[1:], tensor), {}, ValueError, "tile: the copy has 256 bytes, and 255"),
        ((tile, tensor), {"reduce": "mul"}, ValueError, "reduce: \"mul\""),
        ((tile, tensor), {"reduce": "min", "at": "ab"}, TypeError, "at is 'ab'"),
        ((tile, tensor), {"at": (0, 1 << 40)}, ValueError, "at is"),
    ):
        with pytest.raises(error, match=words):
            map.store(*arguments, **({"at": (0, 0)} | options))
