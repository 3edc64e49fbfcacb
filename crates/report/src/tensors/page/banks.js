// Bank conflicts of a warp's reads, as banks.rs counts them. A test holds it equal to the original.
"use strict";

const BANKS = 32, WORD = 4, WARP = 32, PHASE = BANKS * WORD;

/** How many banks reads of `bytes` bytes at these addresses use, and the most words of one. */
function conflictOf(swizzle, reads, bytes) {
  const words = new Set(), banks = new Array(BANKS).fill(0);
  for (const read of reads) for (let at = 0; at < bytes; at += WORD) words.add(Math.floor(swizzle(read + at) / WORD));
  for (const word of words) banks[word % BANKS]++;
  return [banks.filter(count => count > 0).length, Math.max(...banks)];
}

/** Every phase of a pattern of reads: `row`, `column`, `ldmatrix`, or a number, the bytes between reads. */
function readsOf(map, request, pattern) {
  const rowBytes = map.units * map.sharedUnit, pitch = map.pitch, rows = rowCount(map, request), groups = [];
  const linear = (row, byte) => request.shared + row * pitch + byte;
  const push = (row, byte, reads, bytes) => {
    const [banks, degree] = conflictOf(at => swizzled(map, at), reads, bytes);
    groups.push({ row, byte, banks, degree, plain: conflictOf(at => at, reads, bytes)[1], reads, bytes });
  };
  const down = (row, byte, threads) => {
    const reads = [];
    for (let r = row; r < Math.min(rows, row + threads); r++) reads.push(linear(r, byte));
    return reads;
  };
  if (pattern === "row") {
    for (let row = 0; row < rows; row++) {
      for (let start = 0; start < rowBytes; start += PHASE) {
        const reads = [];
        for (let byte = start; byte < Math.min(rowBytes, start + PHASE); byte += WORD) reads.push(linear(row, byte));
        push(row, start, reads, WORD);
      }
    }
  } else if (pattern === "column") {
    // Reads of eight bytes come in two phases of half a warp.
    const bytes = Math.min(Math.max(Math.floor(map.bits / 8), WORD), 8), threads = PHASE / bytes;
    for (let row = 0; row < rows; row += threads) {
      for (let byte = 0; byte < rowBytes; byte += bytes) push(row, byte, down(row, byte, threads), bytes);
    }
  } else if (pattern === "ldmatrix") {
    for (let row = 0; row < rows; row += 8) {
      for (let byte = 0; byte < rowBytes; byte += 16) push(row, byte, down(row, byte, 8), 16);
    }
  } else {
    const end = rows * pitch;
    for (let start = 0; start < end; start += pattern * WARP) {
      const reads = [];
      for (let at = start; at < Math.min(end, start + pattern * WARP); at += pattern) reads.push(request.shared + at);
      push(Math.floor(start / Math.max(pitch, 1)), start % Math.max(pitch, 1), reads, WORD);
    }
  }
  return groups;
}
