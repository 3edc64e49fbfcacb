//! Launches as requests state them, and the machines that they run on.

use crate::request::{Failure, Number, bytes, format, shown};
use serde::Deserialize;
use serde_json::Value as Json;
use softwarp::literal::Literal;
use softwarp::num::Format;
use softwarp::num::splitmix::SplitMix64;
use softwarp::source::Source;
use softwarp::tensor::Map;
use softwarp::tensor::object::encode as encode_map;
use softwarp::vm::device::{Device, Launch, LoadError, LoadOptions};
use softwarp::vm::sanitize::Sanitize;
use softwarp_lsp::Alone;
use softwarp_report::tensors::file::{self, MapFile};

/// The most bytes of all buffers together.
const MOST_BYTES: u64 = 128 << 20;
/// The most bytes that a machine may hold.
const MOST_MEMORY: u64 = 768 << 20;
/// The most instructions of warps where a request does not say it.
const USUAL_LIMIT: u64 = 20_000_000;
/// The most that it can say.
const MOST_LIMIT: u64 = 10_000_000_000;

/// The name of a sanitizer, and what asks for it.
type Named = (&'static str, fn(&mut Sanitize));

/// The sanitizers by name.
pub const SANITIZERS: [Named; 5] = [
    ("init", |all| all.init = true),
    ("race", |all| all.race = true),
    ("sync", |all| all.sync = true),
    ("bounds", |all| all.bounds = true),
    ("leak", |all| all.leak = true),
];

/// A launch as a request states it.
#[derive(Clone, Debug, Deserialize)]
pub struct Spec {
    text: String,
    kernel: String,
    grid: Vec<u32>,
    block: Vec<u32>,
    cluster: Option<Vec<u32>>,
    #[serde(default)]
    shared: u32,
    #[serde(default)]
    arguments: Vec<ArgumentSpec>,
    #[serde(default)]
    sanitize: Vec<String>,
    limit: Option<u64>,
    /// Lines with breakpoints, from 0.
    #[serde(default)]
    pub breakpoints: Vec<u32>,
}

/// An argument: one of these.
#[derive(Clone, Debug, Deserialize)]
struct ArgumentSpec {
    buffer: Option<BufferSpec>,
    scalar: Option<ScalarSpec>,
    bytes: Option<BytesSpec>,
    tensor: Option<TensorSpec>,
}

/// A tensor map, and the memory that it is of.
#[derive(Clone, Debug, Deserialize)]
struct TensorSpec {
    map: Json,
    buffer: BufferSpec,
}

#[derive(Clone, Debug, Deserialize)]
struct BufferSpec {
    format: String,
    values: Option<Vec<Number>>,
    hex: Option<String>,
    count: Option<u64>,
    fill: Option<Number>,
    seed: Option<u64>,
    name: Option<String>,
}

#[derive(Clone, Debug, Deserialize)]
struct ScalarSpec {
    #[serde(rename = "type")]
    ty: String,
    value: Number,
}

#[derive(Clone, Debug, Deserialize)]
struct BytesSpec {
    hex: String,
}

/// Memory that an argument points to.
#[derive(Clone, Debug)]
pub struct Buffer {
    /// Its name; empty if it has that of the parameter.
    pub name: String,
    /// What its elements are.
    pub format: Format,
    /// What it holds at first.
    pub bytes: Vec<u8>,
    /// Whether it counts as written.
    pub initialised: bool,
}

/// An argument.
#[derive(Clone, Debug)]
enum Argument {
    Buffer(Buffer),
    Bytes(Vec<u8>),
    /// A tensor map of a buffer.
    Tensor(Json, Buffer),
}

/// A launch that can be run as often as one likes.
pub struct Ready {
    /// The module.
    pub source: Source,
    /// Its lines and columns.
    pub positions: Alone,
    /// The sanitizers.
    pub sanitize: Sanitize,
    /// The most instructions of warps.
    pub limit: u64,
    kernel: String,
    grid: [u32; 3],
    block: [u32; 3],
    cluster: Option<[u32; 3]>,
    shared: u32,
    arguments: Vec<Argument>,
}

/// Bytes of an element in memory: one at least.
pub fn element_bytes(format: Format) -> usize {
    format.bits().div_ceil(8) as usize
}

fn sizes(name: &str, given: &[u32]) -> Result<[u32; 3], Failure> {
    let mut sizes = [1; 3];
    if given.is_empty() || given.len() > 3 || given.contains(&0) {
        return Err(Failure::new(format!("`{name}` must be one to three numbers from 1 up")));
    }
    sizes.iter_mut().zip(given).for_each(|(to, from)| *to = *from);
    Ok(sizes)
}

fn encode(format: Format, number: &Number, into: &mut Vec<u8>) -> Result<(), Failure> {
    let literal = Literal::parse(&number.text()).map_err(|error| Failure::new(error.to_string()))?;
    let code = literal.encode(format).map_err(|error| Failure::new(error.to_string()))?.code;
    into.extend(&code.to_le_bytes()[..element_bytes(format)]);
    Ok(())
}

impl BufferSpec {
    /// The number of elements, whose value is that of `fill`.
    fn filled(&self, format: Format, count: u64) -> Result<(Vec<u8>, bool), Failure> {
        let size = element_bytes(format);
        let total = count.checked_mul(size as u64).filter(|total| *total <= MOST_BYTES);
        let total = total
            .ok_or_else(|| Failure::new(format!("{count} elements are more than {MOST_BYTES} bytes")))?;
        let total = total as usize;
        let word = match &self.fill {
            None => return Ok((vec![0; total], true)),
            Some(Number::Text(word)) => word.as_str(),
            Some(Number::Plain(_)) => "",
        };
        let mut bytes = Vec::with_capacity(total);
        match word {
            "uninitialised" => return Ok((vec![0; total], false)),
            "iota" => {
                for index in 0..count {
                    // Beyond the format's numbers, they begin anew.
                    let most = if format.is_int() {
                        format.mask()
                    } else {
                        format.decode(format.max_finite()) as u64
                    };
                    let value = index % most.saturating_add(1).max(1);
                    let number = Number::Plain(value.into());
                    encode(format, &number, &mut bytes)?;
                }
            }
            "random" => {
                let mut random = SplitMix64::new(self.seed.unwrap_or(1));
                for _ in 0..count {
                    let bits = random.next_u64();
                    let code = match format.is_int() {
                        true => bits & format.mask(),
                        false => {
                            let unit = (bits >> 11) as f64 / (1u64 << 52) as f64 - 1.0;
                            let to =
                                (softwarp::num::Rounding::NearestEven, softwarp::num::Saturation::Finite);
                            format.encode(unit, to.0, to.1).unwrap_or(0)
                        }
                    };
                    bytes.extend(&code.to_le_bytes()[..size]);
                }
            }
            _ => {
                let fill = self.fill.clone().unwrap_or(Number::Plain(0.into()));
                let mut one = Vec::new();
                encode(format, &fill, &mut one)?;
                bytes = one.repeat(usize::try_from(count).unwrap_or(0));
            }
        }
        Ok((bytes, true))
    }

    fn buffer(&self) -> Result<Buffer, Failure> {
        let format = format(&self.format)?;
        let (bytes, initialised) = match (&self.values, &self.hex, self.count) {
            (Some(values), None, count) => {
                let mut bytes = Vec::new();
                values.iter().try_for_each(|value| encode(format, value, &mut bytes))?;
                // Behind the values there are zeros, if more are wanted.
                let more = count.unwrap_or(0).saturating_sub(values.len() as u64);
                bytes.extend(BufferSpec { fill: None, ..self.clone() }.filled(format, more)?.0);
                (bytes, true)
            }
            (None, Some(hex), _) => (crate::request::bytes(hex)?, true),
            (None, None, Some(count)) => self.filled(format, count)?,
            _ => return Err(Failure::new("a buffer has `values`, `hex` or `count`")),
        };
        Ok(Buffer { name: self.name.clone().unwrap_or_default(), format, bytes, initialised })
    }
}

impl Spec {
    /// Reads everything in it.
    pub fn ready(&self) -> Result<Ready, Failure> {
        let mut sanitize = Sanitize::default();
        for name in &self.sanitize {
            match SANITIZERS.iter().find(|(one, _)| one == name) {
                Some((_, set)) => set(&mut sanitize),
                None if name == "all" => sanitize = Sanitize::ALL,
                None => {
                    let names = SANITIZERS.map(|(name, _)| name).join(", ");
                    return Err(Failure::new(format!(
                        "`{}` is no sanitizer: there are {names} and all",
                        shown(name)
                    )));
                }
            }
        }
        let mut arguments = Vec::new();
        for (index, argument) in self.arguments.iter().enumerate() {
            let ArgumentSpec { buffer, scalar, bytes: given, tensor } = argument;
            let read = match (buffer, scalar, given, tensor) {
                (Some(buffer), None, None, None) => buffer.buffer().map(Argument::Buffer),
                (None, None, None, Some(tensor)) => {
                    tensor.buffer.buffer().map(|buffer| Argument::Tensor(tensor.map.clone(), buffer))
                }
                (None, Some(scalar), None, None) => format(&scalar.ty).and_then(|format| {
                    let mut bytes = Vec::new();
                    encode(format, &scalar.value, &mut bytes)?;
                    Ok(Argument::Bytes(bytes))
                }),
                (None, None, Some(given), None) => bytes(&given.hex).map(Argument::Bytes),
                _ => Err(Failure::new("it must be one of `buffer`, `scalar`, `bytes` and `tensor`")),
            };
            arguments.push(read.map_err(|failure| failure.about(&format!("argument {index}")))?);
        }
        Ok(Ready {
            source: Source::new("module.ptx", self.text.clone().into_bytes()),
            positions: crate::text::positions(&self.text),
            sanitize,
            limit: self.limit.unwrap_or(USUAL_LIMIT).clamp(1, MOST_LIMIT),
            kernel: self.kernel.clone(),
            grid: sizes("grid", &self.grid)?,
            block: sizes("block", &self.block)?,
            cluster: self.cluster.as_deref().map(|given| sizes("cluster", given)).transpose()?,
            shared: self.shared,
            arguments,
        })
    }
}

/// A buffer in the memory of a machine.
#[derive(Clone, Debug)]
pub struct Placed {
    /// Its name.
    pub name: String,
    /// The parameter that it was given for.
    pub parameter: usize,
    /// What its elements are.
    pub format: Format,
    /// Its first address.
    pub address: u64,
    /// What it held at first.
    pub before: Vec<u8>,
}

/// A machine with the module, the buffers and the arguments of a launch.
pub struct Machine {
    /// The machine.
    pub device: Device,
    /// The buffers.
    pub buffers: Vec<Placed>,
    /// The bytes of each parameter.
    arguments: Vec<Vec<u8>>,
}

/// Puts a buffer into the memory of a device.
fn placed(device: &Device, parameter: usize, buffer: &Buffer, usual: String) -> Result<Placed, Failure> {
    let bytes = (buffer.bytes.len() as u64).max(1);
    let address = match buffer.initialised {
        true => device.allocate(bytes),
        false => device.allocate_uninitialised(bytes),
    };
    let address = address.map_err(|error| Failure::new(error.to_string()))?;
    if buffer.initialised {
        device.write(address, &buffer.bytes).map_err(|error| Failure::new(error.to_string()))?;
    }
    let name = if buffer.name.is_empty() { usual } else { buffer.name.clone() };
    Ok(Placed { name, parameter, format: buffer.format, address, before: buffer.bytes.clone() })
}

/// The 128 bytes of a tensor map of memory at an address.
fn encoded(device: &Device, map: &Json, address: u64) -> Result<Vec<u8>, Failure> {
    let mut file = file::from_json(map);
    if let Some(description) = &mut file.description {
        description.address = address;
    }
    let arch = device.arch().baseline();
    let findings = file.check(arch);
    let map = file.description.as_ref().filter(|_| !MapFile::is_refused(&findings));
    match map.map(|description| Map::new(description, arch)) {
        Some(Ok(map)) => Ok(encode_map(&map).to_vec()),
        _ => {
            let words: Vec<&str> = findings.iter().map(|one| one.message.as_str()).collect();
            Err(Failure::new(format!("the tensor map is not legal: {}", words.join("; "))))
        }
    }
}

impl Ready {
    /// A new machine.
    pub fn machine(&self, debug: bool) -> Result<Machine, Failure> {
        let text = &self.source.text;
        let red_zones = self.sanitize.bounds;
        let options = LoadOptions { debug, red_zones, memory: Some(MOST_MEMORY), ..LoadOptions::default() };
        let device = Device::load(&[text], options).map_err(|error| match error {
            LoadError::Invalid(found) => {
                let found: Vec<_> = found.into_iter().map(|(_, one)| one).collect();
                crate::text::refusal(text, &found)
            }
            LoadError::Unlinked(found) => crate::text::refusal(text, &found),
            other => Failure::new(other.to_string()),
        })?;
        let names = self.parameters(&device);
        let (mut buffers, mut arguments) = (Vec::new(), Vec::new());
        for (parameter, argument) in self.arguments.iter().enumerate() {
            let (Argument::Buffer(buffer) | Argument::Tensor(_, buffer)) = argument else {
                arguments.extend(match argument {
                    Argument::Bytes(bytes) => Some(bytes.clone()),
                    _ => None,
                });
                continue;
            };
            let name = names.get(parameter).cloned().unwrap_or_else(|| format!("buffer {parameter}"));
            let placed = placed(&device, parameter, buffer, name)?;
            arguments.push(match argument {
                Argument::Tensor(map, _) => encoded(&device, map, placed.address)
                    .map_err(|failure| failure.about(&format!("argument {parameter}")))?,
                _ => placed.address.to_le_bytes()[..device.address_bits() as usize / 8].to_vec(),
            });
            buffers.push(placed);
        }
        Ok(Machine { device, buffers, arguments })
    }

    /// The names of the kernel's parameters.
    fn parameters(&self, device: &Device) -> Vec<String> {
        let Ok(module) = device.module(Default::default()) else { return Vec::new() };
        let image = &module.image;
        let kernel = image.functions.iter().find(|one| one.entry && one.defined && *one.name == self.kernel);
        let parameters = kernel.map_or(&[][..], |kernel| &kernel.parameters);
        parameters.iter().map(|id| image.object(*id).name.to_string()).collect()
    }

    /// The launch on a machine.
    pub fn launch<'a>(&'a self, machine: &'a Machine) -> Launch<'a> {
        Launch {
            cluster: self.cluster,
            dynamic_shared: self.shared,
            exclusive: true,
            ..Launch::new(&self.kernel, self.grid, self.block, &machine.arguments)
        }
    }

    /// Threads of a CTA.
    pub fn threads(&self) -> u64 {
        self.block.iter().map(|size| u64::from(*size)).product()
    }
}
