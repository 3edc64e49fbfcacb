//! tmp
use softwarp_num::*;
use std::time::Instant;
fn main() {
    let n = 4096usize;
    let f32s: Vec<u8> = (0..n).flat_map(|i| (i as f32 * 0.01 - 20.0).to_le_bytes()).collect();
    let mut out = vec![1u8; n * 8];
    for (src, dst, sat) in [
        (Format::F32, Format::E4m3, Saturation::Finite),
        (Format::F32, Format::E5m2, Saturation::Finite),
        (Format::F32, Format::E2m1, Saturation::Finite),
        (Format::F32, Format::F16, Saturation::None),
        (Format::F32, Format::Bf16, Saturation::None),
        (Format::E4m3, Format::F32, Saturation::None),
        (Format::E2m1, Format::F32, Saturation::None),
        (Format::F16, Format::F32, Saturation::None),
    ] {
        let k = Conversion::new(src, dst).with_saturation(sat).kernel().unwrap();
        let (sb, db) = (src.bytes() * n, dst.bytes() * n);
        let mut b = f64::MAX;
        for _ in 0..20 {
            let t = Instant::now();
            for _ in 0..500 {
                k.run(&f32s[..sb], &[], &mut out[..db]);
            }
            b = b.min(t.elapsed().as_secs_f64() / 500.0);
        }
        println!("{src}->{dst} {:.0} M/s", n as f64 / b / 1e6);
    }
}
