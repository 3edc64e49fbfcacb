//! Pages of `docs/` that are made, not written.

use std::path::Path;

/// Fails unless the page is what was made; with SOFTWARP_BLESS set, writes it instead.
pub fn is_true(page: &str, made: &str) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(page);
    if std::env::var_os("SOFTWARP_BLESS").is_some() {
        std::fs::write(&file, made).expect("written");
        return;
    }
    let written = std::fs::read_to_string(&file).unwrap_or_default();
    assert!(
        written == made,
        "docs/{page} is out of date; run this test with SOFTWARP_BLESS=1 and read the difference"
    );
}
