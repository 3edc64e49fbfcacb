//! Launch files as jobs for a GPU.
//!
//! What a GPU cannot do, or what its driver has no function for, is an error that names the place in the launch file.

use crate::run::data::Init;
use crate::run::file::{Argument, FileError, Launch, LaunchFile};
use crate::run::textures::{Kind, PITCH, Sampling, SurfaceEntry, Texels, TextureEntry};
use softwarp::tensor::{Access, Description};
use softwarp::vm::texture::Geometry;
use softwarp::vm::texture::array::ArrayDescription;
use softwarp::vm::texture::format::{Channel, Format};
use softwarp::vm::texture::sampler::{AddressMode, Filter};
use softwarp_gpu::job::{self, Job, Placed};

/// The largest contents of a memory that are made here.
const MOST: u64 = 1 << 36;

/// A launch file as a job that reads these memories back.
pub fn job(file: &LaunchFile, modules: Vec<String>, read: Vec<String>) -> Result<Job, FileError> {
    let refuse = |place: String, why: &str| Err(FileError::new(place, why.to_owned()));
    if let Some((name, _)) = file.multicasts.first() {
        return refuse(
            format!("buffers.{name}"),
            "multicast memory is on several GPUs, and --gpu runs on one: leave it out",
        );
    }
    if let Some(constant) = file.constants.first() {
        return refuse(
            format!("constants.{}", constant.name),
            "CUDA's driver gives no addresses of constant memory: put the constants into a `.const` variable, and set it \
             under `globals`",
        );
    }
    let mut job = Job { modules, read, freed: file.freed.clone(), ..Job::default() };
    for buffer in &file.buffers {
        let contents = contents(&buffer.init, buffer.bytes)
            .map_err(|why| FileError::new(format!("buffers.{}", buffer.name), why))?;
        let contents = contents.map(|bytes| job.blob(bytes));
        job.buffers.push(job::Buffer { name: buffer.name.clone(), bytes: buffer.bytes, contents });
    }
    for global in &file.globals {
        if let Some(data) = &global.set {
            let blob = job.blob(data.clone());
            job.variables.push((global.name.clone(), blob));
        }
    }
    for (index, surface) in file.surfaces.iter().enumerate() {
        let surface = self::surface(&mut job, surface)
            .map_err(|why| FileError::new(format!("surfaces[{index}]"), why))?;
        job.surfaces.push(surface);
    }
    for (index, texture) in file.textures.iter().enumerate() {
        let texture = self::texture(&mut job, texture)
            .map_err(|why| FileError::new(format!("textures[{index}]"), why))?;
        job.textures.push(texture);
    }
    for (index, launch) in file.launches.iter().enumerate() {
        let launch = self::launch(&mut job, launch, index)?;
        job.launches.push(launch);
    }
    Ok(job)
}

/// What a memory of a given size begins with; none for zeros. Memory that the host never writes is zeros on the GPU, so that
/// each run gives the same.
fn contents(init: &Init, bytes: u64) -> Result<Option<Vec<u8>>, String> {
    if matches!(init, Init::Zero | Init::None) {
        return Ok(None);
    }
    let full = || format!("{bytes} bytes are more than this computer has");
    let mut all = Vec::new();
    let size = usize::try_from(bytes).ok().filter(|_| bytes <= MOST).ok_or_else(full)?;
    all.try_reserve(size).map_err(|_| full())?;
    init.write(bytes, |at, piece| {
        all.resize(usize::try_from(at).map_err(|_| full())?.max(all.len()), 0);
        all.extend_from_slice(piece);
        Ok::<(), String>(())
    })?;
    all.truncate(size);
    Ok(Some(all))
}

fn launch(job: &mut Job, launch: &Launch, index: usize) -> Result<job::Launch, FileError> {
    let mut arguments = Vec::new();
    for (number, argument) in launch.arguments.iter().enumerate() {
        let (mut bytes, mut places) = (Vec::new(), Vec::new());
        place(argument, 0, &mut bytes, &mut places)
            .map_err(|why| FileError::new(format!("launches[{index}].args[{number}]"), why))?;
        arguments.push(job::Argument { bytes: job.blob(bytes), places });
    }
    Ok(job::Launch {
        kernel: launch.kernel.clone(),
        grid: launch.grid,
        block: launch.block,
        cluster: launch.cluster,
        cooperative: launch.cooperative,
        shared: launch.dynamic_shared,
        arguments,
    })
}

/// The most bytes of a kernel's parameters.
const MOST_PARAMETER: u64 = 32764;

/// Puts an argument where it begins in bytes.
fn place(
    argument: &Argument,
    at: usize,
    bytes: &mut Vec<u8>,
    places: &mut Vec<(usize, Placed)>,
) -> Result<(), String> {
    let mut put = |data: &[u8]| {
        let end = at.saturating_add(data.len());
        bytes.resize(bytes.len().max(end), 0);
        bytes[at..end].copy_from_slice(data);
    };
    match argument {
        Argument::Bytes(data) | Argument::Number(_, data) => put(data),
        Argument::Buffer(name, offset) => {
            put(&[0; 8]);
            places.push((at, Placed::Buffer(name.clone(), *offset)));
        }
        Argument::Texture(name) => {
            put(&[0; 8]);
            places.push((at, Placed::Texture(name.clone())));
        }
        Argument::Surface(name) => {
            put(&[0; 8]);
            places.push((at, Placed::Surface(name.clone())));
        }
        Argument::TensorMap(description, name, offset) => {
            put(&[0; 128]);
            places.push((at, Placed::TensorMap(tensor_map(description), name.clone(), *offset)));
        }
        Argument::Constant(..) => {
            return Err("CUDA's driver gives no addresses of constant memory".to_owned());
        }
        Argument::Packed(size, fields) => {
            if *size > MOST_PARAMETER {
                return Err(format!("a struct of {size} bytes: parameters have at most {MOST_PARAMETER}"));
            }
            let whole = vec![0; *size as usize];
            put(&whole);
            let end = bytes.len();
            for (offset, member) in fields {
                let start = usize::try_from(*offset).ok().and_then(|offset| offset.checked_add(at));
                let start = start.filter(|start| *start <= end);
                place(member, start.ok_or("a member begins behind the struct")?, bytes, places)?;
            }
            if bytes.len() > end {
                return Err(format!("its members do not fit into {size} bytes"));
            }
        }
    }
    Ok(())
}

fn tensor_map(map: &Description) -> job::TensorMap {
    let access = match &map.access {
        Access::Tiled { box_dims } => job::Access::Tiled { box_dims: box_dims.clone() },
        Access::Im2col { lower, upper, channels, pixels } => job::Access::Im2col {
            lower: lower.clone(),
            upper: upper.clone(),
            channels: *channels,
            pixels: *pixels,
        },
        Access::Wide { mode, lower, upper, channels, pixels } => job::Access::Wide {
            mode: mode.driver(),
            lower: *lower,
            upper: *upper,
            channels: *channels,
            pixels: *pixels,
        },
    };
    job::TensorMap {
        element: map.element.driver(),
        dims: map.dims.clone(),
        strides: map.strides.clone(),
        element_strides: map.element_strides.clone(),
        interleave: map.interleave.driver(),
        swizzle: map.swizzle.driver(),
        promotion: map.promotion.driver(),
        fill: map.fill.driver(),
        access,
    }
}

/// `CUarray_format`
fn format(format: Format) -> u32 {
    match format.channel {
        Channel::U8 => 1,
        Channel::U16 => 2,
        Channel::U32 => 3,
        Channel::S8 => 8,
        Channel::S16 => 9,
        Channel::S32 => 10,
        Channel::F16 => 16,
        Channel::F32 => 32,
    }
}

fn array(job: &mut Job, of: &ArrayDescription, levels: &[Init], flags: u32) -> Result<job::Array, String> {
    let [width, height, depth] = of.size.map(u64::from);
    let layers = u64::from(of.layers);
    let (size, kind) = match of.geometry {
        Geometry::D1 => ([width, 0, 0], 0),
        Geometry::D2 => ([width, height, 0], 0),
        Geometry::D3 => ([width, height, depth], 0),
        Geometry::A1 => ([width, 0, layers], job::LAYERED),
        Geometry::A2 => ([width, height, layers], job::LAYERED),
        Geometry::Cube => ([width, height, layers], job::CUBEMAP),
        Geometry::ACube => ([width, height, layers], job::CUBEMAP | job::LAYERED),
        Geometry::D2Ms | Geometry::A2Ms => {
            return Err("CUDA's driver makes no multi-sampled arrays: only softwarp runs this".to_owned());
        }
    };
    let mut array = job::Array {
        size,
        format: format(of.format),
        channels: of.format.channels.into(),
        texel: of.format.bytes().into(),
        flags: kind | flags,
        levels: Vec::new(),
    };
    for (level, init) in levels.iter().enumerate() {
        let bytes = array.level(level).iter().fold(array.texel, |all, size| all.saturating_mul(*size));
        let bytes = contents(init, bytes)?.unwrap_or_default();
        array.levels.push(job.blob(bytes));
    }
    Ok(array)
}

fn surface(job: &mut Job, surface: &SurfaceEntry) -> Result<job::Surface, String> {
    let array = array(job, &surface.description, std::slice::from_ref(&surface.init), job::SURFACE)?;
    Ok(job::Surface { name: surface.name.clone(), object: surface.kind == Kind::Object, array })
}

fn texture(job: &mut Job, texture: &TextureEntry) -> Result<job::Texture, String> {
    let of = &texture.description;
    let texels = match &texture.texels {
        Texels::Array(levels) => {
            let flags = if texture.gather { job::GATHER } else { 0 };
            job::Texels::Array(array(job, of, levels, flags)?)
        }
        Texels::ArrayOf(surface) => job::Texels::Surface(surface.clone()),
        Texels::Memory { pitched, buffer, pitch, init } => {
            let [width, height, _] = of.size.map(u64::from);
            let row = width * u64::from(of.format.bytes());
            let pitch = if *pitched { pitch.unwrap_or(row.next_multiple_of(PITCH)) } else { row };
            let (buffer, offset) = match buffer {
                Some((name, offset)) => (name.clone(), *offset),
                None => (own_memory(job, &texture.name, init, row, pitch, height)?, 0),
            };
            match pitched {
                true => job::Texels::Pitched { buffer, offset, width, height, pitch },
                false => job::Texels::Linear { buffer, offset, bytes: row },
            }
        }
    };
    Ok(job::Texture {
        name: texture.name.clone(),
        object: texture.kind == Kind::Object,
        texels,
        format: format(of.format),
        channels: of.format.channels.into(),
        sampling: sampling(&texture.sampling, texture.integers),
    })
}

/// Memory of a texture's own, with its rows apart; gives its name.
fn own_memory(
    job: &mut Job,
    of: &str,
    init: &Init,
    row: u64,
    pitch: u64,
    height: u64,
) -> Result<String, String> {
    let bytes = pitch.saturating_mul(height);
    if bytes > MOST || pitch < row {
        return Err(format!("{height} rows of {row} bytes, {pitch} bytes apart, cannot be"));
    }
    let data = contents(init, row.saturating_mul(height))?.unwrap_or_default();
    let mut all = vec![0; bytes as usize];
    for (y, piece) in data.chunks(row.max(1) as usize).enumerate() {
        let at = y * pitch as usize;
        all[at..at + piece.len()].copy_from_slice(piece);
    }
    let name = format!("memory of texture {of}");
    let contents = Some(job.blob(all));
    job.buffers.push(job::Buffer { name: name.clone(), bytes, contents });
    Ok(name)
}

fn sampling(sampling: &Sampling, integers: bool) -> job::Sampling {
    let filter = |filter: Filter| match filter {
        Filter::Point => 0,
        Filter::Linear => 1,
    };
    let mode = |mode: AddressMode| match mode {
        AddressMode::Wrap => 0,
        AddressMode::Clamp => 1,
        AddressMode::Mirror => 2,
        AddressMode::Border => 3,
    };
    job::Sampling {
        address: sampling.address.map(|modes| modes.map(mode)),
        filter: sampling.filter.map(filter),
        mip_filter: sampling.mip_filter.map(filter),
        normalized: sampling.normalized,
        integers,
        border: sampling.border,
    }
}
