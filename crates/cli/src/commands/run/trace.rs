//! `--trace`: every instruction that some threads execute, and what it changed in their registers.

use super::super::remark;
use softwarp::source::Source;
use softwarp::units::lanes::{Frame, LANES};
use softwarp::vm::stats::{Event, Tracer};
use std::str::FromStr;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A thread to follow.
#[derive(Clone, Copy, Debug)]
pub struct Thread {
    cta: [u32; 3],
    thread: [u32; 3],
}

impl FromStr for Thread {
    type Err = String;

    fn from_str(text: &str) -> Result<Thread, String> {
        let (cta, thread) = text.split_once(':').unwrap_or(("0", text));
        let place = |text: &str| {
            let mut place = [0; 3];
            let parts: Vec<&str> = text.split(',').collect();
            if parts.len() > 3 {
                return Err("there are at most three dimensions".to_owned());
            }
            for (index, part) in place.iter_mut().zip(parts) {
                *index =
                    part.trim().parse().map_err(|_| format!("`{}` is not an index", part.escape_debug()))?;
            }
            Ok(place)
        };
        Ok(Thread { cta: place(cta)?, thread: place(thread)? })
    }
}

impl std::fmt::Display for Thread {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let ([cx, cy, cz], [x, y, z]) = (self.cta, self.thread);
        write!(f, "{cx},{cy},{cz}:{x},{y},{z}")
    }
}

impl Thread {
    /// Whether a launch has this thread.
    pub fn is_in(&self, grid: [u32; 3], block: [u32; 3]) -> bool {
        let within = |place: [u32; 3], sizes: [u32; 3]| place.iter().zip(sizes).all(|(at, size)| *at < size);
        within(self.cta, grid) && within(self.thread, block)
    }
}

/// Writes what threads do, as they do it.
pub struct Follower<'a> {
    threads: &'a [Thread],
    sources: &'a [Source],
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    launch: usize,
    /// Warps and lanes of the threads.
    places: Vec<(u32, usize)>,
    /// Lines that are told when the instruction is done, with what each thread's registers held before.
    pending: Vec<(String, usize, Registers)>,
}

/// The registers of one lane.
#[derive(Clone, PartialEq)]
struct Registers {
    narrow: Vec<u32>,
    wide: Vec<u64>,
    predicates: Vec<bool>,
}

impl Registers {
    fn of(frame: &Frame, lane: usize) -> Registers {
        Registers {
            narrow: frame.narrow.iter().map(|row| row.0[lane]).collect(),
            wide: frame.wide.iter().map(|row| row.0[lane]).collect(),
            predicates: frame.predicates.iter().map(|bits| bits >> lane & 1 == 1).collect(),
        }
    }

    /// The registers that have changed, with their values.
    fn changed(&self, now: &Registers) -> Vec<String> {
        let narrow = self.narrow.iter().zip(&now.narrow).filter(|(was, is)| was != is);
        let wide = self.wide.iter().zip(&now.wide).filter(|(was, is)| was != is);
        let predicates = self.predicates.iter().zip(&now.predicates).filter(|(was, is)| was != is);
        let narrow = narrow.map(|(_, is)| format!("0x{is:08x}"));
        let wide = wide.map(|(_, is)| format!("0x{is:016x}"));
        narrow.chain(wide).chain(predicates.map(|(_, is)| is.to_string())).collect()
    }
}

impl<'a> Follower<'a> {
    /// Follows threads of what these files hold.
    pub fn new(threads: &'a [Thread], sources: &'a [Source]) -> Follower<'a> {
        Follower { threads, sources, state: Mutex::new(State::default()) }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A launch begins.
    pub fn begin(&self, launch: usize, block: [u32; 3]) {
        let mut state = self.state();
        state.launch = launch;
        let place = |thread: &Thread| {
            // Where a launch has no such thread, no warp has it.
            if !thread.is_in([u32::MAX; 3], block) {
                return (u32::MAX, 0);
            }
            let [x, y, z] = thread.thread;
            let number =
                z.saturating_mul(block[1]).saturating_add(y).saturating_mul(block[0]).saturating_add(x);
            (number / LANES as u32, number as usize % LANES)
        };
        state.places = self.threads.iter().map(place).collect();
    }

    /// Prints the lines of instructions whose effects have not been seen yet.
    pub fn end(&self) {
        let pending = std::mem::take(&mut self.state().pending);
        pending.into_iter().for_each(|(line, ..)| remark(&line));
    }

    fn line(&self, event: &Event<'_>, thread: &Thread, runs: bool) -> String {
        // One module is by far the most common; of others, the text that fits.
        let source = self.sources.first();
        let (line, text) = source.map_or((0, ""), |source| {
            (source.position(event.span.start).line, event.span.text(&source.text))
        });
        let text: Vec<&str> = text.split_whitespace().collect();
        let not = if runs { "" } else { "  (not executed: its guard is false)" };
        format!("{thread}  {line:>5}  {}{not}", text.join(" "))
    }
}

impl Tracer for Follower<'_> {
    fn before(&self, event: &Event<'_>, frame: &Frame) {
        let mut state = self.state();
        let earlier = std::mem::take(&mut state.pending);
        earlier.into_iter().for_each(|(line, ..)| remark(&line));
        let runs = event.op.guard().lanes(frame, event.lanes);
        let places = state.places.clone();
        for (thread, (warp, lane)) in self.threads.iter().zip(places) {
            if thread.cta == event.cta && warp == event.warp && event.lanes >> lane & 1 == 1 {
                let line = self.line(event, thread, runs >> lane & 1 == 1);
                state.pending.push((line, lane, Registers::of(frame, lane)));
            }
        }
    }

    fn after(&self, frame: &Frame) {
        let pending = std::mem::take(&mut self.state().pending);
        for (line, lane, before) in pending {
            let changed = before.changed(&Registers::of(frame, lane));
            match changed.is_empty() {
                true => remark(&line),
                false => remark(&format!("{line}  → {}", changed.join(", "))),
            }
        }
    }
}
