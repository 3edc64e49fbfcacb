//! A copy as a table: which elements land where, what is filled, what is left alone, and which reads conflict.

use super::banks::{self, Group, Pattern};
use super::request::Copy;
use super::tuple;
use super::view::{map_line, padding, size_line};
use crate::columns::columns;
use serde_json::{Value as Json, json};
use softwarp::tensor::{Cell, Direction, Packing};

/// How much to show.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Element by element instead of cells of 16 bytes.
    pub elements: bool,
    /// All lines, not only the first few.
    pub all: bool,
    /// Which reads to count bank conflicts of.
    pub pattern: Pattern,
}

/// The most lines of a table unless all are wanted.
const SHOWN: usize = 64;

fn cells(copy: &Copy, options: Options) -> impl Iterator<Item = Cell> {
    if options.elements { copy.walk.elements() } else { copy.walk.cells() }
}

/// What happens to a cell.
fn fate(copy: &Copy, cell: &Cell) -> &'static str {
    match (cell.in_bounds(), copy.request.direction) {
        (true, _) if copy.walk.packing() != Packing::Plain => "padded",
        (true, _) => "",
        (false, Direction::Load) => "fill",
        (false, _) => "skipped",
    }
}

/// Where a cell is in the tensor: the first of its elements, and how far they go.
fn place(copy: &Copy, cell: &Cell) -> String {
    let coordinates = &cell.coordinates[..copy.map.rank];
    let more = i64::from(cell.elements) - 1;
    match coordinates.split_first() {
        Some((first, rest)) if more > 0 => {
            let mut words = vec![format!("{first}…{}", first + more)];
            words.extend(rest.iter().map(i64::to_string));
            format!("({})", words.join(", "))
        }
        _ => tuple(coordinates),
    }
}

/// The copy as text.
pub fn table(copy: &Copy, options: Options) -> String {
    let most = if options.all { usize::MAX } else { SHOWN };
    let mut text = format!("{}\n{}\n{}\n", map_line(copy), copy.title(), size_line(copy));
    if copy.request.direction == Direction::Load {
        text += &format!("{} bytes complete on the mbarrier\n", copy.walk.transaction_bytes());
    }
    text.push('\n');
    let head = [copy.row_word(), "cell", "element", "global", "unswizzled", "shared", "bank", ""];
    let mut lines = vec![head.map(str::to_owned).to_vec()];
    // Padding follows the row that it belongs to.
    let mut padding = padding(copy).peekable();
    let mut total = 0;
    let mut push = |line: Vec<String>| {
        total += 1;
        if lines.len() <= most {
            lines.push(line);
        }
    };
    let mut all = cells(copy, options).peekable();
    while let Some(cell) = all.next() {
        push(vec![
            cell.row.to_string(),
            cell.column.to_string(),
            place(copy, &cell),
            cell.global.map_or("–".to_owned(), |at| format!("{at:#x}")),
            format!("{:#x}", cell.linear),
            format!("{:#x}", cell.shared),
            banks::bank(cell.shared).to_string(),
            fate(copy, &cell).to_owned(),
        ]);
        if all.peek().is_none_or(|next| next.row != cell.row) {
            while let Some(piece) = padding.next_if(|piece| piece.row == cell.row) {
                push(vec![
                    piece.row.to_string(),
                    "–".to_owned(),
                    "–".to_owned(),
                    "–".to_owned(),
                    format!("{:#x}", piece.linear),
                    format!("{:#x}", piece.shared),
                    banks::bank(piece.shared).to_string(),
                    "untouched".to_owned(),
                ]);
            }
        }
    }
    let left_out = total - (lines.len() - 1);
    text += &columns(&lines);
    if left_out > 0 {
        text += &format!("… {left_out} more lines (--all shows them)\n");
    }
    text.push('\n');
    text + &conflicts(copy, options.pattern)
}

/// The bank conflicts of a pattern of reads.
fn conflicts(copy: &Copy, pattern: Pattern) -> String {
    let groups = banks::count(copy, pattern);
    let Summary { worst, plain, phases, plain_phases } = Summary::new(&groups);
    let reads = groups.len();
    let mut text = format!("Bank conflicts, {pattern}:\n");
    let head = ["reads", "first at", "banks", "degree", "unswizzled"];
    let mut lines = vec![head.map(str::to_owned).to_vec()];
    // Reads that come to the same are one line.
    let mut same: Vec<(&Group, usize)> = Vec::new();
    for group in &groups {
        let result = |group: &Group| (group.banks, group.degree, group.plain_degree);
        match same.iter_mut().find(|(first, _)| result(first) == result(group)) {
            Some((_, count)) => *count += 1,
            None => same.push((group, 1)),
        }
    }
    for (group, count) in same {
        lines.push(vec![
            count.to_string(),
            format!("{} {}, byte {}", copy.row_word(), group.row, group.byte),
            group.banks.to_string(),
            format!("{}-way", group.degree),
            format!("{}-way", group.plain_degree),
        ]);
    }
    text += &columns(&lines);
    let verdict = if worst <= 1 { "no conflicts".to_owned() } else { format!("up to {worst}-way conflicts") };
    text + &format!(
        "{verdict}: {reads} reads take {phases} phases; unswizzled they would take {plain_phases} (up to {plain}-way)\n"
    )
}

struct Summary {
    worst: usize,
    plain: usize,
    phases: usize,
    plain_phases: usize,
}

impl Summary {
    fn new(groups: &[Group]) -> Summary {
        Summary {
            worst: groups.iter().map(|group| group.degree).max().unwrap_or(0),
            plain: groups.iter().map(|group| group.plain_degree).max().unwrap_or(0),
            phases: groups.iter().map(|group| group.degree).sum(),
            plain_phases: groups.iter().map(|group| group.plain_degree).sum(),
        }
    }
}

/// The copy for programs: every cell, all padding, all conflicts.
pub fn json(copy: &Copy, options: Options) -> Json {
    let cell = |cell: Cell| {
        json!({
            "row": cell.row, "cell": cell.column, "at": cell.coordinates[..copy.map.rank], "elements": cell.elements,
            "global": cell.global, "unswizzled": cell.linear, "shared": cell.shared, "bytes": cell.length,
            "bank": banks::bank(cell.shared),
            "fate": match fate(copy, &cell) { "" => "copied", word => word },
        })
    };
    let untouched: Vec<Json> = padding(copy)
        .map(|piece| {
            json!({"row": piece.row, "unswizzled": piece.linear, "shared": piece.shared, "bytes": piece.length})
        })
        .collect();
    let groups = banks::count(copy, options.pattern);
    let Summary { worst, plain, phases, plain_phases } = Summary::new(&groups);
    let group = |group: &Group| {
        json!({
            "row": group.row, "byte": group.byte, "banks": group.banks, "degree": group.degree,
            "unswizzled_degree": group.plain_degree,
        })
    };
    json!({
        "mode": copy.request.mode.name(), "direction": copy.verb(), "at": copy.coordinates(),
        "offsets": copy.offsets(), "shared": copy.request.shared,
        "rows": copy.walk.rows(), "row_bytes": copy.walk.row_bytes().0, "pitch": copy.walk.row_bytes().1,
        "transaction_bytes": copy.walk.transaction_bytes(), "footprint": copy.walk.footprint(),
        "cells": cells(copy, options).map(cell).collect::<Vec<Json>>(), "untouched": untouched,
        "conflicts": {
            "pattern": options.pattern.to_string(), "worst": worst, "phases": phases, "unswizzled_worst": plain,
            "unswizzled_phases": plain_phases, "reads": groups.iter().map(group).collect::<Vec<Json>>(),
        },
    })
}
