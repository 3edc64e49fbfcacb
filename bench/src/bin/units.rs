//! Textures and tensor copies: kernels that use them, beside native loops on all cores.
//!
//! usage: `units`
//!
//! `bench/kernels/resample.ptx` makes an image of 2048 x 2048 from a texture of 1500 x 1000 floats, with linear filtering.
//! `bench/kernels/pipeline.ptx` computes `y = a * x + b` over 2048 x 2048 floats: tensor copies bring tiles of 256 x 16 to
//! shared memory and take them away, and mbarriers say when one is there. Both are as nvcc writes them. "native" is the
//! same in Rust, rows of the result handed out to all cores. Every candidate in turn, many times, and its best time
//! counts. Results are compared, but for the last bit: texture units and fused sums round once. "by columns" is what one would
//! write for a CPU: it computes what columns have in common only once, and rounds weights otherwise.

#![forbid(unsafe_code)]

use rayon::prelude::*;
use softwarp_bench::SplitMix64;
use softwarp_tensor::object::encode;
use softwarp_tensor::{Description, Element, Map, Target};
use softwarp_vm::device::{Device, Launch, LoadOptions};
use softwarp_vm::texture::array::ArrayDescription;
use softwarp_vm::texture::format::Format;
use softwarp_vm::texture::sampler::{Filter, Sampler};
use softwarp_vm::texture::{Geometry, Source, Texture};
use std::hint::black_box;
use std::time::Instant;

/// The side of what is computed.
const SIDE: usize = 2048;

/// The texture's width and height.
const IMAGE: [usize; 2] = [1500, 1000];

/// The width and height of a tile.
const TILE: [usize; 2] = [256, 16];

/// CTAs that share the tiles.
const CTAS: u32 = 64;

/// `y = a * x + b`
const LINE: [f32; 2] = [0.75, 3.0];

/// Rounds in which each candidate runs once.
const TURNS: usize = 15;

/// A kernel, loaded, and how it is launched.
struct Softwarp {
    device: Device,
    kernel: &'static str,
    grid: [u32; 3],
    block: [u32; 3],
    arguments: Vec<Vec<u8>>,
    result: u64,
}

impl Softwarp {
    fn run(&mut self, threads: usize) {
        let launch = Launch {
            threads: Some(threads),
            ..Launch::new(self.kernel, self.grid, self.block, &self.arguments)
        };
        black_box(self.device.launch(&launch).expect("it runs"));
    }

    fn result(&self) -> Vec<f32> {
        let mut bytes = vec![0; 4 * SIDE * SIDE];
        self.device.read(self.result, &mut bytes).expect("a buffer");
        bytes.as_chunks().0.iter().map(|word| f32::from_le_bytes(*word)).collect()
    }
}

fn floats(count: usize) -> Vec<f32> {
    let mut random = SplitMix64::new(1);
    (0..count).map(|_| random.next_fraction()).collect()
}

fn bytes(floats: &[f32]) -> Vec<u8> {
    floats.iter().flat_map(|x| x.to_le_bytes()).collect()
}

/// How far apart samples are in the texture.
fn steps() -> [f32; 2] {
    IMAGE.map(|size| size as f32 / SIDE as f32)
}

fn resample(image: &[f32]) -> Softwarp {
    let ptx = include_str!("../../kernels/resample.ptx");
    let device = Device::load(&[ptx], LoadOptions::default()).expect("a legal module");
    let array = device.create_array(ArrayDescription {
        format: Format::parse("f32x1").expect("a format"),
        geometry: Geometry::D2,
        size: [IMAGE[0] as u32, IMAGE[1] as u32, 1],
        layers: 1,
        levels: 1,
        samples: 1,
    });
    let array = array.expect("room");
    array.write(0, &bytes(image)).expect("a level");
    let sampler = Sampler { filter: Filter::Linear, ..Sampler::default() };
    let texture = Texture { source: Source::Array(array), sampler, integers: false };
    let handle = device.texture_object(texture).expect("a texture");
    let result = device.allocate(4 * (SIDE * SIDE) as u64).expect("memory");
    let mut arguments = vec![handle.to_le_bytes().to_vec(), result.to_le_bytes().to_vec()];
    arguments.extend([SIDE as u32; 2].map(|side| side.to_le_bytes().to_vec()));
    arguments.extend(steps().map(|step| step.to_le_bytes().to_vec()));
    let grid = [SIDE as u32 / 32, SIDE as u32 / 8, 1];
    Softwarp { device, kernel: "resample", grid, block: [32, 8, 1], arguments, result }
}

/// Where a sample lies: the texels around it, and the second one's weight in 256ths.
fn around(coordinate: f32, size: usize) -> ([usize; 2], u32) {
    let position = (coordinate * 256.0 - 127.5).floor() as i32;
    let first = position >> 8;
    let texel = |index: i32| index.clamp(0, size as i32 - 1) as usize;
    ([texel(first), texel(first + 1)], (position & 255) as u32)
}

/// Pixel by pixel, with weights as a texture unit has them: 256ths, rounded after each dimension.
fn native_resample(image: &[f32], result: &mut [f32]) {
    let [dx, dy] = steps();
    result.par_chunks_mut(SIDE).enumerate().for_each(|(y, row)| {
        for (x, out) in row.iter_mut().enumerate() {
            let (columns, along) = around((x as f32 + 0.5) * dx, IMAGE[0]);
            let (lines, down) = around((y as f32 + 0.5) * dy, IMAGE[1]);
            let (second, first) = (along, 256 - along);
            let (below_second, below_first) = ((second * down + 128) >> 8, (first * down + 127) >> 8);
            let weights = [first - below_first, second - below_second, below_first, below_second];
            let texels = lines.map(|line| columns.map(|column| image[line * IMAGE[0] + column]));
            let weighted =
                texels.as_flattened().iter().zip(weights).map(|(texel, weight)| texel * weight as f32);
            *out = weighted.sum::<f32>() / 256.0;
        }
    });
}

/// What the columns have in common is computed once, and means are of floats.
fn native_by_columns(image: &[f32], result: &mut [f32]) {
    let [dx, dy] = steps();
    let share = |(texels, weight): ([usize; 2], u32)| (texels, weight as f32 / 256.0);
    let columns: Vec<_> = (0..SIDE).map(|x| share(around((x as f32 + 0.5) * dx, IMAGE[0]))).collect();
    result.par_chunks_mut(SIDE).enumerate().for_each(|(y, row)| {
        let (lines, down) = share(around((y as f32 + 0.5) * dy, IMAGE[1]));
        let [above, below] = lines.map(|line| &image[line * IMAGE[0]..][..IMAGE[0]]);
        for (out, &([left, right], along)) in row.iter_mut().zip(&columns) {
            let top = above[left] + (above[right] - above[left]) * along;
            let bottom = below[left] + (below[right] - below[left]) * along;
            *out = top + (bottom - top) * down;
        }
    });
}

fn pipeline(x: &[f32]) -> Softwarp {
    let ptx = include_str!("../../kernels/pipeline.ptx");
    let device = Device::load(&[ptx], LoadOptions::default()).expect("a legal module");
    let [from, to] = [0, 1].map(|_| device.allocate(4 * (SIDE * SIDE) as u64).expect("memory"));
    device.write(from, &bytes(x)).expect("a buffer");
    let map = |address: u64| {
        let dims = [SIDE as u64; 2];
        let tile = TILE.map(|size| size as u32);
        let description = Description::tiled(Element::F32, &dims, &[4 * SIDE as u64], &tile);
        let map = Map::new(&Description { address, ..description }, Target::SM_90).expect("a legal map");
        encode(&map).to_vec()
    };
    let mut arguments = vec![map(from), map(to)];
    let tiles = (SIDE * SIDE / TILE[0] / TILE[1]) as u32;
    arguments.extend([tiles, (SIDE / TILE[0]) as u32].map(|count| count.to_le_bytes().to_vec()));
    arguments.extend(LINE.map(|number| number.to_le_bytes().to_vec()));
    let grid = [CTAS, 1, 1];
    Softwarp { device, kernel: "pipeline", grid, block: [128, 1, 1], arguments, result: to }
}

fn native_pipeline(x: &[f32], result: &mut [f32]) {
    let [a, b] = black_box(LINE);
    let rows = result.par_chunks_mut(SIDE).zip(x.par_chunks(SIDE));
    rows.for_each(|(y, x)| y.iter_mut().zip(x).for_each(|(y, x)| *y = x * a + b));
}

/// A native loop, its name, and how near its results are.
type Native = (&'static str, fn(&[f32], &mut [f32]), f32);

fn compare(what: &str, mut softwarp: Softwarp, data: &[f32], natives: &[Native]) {
    let mut computed = vec![vec![0.0; SIDE * SIDE]; natives.len()];
    let mut best = vec![f64::INFINITY; 2 + natives.len()];
    for _ in 0..TURNS {
        for (at, best) in best.iter_mut().enumerate() {
            let start = Instant::now();
            match at {
                0 => softwarp.run(1),
                1 => softwarp.run(rayon::current_num_threads()),
                _ => natives[at - 2].1(black_box(data), &mut computed[at - 2]),
            }
            *best = best.min(start.elapsed().as_secs_f64());
        }
    }
    let result = softwarp.result();
    for ((name, _, near), computed) in natives.iter().zip(&computed) {
        let different = result.iter().zip(computed).filter(|(x, y)| (*x - *y).abs() > *near).count();
        assert_eq!(different, 0, "{what}: softwarp and \"{name}\" compute the same");
    }
    println!("{what}");
    let names =
        ["softwarp, 1 thread", "softwarp, all cores"].into_iter().chain(natives.iter().map(|it| it.0));
    for (name, seconds) in names.zip(&best) {
        let elements = (SIDE * SIDE) as f64 / seconds / 1e6;
        let (all, time) = (best[1] / seconds, seconds * 1e3);
        println!(
            "  {name:20} {time:9.2} ms  {elements:9.1} M elements/s  (softwarp on all cores: {all:.2} x)"
        );
    }
}

fn main() {
    let image = floats(IMAGE[0] * IMAGE[1]);
    let natives: [Native; 2] =
        [("native", native_resample, 1e-6), ("native, by columns", native_by_columns, 1.0 / 128.0)];
    compare("resampling of a texture, linear filter", resample(&image), &image, &natives);
    let x = floats(SIDE * SIDE);
    compare("pipeline of tensor copies", pipeline(&x), &x, &[("native", native_pipeline, 1e-6)]);
}
