"""Textures, surfaces, samplers, and modules that are linked."""

import gc

import numpy as np
import pytest

import softwarp

from test_ptx import HEAD

LOOK = HEAD + """
.global .texref bound;
.global .surfref result;
.visible .entry by_handle(.param .u64 image, .param .u64 to)
{
    .reg .b32 %i, %y;
    .reg .b64 %image, %to;
    .reg .f32 %fx, %fy, %r, %g, %b, %a;
    ld.param.u64 %image, [image];
    ld.param.u64 %to, [to];
    mov.u32 %i, %tid.x;
    mov.u32 %y, %tid.y;
    cvt.rn.f32.u32 %fx, %i;
    cvt.rn.f32.u32 %fy, %y;
    tex.2d.v4.f32.f32 {%r, %g, %b, %a}, [%image, {%fx, %fy}];
    mad.lo.u32 %i, %y, 4, %i;
    mad.wide.u32 %to, %i, 8, %to;
    st.global.v2.f32 [%to], {%r, %g};
    ret;
}
.visible .entry by_name(.param .u64 to)
{
    .reg .b32 %i;
    .reg .b64 %to;
    .reg .f32 %x, %r, %g, %b, %a;
    ld.param.u64 %to, [to];
    mov.u32 %i, %tid.x;
    cvt.rn.f32.u32 %x, %i;
    tex.1d.v4.f32.f32 {%r, %g, %b, %a}, [bound, {%x}];
    mad.wide.u32 %to, %i, 4, %to;
    st.global.f32 [%to], %r;
    ret;
}
.visible .entry fetch(.param .u64 to)
{
    .reg .b32 %i;
    .reg .b64 %to;
    .reg .f32 %r, %g, %b, %a;
    ld.param.u64 %to, [to];
    mov.u32 %i, %tid.x;
    tex.1d.v4.f32.s32 {%r, %g, %b, %a}, [bound, {%i}];
    mad.wide.u32 %to, %i, 4, %to;
    st.global.f32 [%to], %r;
    ret;
}
.visible .entry draw(.param .u64 surface)
{
    .reg .b32 %x, %y, %v;
    .reg .b64 %s;
    ld.param.u64 %s, [surface];
    mov.u32 %x, %tid.x;
    mov.u32 %y, %tid.y;
    mad.lo.u32 %v, %y, 10, %x;
    shl.b32 %x, %x, 2;
    sust.b.2d.b32.trap [%s, {%x, %y}], %v;
    sust.b.2d.b32.trap [result, {%x, %y}], %v;
    ret;
}
"""


def test_texels_are_read_by_handle():
    module = softwarp.Module(LOOK)
    values = np.arange(24, dtype=np.float32).reshape(3, 4, 2)
    seen = np.zeros_like(values)
    module.by_handle[1, (4, 3)](module.texture(values, channels=True), seen)
    assert (seen == values).all()
    # Fractions of bytes, and integers.
    bytes_ = np.arange(12, dtype=np.uint8).reshape(3, 4)
    module.by_handle[1, (4, 3)](module.texture(bytes_), seen)
    assert np.allclose(seen[..., 0], bytes_ / 255)
    # Other orders and byte orders are the same texels.
    for other in (np.asfortranarray(values), values.astype(">f4"), values[:, ::-1][:, ::-1]):
        module.by_handle[1, (4, 3)](module.texture(other, channels=True), seen)
        assert (seen == values).all()


def test_addresses_and_filters():
    module = softwarp.Module(LOOK)
    values = np.float32([[1, 3]])
    for options, wanted in (
        ({"address": "clamp"}, [1, 3, 3, 3]),
        ({"address": "border", "border": (9, 9, 9, 9)}, [1, 3, 9, 9]),
        ({"filter": "linear"}, [1, 2, 3, 3]),
    ):
        seen = np.zeros((1, 4, 2), np.float32)
        module.by_handle[1, (4, 1)](module.texture(values, **options), seen)
        assert seen[0, :, 0].tolist() == wanted, options


def test_variables_are_bound():
    module = softwarp.Module(LOOK)
    seen = np.zeros(4, np.float32)
    with pytest.raises(softwarp.Fault) as caught:
        module.by_name[1, 4](seen)
    assert caught.value.kind == "texture_unbound"
    image = module.texture(np.float32([5, 6, 7, 8]))
    module.bind("bound", image)
    del image
    gc.collect()
    module.by_name[1, 4](seen)
    assert seen.tolist() == [5, 6, 7, 8]
    # Memory that stays in the machine, which kernels can write.
    memory = module.array(np.float32([1, 2, 3, 4]))
    module.bind("bound", module.texture(memory))
    memory.set([4, 3, 2, 1])
    module.fetch[1, 4](seen)
    assert seen.tolist() == [4, 3, 2, 1]


def test_surfaces_are_written():
    module = softwarp.Module(LOOK)
    surface, result = (module.surface(np.zeros((2, 3), np.uint32)) for _ in range(2))
    module.bind("result", result)
    module.draw[1, (3, 2)](surface)
    assert np.asarray(surface).tolist() == [[0, 1, 2], [10, 11, 12]]
    assert (result.numpy() == surface.numpy()).all() and result.numpy().dtype == np.uint32
    # A texture shows them.
    seen = np.zeros((2, 4, 2), np.float32)
    shown = module.surface(np.float32([[1, 2], [3, 4]]))
    module.by_handle[1, (2, 2)](module.texture(shown), seen)
    assert seen[:, :2, 0].tolist() == [[1, 2], [3, 4]]


def test_wrong_texels_are_errors():
    module, other = softwarp.Module(LOOK), softwarp.Module(LOOK)
    for wrong, error, words in (
        (lambda: module.texture(np.zeros(4)), TypeError, "texels have float64"),
        (lambda: module.texture(np.zeros((2, 3), np.uint8), channels=True), ValueError, "1, 2 or 4"),
        (lambda: module.texture(np.zeros((0, 3), np.uint8)), ValueError, "there must be some"),
        (lambda: module.texture(np.zeros((1, 1, 1, 1), np.uint8)), ValueError, "one to three dimensions"),
        (lambda: module.texture(np.zeros((5, 2, 2), np.uint8), cube=True), ValueError, "six faces"),
        (lambda: module.texture(np.zeros(4, np.uint8), filter="cubic"), ValueError, "filter: \"cubic\""),
        (lambda: module.texture(np.zeros(4, np.uint8), address="round"), ValueError, "address: \"round\""),
        (lambda: module.texture(np.zeros(4, np.uint8), address=["wrap"] * 4), ValueError, "address: "),
        (lambda: module.texture(np.zeros(4, np.uint8), border=(1,)), ValueError, "border: "),
        (lambda: module.texture(np.zeros(4, np.uint8), mips=[np.zeros(3, np.uint8)]), ValueError, r"mips\[0\]"),
        (lambda: module.texture(np.zeros(4, np.uint8), mips=[np.zeros(2, np.int8)]), TypeError, r"mips\[0\]"),
        (lambda: module.surface([["a"]]), TypeError, "texels have"),
        (lambda: module.bind("nothing", module.texture(np.zeros(4, np.uint8))), ValueError, "nothing"),
        (lambda: module.bind("result", module.texture(np.zeros(4, np.uint8))), ValueError, "result"),
        (lambda: module.bind("bound", np.zeros(4)), TypeError, "bound is bound to a texture"),
        (lambda: module.bind("bound", other.texture(np.zeros(4, np.uint8))), ValueError, "another module"),
        (lambda: module.draw[1, 1](other.surface(np.zeros((2, 2), np.uint32))), ValueError, "surface for surface"),
        (lambda: module.texture(other.array(np.float32([1]))), ValueError, "another module"),
    ):
        with pytest.raises(error, match=words):
            wrong()


INDEPENDENT = """.version 8.0
.target sm_80, texmode_independent
.address_size 64
.global .texref image;
.global .samplerref how;
.visible .entry look(.param .u64 to)
{
    .reg .b64 %to;
    .reg .f32 %r, %g, %b, %a;
    ld.param.u64 %to, [to];
    tex.1d.v4.f32.f32 {%r, %g, %b, %a}, [image, how, {0f3f800000}];
    st.global.f32 [%to], %r;
    ret;
}
"""


def test_samplers_of_their_own():
    module = softwarp.Module(INDEPENDENT)
    module.bind("image", module.texture(np.float32([1, 3])))
    seen = np.zeros(1, np.float32)
    for filter, wanted in (("point", 3), ("linear", 2)):
        module.bind("how", module.sampler(filter=filter))
        module.look[1, 1](seen)
        assert seen[0] == wanted


CALLER = HEAD + """
.extern .func (.param .f32 r) twice(.param .f32 x);
.visible .entry k(.param .u64 data)
{
    .reg .b64 %p;
    .reg .f32 %x;
    .param .f32 given, made;
    ld.param.u64 %p, [data];
    ld.global.f32 %x, [%p];
    st.param.f32 [given], %x;
    call (made), twice, (given);
    ld.param.f32 %x, [made];
    st.global.f32 [%p], %x;
    ret;
}
"""
CALLED = HEAD + """
.visible .func (.param .f32 r) twice(.param .f32 x)
{
    .reg .f32 %x;
    ld.param.f32 %x, [x];
    add.f32 %x, %x, %x;
    st.param.f32 [r], %x;
    ret;
}
.visible .entry bad(.param .u64 p)
{
    .reg .b64 %p;
    ld.param.u64 %p, [p];
    st.global.u32 [%p+400], 1;
    ret;
}
"""


def test_texts_are_linked():
    module = softwarp.Module([CALLER, CALLED], name=["caller.ptx", "called.ptx"], debug=True)
    data = np.float32([1.5])
    report = module.k.launch(1, 1, stats=True, coverage=True)(data)
    assert data[0] == 3.0
    assert {row["file"] for row in report.stats} == {"caller.ptx", "called.ptx"}
    assert ("called.ptx", 9, 1) in [(row["file"], row["line"], row["count"]) for row in report.coverage]
    with pytest.raises(softwarp.Fault, match=r"called.ptx:17: st.global.u32") as caught:
        module.bad[1, 1](data)
    assert (caught.value.file, caught.value.line, caught.value.buffer) == ("called.ptx", 17, "p")
    with softwarp.debug(module.k[1, 1], data) as debugger:
        debugger.breakpoint("twice")
        stop = debugger.cont()
        assert (stop.file, stop.function) == ("called.ptx", "twice")
    assert softwarp.Module(module.ptx).k.name == "k"
    job = softwarp.Job([CALLER, CALLED], "k", 1, 1, [data])
    assert softwarp.map([job])[0].arguments[0][0] == 2 * data[0]


def test_texts_that_cannot_be_linked():
    with pytest.raises(ValueError, match="twice"):
        softwarp.Module([CALLER])
    with pytest.raises(ValueError, match="twice"):
        softwarp.Module([CALLER, CALLED, CALLED.replace(".entry bad", ".entry worse")])
    with pytest.raises(softwarp.PtxError, match="module1.ptx"):
        softwarp.Module([CALLER, HEAD + ".entry k() { nop; }"])
    for wrong in ([], [1], 1):
        with pytest.raises(TypeError):
            softwarp.Module(wrong)
    with pytest.raises(ValueError, match="name: there are 2 texts"):
        softwarp.Module([CALLER, CALLED], name=["a"])
