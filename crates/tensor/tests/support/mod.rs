//! Reading recordings, and maps as JSON.

// Each test uses its part.
#![allow(dead_code)]

use serde_json::Value;
use softwarp_tensor::{
    Access, Description, Diagnostic, Element, Fill, Interleave, Promotion, Swizzle, Target, WideMode,
    packed_strides, unlisted,
};
use softwarp_testkit::recording;

/// The rows of a recording.
pub fn recording(name: &str) -> impl Iterator<Item = Value> {
    recording::values(recording::golden("tensor", name))
}

/// 128 bytes from hexadecimal.
pub fn bytes(value: &Value) -> [u8; 128] {
    let text = value.as_str().unwrap();
    assert_eq!(text.len(), 256);
    std::array::from_fn(|at| u8::from_str_radix(&text[2 * at..2 * at + 2], 16).unwrap())
}

/// A list of numbers.
pub fn list<T: TryFrom<i128, Error: std::fmt::Debug>>(value: &Value) -> Vec<T> {
    value.as_array().unwrap().iter().map(number).collect()
}

fn number<T: TryFrom<i128, Error: std::fmt::Debug>>(value: &Value) -> T {
    let wide = value.as_u64().map(i128::from).or_else(|| value.as_i64().map(i128::from));
    T::try_from(wide.unwrap()).unwrap()
}

/// What a recorded call asked for; nothing where it chose an option that does not exist.
pub fn called(row: &Value) -> Option<Description> {
    let option = |key: &str| row[key].as_u64().and_then(|number| u32::try_from(number).ok());
    let rank = row["rank"].as_u64().unwrap() as usize;
    let dims: Vec<u64> = list(&row["dims"]);
    let first = |list: Vec<u64>, count: usize| list.into_iter().take(count).collect::<Vec<_>>();
    Some(Description {
        element: Element::from_driver(option("dtype")?)?,
        address: number(&row["addr"]),
        // Some calls gave longer lists than their rank says: the driver looks at as many as there should be.
        dims: first(dims, rank),
        strides: first(list(&row["strides"]), rank.saturating_sub(1)),
        element_strides: list(&row["estrides"]).into_iter().take(rank).collect(),
        interleave: Interleave::from_driver(option("interleave")?)?,
        swizzle: Swizzle::from_driver(option("swizzle")?)?,
        promotion: Promotion::from_driver(option("l2")?)?,
        fill: Fill::from_driver(option("fill")?)?,
        access: match row["api"].as_str().unwrap() {
            "tiled" => Access::Tiled { box_dims: list(&row["box"]).into_iter().take(rank).collect() },
            "im2col" => Access::Im2col {
                lower: list(&row["lower"]),
                upper: list(&row["upper"]),
                channels: number(&row["channels"]),
                pixels: number(&row["pixels"]),
            },
            _ => Access::Wide {
                mode: WideMode::from_driver(option("mode")?)?,
                lower: number(&row["lower"][0]),
                upper: number(&row["upper"][0]),
                channels: number(&row["channels"]),
                pixels: number(&row["pixels"]),
            },
        },
    })
}

/// The target of a map in JSON.
pub fn target(map: &Value) -> Target {
    map["target"].as_str().map_or(Target::SM_90, |name| Target::architecture_from_name(name).unwrap())
}

macro_rules! option {
    ($map:ident, $key:literal, $type:ident, $default:expr) => {
        match $map[$key].as_str() {
            None => $default,
            Some(name) => $type::from_name(name)
                .ok_or_else(|| vec![unlisted($key, name, $type::ALL.iter().map(|one| one.name()))])?,
        }
    };
}

/// A map in JSON, as `rules::codes` writes it.
pub fn described(map: &Value) -> Result<Description, Vec<Diagnostic>> {
    let element = option!(map, "element", Element, panic!("no element"));
    let dims: Vec<u64> = list(&map["dims"]);
    let access = if map["wide"].is_string() {
        Access::Wide {
            mode: option!(map, "wide", WideMode, WideMode::W),
            lower: number(&map["lower"][0]),
            upper: number(&map["upper"][0]),
            channels: number(&map["channels"]),
            pixels: number(&map["pixels"]),
        }
    } else if map["lower"].is_array() {
        Access::Im2col {
            lower: list(&map["lower"]),
            upper: list(&map["upper"]),
            channels: number(&map["channels"]),
            pixels: number(&map["pixels"]),
        }
    } else {
        Access::Tiled { box_dims: list(&map["box"]) }
    };
    Ok(Description {
        element,
        address: map["address"].as_u64().unwrap_or(0),
        strides: if map["strides"].is_array() {
            list(&map["strides"])
        } else {
            packed_strides(element, &dims)
        },
        element_strides: match &map["element_strides"] {
            Value::Null => vec![1; dims.len()],
            strides => list(strides),
        },
        dims,
        interleave: option!(map, "interleave", Interleave, Interleave::None),
        swizzle: option!(map, "swizzle", Swizzle, Swizzle::None),
        promotion: option!(map, "promotion", Promotion, Promotion::None),
        fill: option!(map, "fill", Fill, Fill::Zero),
        access,
    })
}
