//! What a launch began with, as data: enough to run it again elsewhere.

use super::Comparing;
use crate::comparison::{Piece, PieceKind, Reproduction};
use crate::memory::cell::SharedBytes;
use crate::memory::copies::PAGE;
use crate::memory::global::{AllocationKind, Global};
use softwarp_image::image::{BANK_BYTES, BANKS};

/// The most bytes that are kept.
const MOST: u64 = 1 << 30;

impl Comparing<'_> {
    /// The launch with the memory that it began with.
    pub(super) fn reproduction(&self, start: &Global) -> Reproduction {
        let Comparing { launch, module, prepared, .. } = self;
        let windows = &module.image.windows;
        let mut missing = Vec::new();
        let mut memory = Vec::new();
        let mut left = MOST;
        for (index, base, cells) in start.contents() {
            let allocation = &start.allocations()[index];
            let kind = match &allocation.kind {
                AllocationKind::Host => PieceKind::Buffer,
                AllocationKind::Variables(_) if base == windows.globals.base => PieceKind::Variables,
                // Those of other modules are memory like any other.
                AllocationKind::Variables(_) => PieceKind::Buffer,
                AllocationKind::Heap(_) => {
                    missing.push("the blocks of malloc that earlier launches took");
                    continue;
                }
                AllocationKind::Multicast(_) => continue,
            };
            if base == prepared.workspace() {
                continue;
            }
            match runs(cells, &mut left) {
                Some(runs) => memory.push(Piece { kind, address: base, bytes: cells.len(), runs }),
                None => missing.push("memory beyond the first GiB that is not zero"),
            }
        }
        let constant = &prepared.constant;
        for bank in 0..BANKS as u64 {
            let Some((start, bytes)) = constant.region(bank * BANK_BYTES) else { continue };
            let mut contents = vec![0; usize::try_from(bytes).unwrap_or(0)];
            constant.cells.read(start, &mut contents);
            if contents.iter().any(|&byte| byte != 0) {
                let (kind, address) = (PieceKind::Constants, windows.constant.base + start);
                memory.push(Piece { kind, address, bytes, runs: vec![(0, contents)] });
            }
        }
        if start.allocations().iter().any(|it| matches!(it.kind, AllocationKind::Multicast(_))) {
            missing.push("multicast memory");
        }
        if prepared.has_textures() {
            missing.push("textures and surfaces");
        }
        missing.dedup();
        let all = [
            windows.globals,
            windows.heap,
            windows.constant,
            windows.parameter,
            windows.code,
            windows.local,
            windows.shared,
        ];
        Reproduction {
            texts: module.units.iter().map(|unit| unit.source.clone()).collect(),
            arch: module.image.header.arch.name().to_owned(),
            windows: all.map(|window| (window.base, window.size)),
            kernel: launch.kernel.to_owned(),
            grid: launch.grid,
            block: launch.block,
            cluster: launch.cluster,
            cooperative: launch.cooperative,
            dynamic_shared: launch.dynamic_shared,
            arguments: launch.arguments.to_vec(),
            memory,
            missing,
        }
    }
}

/// The bytes that are not zero, in pages; nothing if they are more than are left.
fn runs(cells: &SharedBytes, left: &mut u64) -> Option<Vec<(u64, Vec<u8>)>> {
    let mut runs: Vec<(u64, Vec<u8>)> = Vec::new();
    let mut room = [0; PAGE];
    for offset in (0..cells.len()).step_by(PAGE) {
        let count = (cells.len() - offset).min(PAGE as u64) as usize;
        let page = &mut room[..count];
        cells.read(offset, page);
        if page.iter().all(|&byte| byte == 0) {
            continue;
        }
        *left = left.checked_sub(count as u64)?;
        match runs.last_mut() {
            Some((start, bytes)) if *start + bytes.len() as u64 == offset => bytes.extend_from_slice(page),
            _ => runs.push((offset, page.to_vec())),
        }
    }
    Some(runs)
}
