//! Attributes of streams (driver API: "Stream Management"). They are kept, and change nothing but priorities that are
//! asked for.

use super::stream::of;
use crate::code::{Code, Done, ensure};
use crate::ffi::{In, Out};
use crate::handle::{Handle, lock};
use crate::settings::StreamAttributes;
use crate::stream::Stream;

/// `CUstreamAttrID` values.
mod attribute {
    pub const WINDOW: u32 = 1;
    pub const POLICY: u32 = 3;
    pub const PRIORITY: u32 = 8;
    pub const DOMAINS: u32 = 9;
    pub const DOMAIN: u32 = 10;
}

/// What a `CUstreamAttrValue` holds: 64 bytes.
type Value = [u8; 64];

/// The first bytes of a value as a number.
fn word(value: &Value) -> u32 {
    u32::from_le_bytes([value[0], value[1], value[2], value[3]])
}

fn set(kept: &mut StreamAttributes, id: u32, value: &Value) -> Done {
    match id {
        attribute::WINDOW => {
            for (part, bytes) in kept.window.iter_mut().zip(value.as_chunks::<8>().0) {
                *part = u64::from_le_bytes(*bytes);
            }
        }
        attribute::POLICY => {
            ensure((1..=4).contains(&word(value)), Code::INVALID_VALUE)?;
            kept.policy = word(value);
        }
        attribute::PRIORITY => kept.priority = Some(word(value) as i32),
        attribute::DOMAINS => kept.domains = [value[0], value[1]],
        attribute::DOMAIN => {
            ensure(word(value) <= 1, Code::INVALID_VALUE)?;
            kept.domain = word(value);
        }
        _ => return Err(Code::INVALID_VALUE),
    }
    Ok(())
}

crate::entries! {
    /// An attribute of a stream. Only as much is written as the attribute has.
    fn cuStreamGetAttribute / cuStreamGetAttribute_ptsz(stream: Handle<Stream>, id: u32, to: Out<u64>) {
        let (driver, _, stream) = of(stream)?;
        let kept = lock(&driver.settings.streams).get(&stream.id).copied().unwrap_or_default();
        let write = |bits: u32| to.first_half().set(bits);
        match id {
            attribute::WINDOW => {
                to.required()?;
                kept.window.into_iter().enumerate().for_each(|(index, part)| to.set_at(index, part));
                Ok(())
            }
            attribute::POLICY => write(kept.policy),
            attribute::PRIORITY => write(kept.priority.unwrap_or(stream.priority) as u32),
            attribute::DOMAINS => {
                to.required()?;
                let bytes = to.first_byte();
                kept.domains.into_iter().enumerate().for_each(|(index, part)| bytes.set_at(index, part));
                Ok(())
            }
            attribute::DOMAIN => write(kept.domain),
            _ => Err(Code::INVALID_VALUE),
        }
    }

    /// Sets an attribute of a stream.
    fn cuStreamSetAttribute / cuStreamSetAttribute_ptsz(stream: Handle<Stream>, id: u32, value: In<Value>) {
        let (driver, _, stream) = of(stream)?;
        let value = value.get()?;
        let mut all = lock(&driver.settings.streams);
        let mut changed = all.get(&stream.id).copied().unwrap_or_default();
        set(&mut changed, id, &value)?;
        all.insert(stream.id, changed);
        Ok(())
    }

    /// Gives a stream the attributes of another.
    fn cuStreamCopyAttributes / cuStreamCopyAttributes_ptsz(to: Handle<Stream>, from: Handle<Stream>) {
        let (driver, _, to) = of(to)?;
        let (_, _, from) = of(from)?;
        let mut all = lock(&driver.settings.streams);
        let copied = all.get(&from.id).copied().unwrap_or_default();
        all.insert(to.id, copied);
        Ok(())
    }
}
