//! tmp
use softwarp_num::*;
use std::time::Instant;
fn main() {
    let n = 16usize << 20;
    let mut z = 1u64;
    let f32s: Vec<u8> = (0..n).flat_map(|_| { z = z.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407); let u = (z >> 40) as f32 / 16777216.0 - 0.5; (u * 20.0).to_le_bytes() }).collect();
    let mut out = vec![1u8; n * 4];
    let bytes: Vec<u8> = f32s.iter().step_by(4).copied().collect();
    for (src, dst, sat) in [(Format::F32, Format::E4m3, Saturation::Finite), (Format::F32, Format::E5m2, Saturation::Finite), (Format::F32, Format::E2m1, Saturation::Finite), (Format::F32, Format::F16, Saturation::None), (Format::F32, Format::Bf16, Saturation::None), (Format::E4m3, Format::F32, Saturation::None), (Format::E2m1, Format::F32, Saturation::None)] {
        let k = Conversion::new(src, dst).with_saturation(sat).kernel().unwrap();
        let (sb, db) = (slice::packed_len(src, n), slice::packed_len(dst, n));
        let input = if src == Format::F32 { &f32s[..sb] } else { &bytes[..sb] };
        let half = (sb + db) / 2;
        let (a, mut b) = (vec![1u8; half], vec![2u8; half]);
        let (mut t, mut m) = (f64::MAX, f64::MAX);
        for _ in 0..25 {
            let s = Instant::now(); k.run_packed(input, &[], &mut out[..db]); t = t.min(s.elapsed().as_secs_f64());
            let s = Instant::now(); b.copy_from_slice(std::hint::black_box(&a)); m = m.min(s.elapsed().as_secs_f64()); std::hint::black_box(&mut b);
        }
        println!("{src}->{dst} {:.2} ms  memcpy {:.2} ms ratio {:.2}  {:.0} M/s", t * 1e3, m * 1e3, t / m, n as f64 / t / 1e6);
    }
}
