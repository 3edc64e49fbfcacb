//! Keeps the arrows between the crates pointing down (docs/ARCHITECTURE.md).

use std::process::Command;

/// The floors of the house, the lowest first. A crate may use those below it, and no others of ours.
const FLOORS: &[&[&str]] = &[
    &["softwarp-num"],
    &["softwarp-isa", "softwarp-tensor"],
    &["softwarp-syntax"],
    &["softwarp-check"],
    &["softwarp-image"],
    &["softwarp-vm"],
    &["softwarp"],
    &["softwarp-bench"],
];

fn floor(package: &str) -> Option<usize> {
    FLOORS.iter().position(|floor| floor.contains(&package))
}

#[test]
fn arrows_between_crates_go_down() {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--no-deps", "--offline"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .expect("cargo metadata runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: serde_json::Value = serde_json::from_slice(&output.stdout).expect("metadata is JSON");
    let packages = metadata["packages"].as_array().expect("packages");
    assert!(packages.len() >= 3);
    for package in packages {
        let name = package["name"].as_str().expect("a name");
        let from = floor(name).unwrap_or_else(|| panic!("{name} has no floor in the house"));
        for dependency in package["dependencies"].as_array().expect("dependencies") {
            let to = dependency["name"].as_str().expect("a name");
            if to.starts_with("softwarp") {
                let below = floor(to).unwrap_or_else(|| panic!("{to} has no floor in the house"));
                assert!(below < from, "{name} uses {to}, which is not below it");
            }
        }
    }
}
