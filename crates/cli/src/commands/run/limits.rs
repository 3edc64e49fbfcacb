//! `--memory`, `--schedule` and `--repeat`: how much a run may take, and in which orders its threads run.

use super::super::{CommandError, remark};
use super::Args;
use super::document::Document;
use softwarp::vm::schedule::Schedule;
use std::str::FromStr;

/// A number of bytes: `1000`, `64K`, `512M`, `4G`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bytes(pub u64);

impl FromStr for Bytes {
    type Err = String;

    fn from_str(text: &str) -> Result<Bytes, String> {
        let (number, shift) = match text.chars().last() {
            Some('K' | 'k') => (&text[..text.len() - 1], 10),
            Some('M' | 'm') => (&text[..text.len() - 1], 20),
            Some('G' | 'g') => (&text[..text.len() - 1], 30),
            _ => (text, 0),
        };
        let number: Option<u64> = number.parse().ok();
        let bytes = number.and_then(|number| number.checked_mul(1 << shift));
        bytes.map(Bytes).ok_or_else(|| "it must be a number of bytes, as in 4096, 64K, 512M or 4G".to_owned())
    }
}

/// The order in which threads run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Order(pub Schedule);

impl FromStr for Order {
    type Err = String;

    fn from_str(text: &str) -> Result<Order, String> {
        let wrong = || "it must be fixed, or random:SEED with a whole number".to_owned();
        match text.split_once(':') {
            None if text == "fixed" => Ok(Order(Schedule::Fixed)),
            Some(("random", seed)) => {
                seed.parse().map(|seed| Order(Schedule::Random(seed))).map_err(|_| wrong())
            }
            _ => Err(wrong()),
        }
    }
}

/// The schedules to run, in order.
pub fn schedules(args: &Args) -> Result<Box<dyn Iterator<Item = Schedule>>, CommandError> {
    let seed = match (args.schedule, args.repeat) {
        (None | Some(Order(Schedule::Fixed)), None) => {
            return Ok(Box::new(std::iter::once(Schedule::Fixed)));
        }
        (Some(Order(Schedule::Fixed)), Some(_)) => {
            return Err(CommandError::usage("--repeat: a fixed schedule is always the same"));
        }
        (Some(Order(Schedule::Random(seed))), _) => seed,
        (None, Some(_)) => 0,
    };
    let count = args.repeat.unwrap_or(1);
    if count == 0 {
        return Err(CommandError::usage("--repeat 0: there must be at least one run"));
    }
    Ok(Box::new((0..count).map(move |index| Schedule::Random(seed.wrapping_add(index.into())))))
}

/// Adds the seed of a random schedule to the result, and names it to people if something was found.
pub fn add_seed(result: &mut Document, schedule: Schedule) {
    let Schedule::Random(seed) = schedule else { return };
    result.add("seed", seed.into());
    if result.failure.is_some() {
        remark(&format!("--schedule random:{seed} gives the same again"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_schedules_are_read() {
        assert_eq!("64K".parse(), Ok(Bytes(64 << 10)));
        assert_eq!("3g".parse(), Ok(Bytes(3 << 30)));
        assert_eq!("77".parse(), Ok(Bytes(77)));
        for wrong in ["", "K", "1.5G", "-1", "99999999999G", "1T", "1é"] {
            assert!(wrong.parse::<Bytes>().is_err(), "{wrong}");
        }
        assert_eq!("random:7".parse(), Ok(Order(Schedule::Random(7))));
        assert_eq!("fixed".parse(), Ok(Order(Schedule::Fixed)));
        for wrong in ["", "random", "random:", "random:x", "random:-1", "fixed:1"] {
            assert!(wrong.parse::<Order>().is_err(), "{wrong}");
        }
    }
}
