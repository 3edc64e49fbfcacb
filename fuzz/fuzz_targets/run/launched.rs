//! Runs a program in a launch of some kind, with textures, surfaces, tensors and multicast memory.

use crate::writer::GEOMETRIES;
use softwarp_tensor::{Description, Element, Map, Target, object, packed_strides};
use softwarp_vm::device::{Device, Launch, LoadOptions};
use softwarp_vm::sanitize::Sanitize;
use softwarp_vm::schedule::Schedule;
use softwarp_vm::stats::Counts;
use softwarp_vm::texture::array::ArrayDescription;
use softwarp_vm::texture::format::Format;
use softwarp_vm::texture::sampler::{AddressMode, Filter, Sampler};
use softwarp_vm::texture::{Source, Texture};
use std::time::{Duration, Instant};

/// Bytes of each buffer.
const BUFFER: u64 = 1024;

/// Host memory that a device and its launch may take.
const MEMORY: u64 = 256 << 20;

/// A launch's time, and when it has taken too long.
const TIME: Duration = Duration::from_millis(50);
const LATE: Duration = Duration::from_secs(10);

/// Textures' texels.
const FORMATS: &[&str] = &["u8x4", "f32x1", "f16x2", "s16x4", "u32x1", "f32x4", "s8x1", "u16x2"];

/// How a program is launched.
pub struct Launched {
    flags: u8,
    grid: u32,
    block: u32,
    cluster: Option<[u32; 3]>,
    cooperative: bool,
}

impl Launched {
    pub fn new(flags: u8, shape: u8) -> Launched {
        let cluster = [None, Some([1, 1, 1]), Some([2, 1, 1]), Some([4, 1, 1])][usize::from(shape >> 4 & 3)];
        Launched {
            flags,
            grid: (1 + u32::from(shape & 1)) * cluster.map_or(1, |[x, ..]| x),
            block: [1, 32, 45, 64, 128, 256, 33, 160][usize::from(shape >> 1 & 7)],
            cluster,
            cooperative: shape & 0x40 != 0,
        }
    }

    /// Runs a program in the plain loop and in the one that is watched, and compares.
    pub fn compare(&self, source: &str) {
        let plain = self.once(source, Sanitize::default(), 1);
        let looked = Sanitize {
            init: self.flags & 1 != 0,
            race: self.flags & 2 != 0,
            sync: true,
            // It needs modules that are loaded with red zones.
            bounds: false,
            leak: true,
        };
        let watched = self.once(source, looked, 1);
        // Clocks are no part of this; limits may be reached a little sooner or later.
        if plain.0.is_ok() && watched.0.is_ok() && !source.contains("clock") && !source.contains("timer") {
            assert_eq!(plain, watched, "{source}");
        }
        if self.flags & 4 != 0 && self.grid > 1 {
            let _ = self.once(source, Sanitize::default(), 2);
        }
    }

    /// Runs a program that does not end, or calls itself, under limits on steps, time and memory, and sees that they
    /// hold: the launch ends in time and with less memory than it may take, and not as if it had run to its end, unless
    /// the program has instructions that end threads or calls besides those at the ends of its two bodies.
    pub fn limited(&self, source: &str) {
        let seed = u64::from(self.flags) << 8 | u64::from(self.grid);
        for (sanitize, schedule) in [
            (Sanitize::default(), Schedule::Fixed),
            (Sanitize::ALL, Schedule::Fixed),
            (Sanitize::default(), Schedule::Random(seed)),
        ] {
            let most_instructions = (self.flags & 1 != 0).then_some(5_000);
            let limits =
                Launch { sanitize, schedule, most_instructions, most_time: Some(TIME), ..Launch::default() };
            let began = Instant::now();
            let (outcome, _) = self.under(source, &limits);
            assert!(began.elapsed() < LATE, "{:?} {sanitize:?} {schedule:?}\n{source}", began.elapsed());
            let may_end = source.contains("exit;") || source.matches("ret;").count() > 2;
            assert!(may_end || outcome.is_err(), "{sanitize:?} {schedule:?}\n{source}");
        }
    }

    /// The levels of textures are small, and all of them begin with the same bytes.
    fn description(&self, geometry: &str, index: usize) -> ArrayDescription {
        let format = FORMATS[(index + usize::from(self.flags >> 4)) % FORMATS.len()];
        let format = Format::parse(format).expect("a format");
        match geometry {
            "1d" => ArrayDescription::row(format, 17),
            "3d" => ArrayDescription::volume(format, 4, 3, 5),
            "a1d" => ArrayDescription::row(format, 9).layered(3),
            "a2d" => ArrayDescription::plane(format, 6, 5).layered(2),
            "cube" => ArrayDescription::cube(format, 4),
            "acube" => ArrayDescription::cube(format, 3).layered(12),
            _ => ArrayDescription::plane(format, 8, 8).mipmapped(3),
        }
    }

    fn sampler(&self, index: usize) -> Sampler {
        use AddressMode::{Border, Clamp, Mirror, Wrap};
        let choice = usize::from(self.flags) + index;
        let filter = |bit: usize| if choice & bit != 0 { Filter::Linear } else { Filter::Point };
        Sampler {
            address: std::array::from_fn(|axis| [Wrap, Mirror, Clamp, Border][(choice + axis) % 4]),
            filter: filter(1),
            mip_filter: filter(2),
            normalized: choice & 4 != 0,
            border: [1.0, -1.0, 0.5, f32::NAN],
            force_unnormalized: choice & 8 != 0,
        }
    }

    /// Binds textures and surfaces; the handles of one of each, and of a sampler.
    fn bind(&self, device: &mut Device, memory: u64) -> [u64; 3] {
        let mut handles = [0; 3];
        for (index, geometry) in GEOMETRIES.iter().enumerate() {
            let texels = device.create_array(self.description(geometry, index)).expect("room");
            let bytes: Vec<u8> = (0..texels.level_bytes(0)).map(|at| (at as u8) ^ self.flags).collect();
            texels.write(0, &bytes).expect("its size");
            let integers = (index + usize::from(self.flags)) % 3 == 0;
            let texture =
                Texture { source: Source::Array(texels.clone()), sampler: self.sampler(index), integers };
            if *geometry == "2d" {
                handles[0] = device.texture_object(texture.clone()).expect("a texture");
                handles[1] = device.surface_object(texels.clone());
            }
            let _ = device.bind_texture(&format!("t_{geometry}"), texture);
            let _ = device.bind_surface(&format!("s_{geometry}"), texels);
        }
        handles[2] = device.sampler_object(self.sampler(3));
        let format = Format::parse("u8x4").expect("a format");
        let over = [
            ("linear", Source::Linear { address: memory, texels: 64, format }),
            ("pitched", Source::Pitch { address: memory, width: 8, height: 8, pitch: 64, format }),
        ];
        for (name, source) in over {
            let _ = device.bind_texture(name, source.into());
        }
        handles
    }

    /// Tensor maps of one to five dimensions, and three for im2col, over a buffer.
    fn maps(&self, address: u64) -> Vec<u8> {
        let element =
            [Element::U8, Element::F32, Element::F16, Element::S32][usize::from(self.flags >> 4 & 3)];
        let bytes = [1, 4, 2, 4][usize::from(self.flags >> 4 & 3)];
        let tiled = (1..=5).map(|rank| {
            let dims: Vec<u64> = [64 / bytes, 2, 2, 2, 1][..rank].to_vec();
            let boxes = [32 / bytes as u32, 2, 1, 2, 1];
            let strides = packed_strides(element, &dims);
            Description { address, ..Description::tiled(element, &dims, &strides, &boxes[..rank]) }
        });
        let im2col = (3..=5).map(|rank| {
            let dims: Vec<u64> = [32 / bytes, 4, 2, 2, 2][..rank].to_vec();
            let strides = packed_strides(element, &dims);
            let (corners, channels) = (vec![0; rank - 2], 16 / bytes as u32);
            let corners = (&corners[..], &corners[..]);
            Description { address, ..Description::im2col(element, &dims, &strides, corners, (channels, 4)) }
        });
        let map = |description: Description| match Map::new(&description, Target::SM_90) {
            Ok(map) => object::encode(&map),
            Err(_) => [0; object::SIZE],
        };
        tiled.chain(im2col).flat_map(map).collect()
    }

    fn once(&self, source: &str, sanitize: Sanitize, threads: usize) -> (Result<Counts, String>, Vec<u8>) {
        let limits = Launch {
            sanitize,
            threads: Some(threads),
            most_instructions: Some(20_000),
            most_time: Some(Duration::from_secs(3)),
            ..Launch::default()
        };
        self.under(source, &limits)
    }

    /// Launches a program as the limits say.
    fn under(&self, source: &str, limits: &Launch<'_>) -> (Result<Counts, String>, Vec<u8>) {
        let options = LoadOptions { memory: Some(MEMORY), ..LoadOptions::default() };
        let mut device = Device::load(&[source], options).expect("it was loaded before");
        let a = device.allocate(BUFFER).expect("memory");
        let b = device.allocate_uninitialised(BUFFER).expect("memory");
        let both = device.multicast(&[a, b], BUFFER).expect("memory");
        let bytes: Vec<u8> = (0..BUFFER).map(|at| (at as u8).wrapping_mul(self.flags | 1)).collect();
        device.write(a, &bytes).expect("inside");
        let [texture, surface, sampler] = self.bind(&mut device, a);
        let mut arguments: Vec<Vec<u8>> = [a, b].map(|it| it.to_le_bytes().to_vec()).into();
        arguments.push(40u32.to_le_bytes().to_vec());
        arguments.extend([both, texture, surface, sampler].map(|it| it.to_le_bytes().to_vec()));
        arguments.push(self.maps(a));
        let launch = Launch {
            kernel: "k",
            grid: [self.grid, 1, 1],
            block: [self.block, 1, 1],
            arguments: &arguments,
            dynamic_shared: 512,
            cluster: self.cluster,
            cooperative: self.cooperative,
            ..*limits
        };
        let outcome = device.launch(&launch).map(|report| report.counts).map_err(|error| error.to_string());
        assert!(device.account().used() <= MEMORY, "{source}");
        let mut contents = vec![0; 2 * BUFFER as usize];
        let (first, second) = contents.split_at_mut(BUFFER as usize);
        device.read(a, first).expect("inside");
        device.read(b, second).expect("inside");
        (outcome, contents)
    }
}
