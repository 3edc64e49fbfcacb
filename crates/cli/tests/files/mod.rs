//! Folders of files for tests, and a kernel with its launch file.

use softwarp_testkit::files::{TempDir, folder_of};

/// `k` writes 7 to a buffer; `forever` never ends.
pub const KERNEL: &str = "\
.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 p)
{
    .reg .b64 %p;
    ld.param.u64 %p, [p];
    st.global.u32 [%p], 7;
    ret;
}
.visible .entry forever(.param .u64 p) { L: bra L; }
";

/// A launch file of `k` in [`KERNEL`] with buffer `y`, and more members.
pub fn launch(more: &str) -> String {
    format!(
        r#"{{"launches": [{{"kernel": "k", "grid": 1, "block": 1, "args": [{{"buffer": "y"}}]}}],
            "buffers": {{"y": {{"bytes": 4}}}}{more}}}"#
    )
}

/// A temporary folder with files, by their paths in it; a header is put before PTX.
pub fn with_headers(files: &[(&str, &str)]) -> TempDir {
    let header = ".version 8.0\n.target sm_90\n.address_size 64\n";
    let with_header = |&(name, text): &(_, _)| {
        let header = if str::ends_with(name, ".ptx") { header } else { "" };
        (name, format!("{header}{text}"))
    };
    folder_of(files.iter().map(with_header))
}
