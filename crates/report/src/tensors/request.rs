//! What a copy instruction asks for, as people write it: coordinates, offsets, a mode; and the copy that it makes.

use super::tuple;
use softwarp::isa::device::TensorFeature;
use softwarp::tensor::map::MapShape;
use softwarp::tensor::{CopyFault, Direction, Interleave, Map, Mode, Request, Target, Walk, WideMode};

/// A copy as asked for; what is not said follows from the map.
#[derive(Clone, Debug)]
pub struct Asked {
    /// Coordinates, the fastest dimension first.
    pub at: Option<Vec<i32>>,
    /// im2col offsets, or wHalo and wOffset.
    pub offsets: Option<Vec<u32>>,
    /// The mode.
    pub mode: Option<Mode>,
    /// Whether it loads, stores or reduces.
    pub direction: Direction,
    /// Absolute shared address.
    pub shared: u64,
}

/// A copy that the hardware would do.
#[derive(Clone, Debug)]
pub struct Copy {
    /// The map.
    pub map: Map,
    /// The target.
    pub arch: Target,
    /// The instruction's operands.
    pub request: Request,
    /// Which bytes go where.
    pub walk: Walk,
}

/// Why there is no copy.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// What was written is no instruction.
    #[error("{0}")]
    Usage(String),
    /// The hardware refuses the instruction.
    #[error("the hardware faults: {0}")]
    Fault(CopyFault),
}

impl From<CopyFault> for Refusal {
    fn from(fault: CopyFault) -> Refusal {
        Refusal::Fault(fault)
    }
}

impl Copy {
    /// The copy that is asked for, or why there is none.
    pub fn new(map: Map, arch: Target, asked: &Asked) -> Result<Copy, Refusal> {
        let mode = asked.mode.unwrap_or_else(|| default_mode(&map, asked.direction));
        target(mode, arch)?;
        let request = Request {
            mode,
            direction: asked.direction,
            coordinates: coordinates(&map, mode, asked)?,
            offsets: offsets(&map, mode, asked)?,
            shared: asked.shared,
        };
        let walk = Walk::new(&map, &request)?;
        let (bytes, most) = (walk.footprint(), arch.properties().multiprocessor_shared);
        if asked.shared.checked_add(bytes).is_none_or(|end| end > most) {
            let shared = asked.shared;
            return Err(Refusal::Fault(CopyFault {
                code: "copy-shared-memory",
                message: format!(
                    "{bytes} bytes from shared address {shared:#x} are more than the {most} of {arch}"
                ),
            }));
        }
        Ok(Copy { map, arch, request, walk })
    }

    /// The instruction's coordinates: one for each dimension, or the column and four rows.
    pub fn coordinates(&self) -> &[i32] {
        let count = coordinate_count(&self.map, self.request.mode);
        self.request.coordinates.get(..count).unwrap_or_default()
    }

    /// The instruction's offsets; none where the mode has none.
    pub fn offsets(&self) -> &[u32] {
        self.request.offsets.get(..offset_count(&self.map, self.request.mode)).unwrap_or_default()
    }

    /// `load`, `store`, or the reduction.
    pub fn verb(&self) -> String {
        match self.request.direction {
            Direction::Load => "load".to_owned(),
            Direction::Store => "store".to_owned(),
            Direction::Reduce(operation) => format!("reduction ({operation})"),
        }
    }

    /// The copy in a line: `load, tile, at (0, 8), shared address 0x0`.
    pub fn title(&self) -> String {
        let mut title = format!("{}, {}, at {}", self.verb(), self.request.mode, tuple(self.coordinates()));
        match (self.request.mode, self.offsets()) {
            (_, []) => {}
            (Mode::Im2colW | Mode::Im2colW128, [halo, offset, ..]) => {
                title.push_str(&format!(", wHalo {halo}, wOffset {offset}"));
            }
            (_, offsets) => title.push_str(&format!(", offsets {}", tuple(offsets))),
        }
        format!("{title}, shared address {:#x}", self.request.shared)
    }

    /// What a row of the copy is.
    pub fn row_word(&self) -> &'static str {
        match self.map.shape {
            _ if self.map.interleave != Interleave::None => "slice",
            MapShape::Tiled(_) => "row",
            _ => "pixel",
        }
    }
}

/// The mode of a map where none is said.
pub fn default_mode(map: &Map, direction: Direction) -> Mode {
    match (&map.shape, direction) {
        (MapShape::Tiled(_), _) => Mode::Tile,
        (MapShape::Im2col(_), Direction::Load) => Mode::Im2col,
        (MapShape::Im2col(_), _) => Mode::Im2colNoOffs,
        (MapShape::Wide(WideMode::W, _), _) => Mode::Im2colW,
        (MapShape::Wide(WideMode::W128, _), _) => Mode::Im2colW128,
    }
}

/// Finds a mode by PTX's name, or by the end of it: `gather4`, `w`.
pub fn mode(name: &str) -> Option<Mode> {
    let bare = name.strip_prefix('.').unwrap_or(name);
    let ending = |mode: &&Mode| {
        let rest = mode.name().strip_suffix(bare);
        !bare.is_empty() && rest.is_some_and(|rest| rest.ends_with("::"))
    };
    Mode::from_name(bare).or_else(|| match bare {
        "w128" => Some(Mode::Im2colW128),
        _ => Mode::ALL.iter().find(ending).copied(),
    })
}

/// How many coordinates an instruction takes.
pub fn coordinate_count(map: &Map, mode: Mode) -> usize {
    if matches!(mode, Mode::Gather4 | Mode::Scatter4) { 5 } else { map.rank }
}

/// How many offsets an instruction takes.
pub fn offset_count(map: &Map, mode: Mode) -> usize {
    match mode {
        Mode::Im2col => map.rank.saturating_sub(2).min(3),
        Mode::Im2colW | Mode::Im2colW128 => 2,
        _ => 0,
    }
}

fn target(mode: Mode, arch: Target) -> Result<(), Refusal> {
    let (has, since) = match mode {
        Mode::Tile | Mode::Im2col | Mode::Im2colNoOffs => {
            (arch.supports(TensorFeature::Maps), "sm_90 and later")
        }
        Mode::Gather4 => (arch.supports(TensorFeature::Gather4), "sm_100 and later"),
        Mode::Scatter4 => (arch.supports(TensorFeature::Scatter4), "sm_100, sm_103 and sm_110"),
        Mode::Im2colW => (arch.supports(TensorFeature::Im2colW), "sm_100 and later"),
        Mode::Im2colW128 => (arch.supports(TensorFeature::Im2colW128), "sm_100, sm_103 and sm_110"),
    };
    match has {
        true => Ok(()),
        false => Err(Refusal::Usage(format!("{arch} has no {mode}; it exists on {since} (--target)"))),
    }
}

/// As given, or else where the copy may start: 0, and in the spatial dimensions of im2col the lower corner.
fn coordinates(map: &Map, mode: Mode, asked: &Asked) -> Result<[i32; 5], Refusal> {
    let mut all = [0; 5];
    let Some(at) = &asked.at else {
        if let MapShape::Im2col(columns) | MapShape::Wide(_, columns) = &map.shape {
            let first = usize::from(map.interleave == Interleave::None);
            let spatial = map.rank.saturating_sub(2).min(3);
            for (to, from) in all.iter_mut().skip(first).zip(&columns.lower[..spatial]) {
                *to = *from;
            }
        }
        return Ok(all);
    };
    let count = coordinate_count(map, mode);
    if at.len() != count {
        let what = match mode {
            Mode::Gather4 | Mode::Scatter4 => "the column and four rows".to_owned(),
            _ => format!("one for each of the {count} dimensions, the fastest first"),
        };
        return Err(Refusal::Usage(format!(
            "{mode} takes {count} coordinates, {what}; there are {}",
            at.len()
        )));
    }
    for (to, from) in all.iter_mut().zip(at) {
        *to = *from;
    }
    Ok(all)
}

fn offsets(map: &Map, mode: Mode, asked: &Asked) -> Result<[u32; 3], Refusal> {
    let mut all = [0; 3];
    let Some(given) = &asked.offsets else { return Ok(all) };
    let count = offset_count(map, mode);
    if given.len() != count {
        let what = match (mode, count) {
            (_, 0) => "takes no offsets".to_owned(),
            (Mode::Im2col, 1) => "takes 1 offset, in W".to_owned(),
            (Mode::Im2col, 2) => "takes 2 offsets, in W and H".to_owned(),
            (Mode::Im2col, _) => "takes 3 offsets, in W, H and D".to_owned(),
            _ => "takes wHalo and wOffset".to_owned(),
        };
        return Err(Refusal::Usage(format!("{mode} {what}; there are {}", given.len())));
    }
    for (to, from) in all.iter_mut().zip(given) {
        *to = *from;
    }
    Ok(all)
}

/// Numbers with commas between them, perhaps in parentheses: `0,8`, `(−1, 0)`.
pub fn numbers<T: TryFrom<i128>>(text: &str) -> Result<Vec<T>, String> {
    let inner = text.trim().trim_start_matches(['(', '{', '[']).trim_end_matches([')', '}', ']']);
    inner.split(',').map(|word| number(word.trim())).collect()
}

/// A whole number, decimal or after 0x hexadecimal.
pub fn number<T: TryFrom<i128>>(word: &str) -> Result<T, String> {
    let shown: String = word.chars().take(24).flat_map(char::escape_debug).collect();
    let (negative, digits) = match word.strip_prefix(['-', '\u{2212}']) {
        Some(rest) => (true, rest),
        None => (false, word),
    };
    let magnitude = match digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X")) {
        Some(hex) => u64::from_str_radix(hex, 16).ok().filter(|_| !hex.starts_with('+')),
        None => digits.parse::<u64>().ok().filter(|_| !digits.starts_with('+')),
    };
    let magnitude = magnitude.ok_or_else(|| format!("`{shown}` is not a whole number of at most 64 bits"))?;
    let value = if negative { -i128::from(magnitude) } else { i128::from(magnitude) };
    T::try_from(value).map_err(|_| format!("{value} does not fit in {} bits", 8 * size_of::<T>()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_as_people_write_them() {
        assert_eq!(numbers::<i32>("0,8"), Ok(vec![0, 8]));
        assert_eq!(numbers::<i32>("(\u{2212}1, -0x10)"), Ok(vec![-1, -16]));
        assert_eq!(numbers::<i32>("-2147483648"), Ok(vec![i32::MIN]));
        assert_eq!(numbers::<i32>("2147483648"), Err("2147483648 does not fit in 32 bits".to_owned()));
        assert_eq!(numbers::<u32>("-1"), Err("-1 does not fit in 32 bits".to_owned()));
        for wrong in ["", "1,,2", "x", "1.5", "+1", "0x", "99999999999999999999"] {
            assert!(numbers::<i32>(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn modes_have_short_names() {
        assert_eq!(mode("gather4"), Some(Mode::Gather4));
        assert_eq!(mode(".tile::scatter4"), Some(Mode::Scatter4));
        assert_eq!(mode("w"), Some(Mode::Im2colW));
        assert_eq!(mode("w128"), Some(Mode::Im2colW128));
        assert_eq!(mode("w::128"), Some(Mode::Im2colW128));
        assert_eq!(mode("im2col"), Some(Mode::Im2col));
        assert_eq!(mode("col"), None);
        assert_eq!(mode(""), None);
    }
}
