//! Lets the linker of macOS leave Python's functions open: the interpreter that loads the module has them.

fn main() {
    pyo3_build_config::add_extension_module_link_args();
}
