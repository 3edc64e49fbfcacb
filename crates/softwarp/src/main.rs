//! tmp
fn main() {
    let a: Vec<String> = std::env::args().collect();
    let full = a.iter().any(|x| x == "--full");
    let paths: Vec<std::path::PathBuf> =
        a[1..].iter().filter(|x| !x.starts_with("--")).map(Into::into).collect();
    let t = std::time::Instant::now();
    let r = softwarp::verify::verify(
        &paths,
        if full { softwarp::verify::Depth::Full } else { softwarp::verify::Depth::Subset },
        &|_, _| {},
    )
    .unwrap();
    for o in &r.outcomes {
        if let Some(f) = &o.failure {
            let s = format!("{f:x?}");
            println!("{} {}", o.form, &s[..s.len().min(300)]);
        }
    }
    println!("{:?} {} passed, {} failed", t.elapsed(), r.passed(), r.failed());
}
