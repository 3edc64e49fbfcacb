"""Checks, layouts, launches and the command line."""

import json
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

import softwarp

HEAD = ".version 8.0\n.target sm_80\n.address_size 64\n"
SAXPY = HEAD + """
.visible .entry saxpy(.param .f32 a, .param .u64 x, .param .u64 y, .param .u32 n)
{
    .reg .pred %outside;
    .reg .b32 %i, %n, %t, %s;
    .reg .b64 %offset, %px, %py;
    .reg .f32 %a, %x, %y;
    mov.u32 %i, %ctaid.x;
    mov.u32 %s, %ntid.x;
    mov.u32 %t, %tid.x;
    mad.lo.u32 %i, %i, %s, %t;
    ld.param.u32 %n, [n];
    setp.ge.u32 %outside, %i, %n;
    @%outside ret;
    ld.param.f32 %a, [a];
    ld.param.u64 %px, [x];
    ld.param.u64 %py, [y];
    mul.wide.u32 %offset, %i, 4;
    add.u64 %px, %px, %offset;
    add.u64 %py, %py, %offset;
    ld.global.f32 %x, [%px];
    ld.global.f32 %y, [%py];
    fma.rn.f32 %y, %a, %x, %y;
    st.global.f32 [%py], %y;
    ret;
}
"""
RACE = HEAD + """
.global .u32 counter = 7;
.visible .entry race(.param .u64 to)
{
    .reg .b32 %i;
    .reg .b64 %to;
    ld.param.u64 %to, [to];
    mov.u32 %i, %tid.x;
    st.global.u32 [%to], %i;
    ret;
}
.visible .entry forever() { L: bra L; }
"""
WRONG = HEAD + ".visible .entry k()\n{\n    .reg .b32 %r<3>;\n    add.s32 %r1, %r2;\n    ret;\n}\n"


def command(*words, **kwargs):
    return subprocess.run([sys.executable, "-m", "softwarp", *words], capture_output=True, text=True, **kwargs)


def test_diagnostics_are_those_of_the_command(tmp_path):
    (tmp_path / "k.ptx").write_text(WRONG)
    printed = command("check", "--color", "never", "k.ptx", cwd=tmp_path)
    listed = [json.loads(line) for line in command("check", "--json", "k.ptx", cwd=tmp_path).stdout.splitlines()]
    found = softwarp.check(WRONG, name="k.ptx")
    assert printed.returncode == 1 and len(found) == len(listed) > 0
    for one, wanted in zip(found, listed):
        assert str(one) in printed.stdout
        for key in ("code", "severity", "message", "line", "column", "end_line", "end_column", "help"):
            assert getattr(one, key) == wanted[key]
        assert [(note.line, note.column, note.message) for note in one.notes] == [
            (note["line"], note["column"], note["message"]) for note in wanted["related"]
        ]
        assert one.end == (one.end_line, one.end_column)


def test_a_right_module_has_no_errors():
    assert softwarp.check(SAXPY) == []
    assert softwarp.check(SAXPY.replace("sm_80", "sm_90"), "sm_80")
    with pytest.raises(ValueError, match="sm_"):
        softwarp.check(SAXPY, "gfx90a")


def test_layouts_are_those_of_the_command(tmp_path):
    (tmp_path / "k.ptx").write_text(RACE)
    assert softwarp.layout(RACE, name="k.ptx") == json.loads(command("layout", "--json", "k.ptx", cwd=tmp_path).stdout)
    with pytest.raises(softwarp.PtxError) as caught:
        softwarp.layout(WRONG)
    assert caught.value.diagnostics[0].line == 7


def test_saxpy_runs_on_arrays():
    module = softwarp.Module(SAXPY)
    x, y = np.arange(100, dtype=np.float32), np.ones(100, np.float32)
    report = module.saxpy[4, 32](2, x, y, 100)
    assert np.array_equal(y, 2 * np.arange(100) + 1) and report.ctas == 4 and report.findings == ()
    assert module.saxpy.parameters[0] == ("a", "f32", 4)
    assert dir(module).count("saxpy") == 1 and module["saxpy"] is module.kernels["saxpy"]


def test_views_and_the_same_array_twice():
    module = softwarp.Module(SAXPY)
    both = np.arange(20, dtype=np.float32)
    module.saxpy[1, 32](1, both, both, 20)
    assert np.array_equal(both, 2 * np.arange(20))
    table = np.zeros((4, 6), np.float32)
    module.saxpy[1, 32](1, np.ones(4, np.float32), table[:, 2], 4)
    assert table[:, 2].tolist() == [1] * 4 and table.sum() == 4


def test_arrays_stay_in_the_machine():
    module = softwarp.Module(SAXPY)
    x, y = module.array(np.ones(8, np.float32)), module.zeros(8)
    for _ in range(3):
        module.saxpy[(1, 1, 1), (8,)](0.5, x, y, 8)
    assert y.numpy().tolist() == [1.5] * 8 and np.asarray(y).sum() == 12
    y.set(np.zeros(8))
    assert np.asarray(y).sum() == 0
    with pytest.raises(ValueError, match="another module"):
        softwarp.Module(SAXPY).saxpy[1, 8](0.5, x, y, 8)


def test_faults_say_where():
    module = softwarp.Module(SAXPY)
    x = np.ones(10, np.float32)
    with pytest.raises(softwarp.Fault, match="out of bounds") as caught:
        module.saxpy[1, 32](1, x, x, 32)
    fault = caught.value
    assert (fault.kind, fault.thread, fault.cta) == ("out_of_bounds", (10, 0, 0), (0, 0, 0))
    assert SAXPY.splitlines()[fault.line - 1].strip() == fault.instruction == "ld.global.f32 %x, [%px];"
    assert "module.ptx:" in str(fault) and fault.kernel == "saxpy"
    with pytest.raises(softwarp.Fault) as caught:
        softwarp.Module(RACE).forever.launch(1, 1, timeout=0.05)()
    assert caught.value.kind == "time_limit"


def test_sanitizers_find_races():
    out = np.zeros(1, np.uint32)
    assert softwarp.Module(RACE).race[1, 64](out).findings == ()
    report = softwarp.Module(RACE, sanitize="all").race[1, 64](out)
    assert [one.sanitizer for one in report.findings] == ["race"]
    assert report.findings[0].line == RACE.splitlines().index("    st.global.u32 [%to], %i;") + 1
    with pytest.raises(ValueError, match="is not a sanitizer"):
        softwarp.Module(RACE, sanitize="races")


def test_variables_are_read_and_written():
    module = softwarp.Module(RACE)
    assert module.get("counter", np.uint32).tolist() == [7]
    module.set("counter", np.uint32(9))
    assert module.get("counter", np.uint32).tolist() == [9]
    with pytest.raises(KeyError, match="no variable"):
        module.get("none")


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda m, x: m.saxpy(1, x, x, 4), TypeError, r"saxpy\[grid, block\]"),
        (lambda m, x: m.saxpy[1, 4](1, x, x), TypeError, "takes 4 arguments"),
        (lambda m, x: m.saxpy[1, 4](x, x, x, 4), TypeError, "parameter a is .f32"),
        (lambda m, x: m.saxpy[1, 4](1, x, x, 4.5), TypeError, "not an integer"),
        (lambda m, x: m.saxpy[1, 4](1, x, x, 1 << 32), OverflowError, "does not fit"),
        (lambda m, x: m.saxpy[1, 2000](1, x, x, 4), ValueError, "block"),
        (lambda m, x: m.saxpi, AttributeError, "there are: saxpy"),
        (lambda m, x: softwarp.Module(WRONG), softwarp.PtxError, "error"),
    ],
)
def test_mistakes_are_named(call, error, words):
    with pytest.raises(error, match=words):
        call(softwarp.Module(SAXPY), np.ones(4, np.float32))


STRUCT = HEAD + """
.extern .func (.param .b32 r) vprintf (.param .b64 f, .param .b64 a);
.global .align 1 .b8 text[4] = {104, 105, 10, 0};
.visible .entry pick(.param .align 8 .b8 pair[16], .param .b32 bits, .param .u8 small, .param .u64 to)
{
    .reg .b64 %to;
    .reg .b32 %x;
    .reg .b16 %h;
    ld.param.u64 %to, [to];
    ld.param.u32 %x, [pair+8];
    st.global.u32 [%to], %x;
    ld.param.b32 %x, [bits];
    st.global.u32 [%to+4], %x;
    ld.param.u8 %h, [small];
    cvt.u32.u16 %x, %h;
    st.global.u32 [%to+8], %x;
    ret;
}
.visible .entry hello()
{
    .reg .b64 %f;
    .reg .b32 %r;
    mov.u64 %f, text;
    cvta.global.u64 %f, %f;
    {
        .param .b64 p0;
        .param .b64 p1;
        .param .b32 q;
        st.param.b64 [p0], %f;
        st.param.b64 [p1], 0;
        call.uni (q), vprintf, (p0, p1);
        ld.param.b32 %r, [q];
    }
    ret;
}
"""


def test_arguments_are_what_parameters_are():
    module, out = softwarp.Module(STRUCT), np.zeros(3, np.uint32)
    pair = np.array([(1.5, 42)], np.dtype([("x", "<f8"), ("n", "<u8")]))
    module.pick[1, 1](pair, np.float32(1), 200, out)
    assert out.tolist() == [42, 0x3F800000, 200]
    module.pick[1, 1](pair.tobytes(), -1, -1, out)
    assert out.tolist() == [42, 0xFFFFFFFF, 255]
    with pytest.raises(ValueError, match="pair has 16 bytes, and 3 were given"):
        module.pick[1, 1](b"abc", 0, 0, out)
    with pytest.raises(TypeError, match="parameter bits is .b32"):
        module.pick[1, 1](pair, 1.5, 0, out)


def test_kernels_print(capsys):
    report = softwarp.Module(STRUCT).hello[2, 1]()
    assert report.printed == capsys.readouterr().out == "hi\nhi\n"


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_an_interrupt_stops_a_launch():
    program = "import softwarp, sys\nmodule = softwarp.Module(sys.argv[1])\nprint('go', flush=True)\nmodule.forever[1, 1]()"
    process = subprocess.Popen(
        [sys.executable, "-c", program, RACE], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout.readline() == "go\n"
    time.sleep(0.3)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert "KeyboardInterrupt" in errors


def test_without_ml_dtypes_there_are_raw_codes():
    program = """
import sys
sys.modules["ml_dtypes"] = None
import numpy as np, softwarp
codes = softwarp.convert(np.float32([1.5, -300]), "e4m3")
assert codes.dtype == np.uint8 and codes.tolist() == [0x3c, 0xf9], codes
assert softwarp.convert(np.float32([1]), "bf16").dtype == np.uint16
assert softwarp.convert(codes, "f32", from_="e4m3").tolist() == [1.5, -288]
"""
    subprocess.run([sys.executable, "-c", program], check=True)


def test_formats_know_their_codes():
    e5m2 = softwarp.format("E5M2")
    assert (e5m2.max, e5m2.has_infinity, e5m2.exponent_bits, e5m2.mantissa_bits) == (57344.0, True, 5, 2)
    assert len(e5m2.table()) == 256 and all(e5m2.encode(e5m2.decode(code)) == code for code in range(0x7C))
    with pytest.raises(ValueError, match="at most 16 bits"):
        softwarp.format("f32").table()
    with pytest.raises(ValueError, match="not a code"):
        e5m2.decode(256)


def test_the_command_runs():
    assert command("cvt", "rn.f16.f32", "1.5").stdout.count("1.5") > 0
    assert command("nonsense").returncode == 2
    assert command("--version").stdout.startswith("softwarp ")
