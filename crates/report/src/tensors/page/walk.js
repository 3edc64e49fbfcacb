// The walk of softwarp-tensor for one map, cell by cell. A test holds it equal to the original.
"use strict";

/** Why the hardware refuses a request: the name of the rule and the numbers; null if it does not. */
function faultOf(map, request) {
  const at = request.at, names = ["W", "H", "D"];
  if (request.shared % 128 !== 0) return ["copy-shared-alignment", `the shared address ${request.shared} is no multiple of 128`];
  if (!map.slice && at[0] % map.firstStep !== 0) {
    return ["copy-start", `coordinate 0 is ${at[0]}: it must be a multiple of ${map.firstStep}`];
  }
  if (map.kind === "im2col") {
    for (let i = 0; i < map.spatial; i++) {
      const [low, high] = bounds(map, i), base = at[map.firstSpatial + i];
      if (base < low || base >= high) return ["copy-base", `the base is ${base} in ${names[i]}, outside the bounding box [${low}, ${high})`];
    }
  }
  if (map.kind === "wide") {
    const [low, high] = bounds(map, 0), base = at[map.firstSpatial], most = map.w128 ? 32 : 512;
    if (base >= high) return ["copy-base", `the base is ${base} in W, right of the bounding box [${low}, ${high})`];
    const [halo, offset] = request.offsets;
    if (halo >= most || offset >= 32) return ["copy-w-offsets", `wHalo < ${most} and wOffset < 32 are needed; they are ${halo} and ${offset}`];
  }
  if (map.direction !== "load") {
    const negative = at.findIndex(c => c < 0);
    if (negative >= 0) return ["copy-negative", `coordinate ${negative} is ${at[negative]}: stores take none below 0`];
    if (map.kind === "im2col") {
      for (let i = 0; i < map.spatial; i++) {
        if (map.lower[i] < 0 || map.upper[i] > 0) return ["copy-store-corners", `the corners in ${names[i]} are ${map.lower[i]} and ${map.upper[i]}`];
      }
    }
  }
  const end = request.shared + footprint(map, request);
  if (end > map.sharedBytes) return ["copy-shared-memory", `the copy ends at ${end}; there are ${map.sharedBytes} bytes of shared memory`];
  return null;
}

/** The bounding box in a spatial dimension: the first base, and behind the last. */
function bounds(map, index) {
  return [map.lower[index], map.dims[map.firstSpatial + index] + map.upper[index]];
}

/** How many rows, pixels or slices a request copies. */
function rowCount(map, request) {
  if (map.kind === "four") return 4;
  if (map.kind === "tile") return tileCounts(map).reduce((product, count) => product * count, 1);
  if (map.kind === "im2col") return map.pixels;
  return map.w128 ? 4 * (32 + request.offsets[0]) : map.pixels + request.offsets[0];
}

function footprint(map, request) {
  const end = request.shared + rowCount(map, request) * map.pitch;
  return Math.ceil(end / map.reach) * map.reach - request.shared;
}

/** Rows of a box along each dimension. An interleaved copy takes exactly one slice of the channels. */
function tileCounts(map) {
  return map.dims.map((_, d) => {
    if (d >= map.rank || (d === 0 && !map.slice) || (map.slice && d + 2 === map.rank)) return 1;
    return Math.ceil(map.box[d] / map.steps[d]);
  });
}

/** Tensor coordinates of each row's first element, in the order of shared memory. */
function* rowsOf(map, request) {
  const start = [0, 0, 0, 0, 0].map((_, d) => (d < map.rank ? request.at[d] : 0));
  if (map.kind === "four") {
    for (const row of request.at.slice(1, 5)) yield [request.at[0], row, 0, 0, 0];
  } else if (map.kind === "tile") {
    const counts = tileCounts(map), number = [0, 0, 0, 0, 0];
    for (;;) {
      yield start.map((c, d) => c + number[d] * map.steps[d]);
      let d = 0;
      while (d < 5 && ++number[d] >= counts[d]) number[d++] = 0;
      if (d === 5) return;
    }
  } else if (map.w128) {
    const walk = new Pixels(map, request, start), halo = request.offsets[0];
    for (let group = 0; group < 4; group++) {
      for (let i = 0; i < 32; i++) yield walk.next();
      const ahead = walk.copy();
      for (let i = 0; i < halo; i++) yield ahead.next();
    }
  } else {
    const walk = new Pixels(map, request, start);
    for (let left = rowCount(map, request); left > 0; left--) yield walk.next();
  }
}

/** Base positions in a bounding box, which wrap from W to H to D and in the end to the next image. */
class Pixels {
  constructor(map, request, base) {
    const wide = map.kind === "wide", shift = wide ? request.offsets[1] : 0;
    Object.assign(this, { map, base: base.slice(), walked: wide ? 1 : map.spatial, shift, imageStep: wide ? 1 : map.steps[map.rank - 1] });
    this.base[map.firstSpatial] += shift;
    this.offsets = [0, 0, 0, 0, 0];
    if (!wide && map.direction === "load") {
      packed(request.offsets.slice(0, map.spatial), map.cornerBits).forEach((o, i) => (this.offsets[map.firstSpatial + i] = o));
    }
  }

  copy() {
    const other = Object.assign(Object.create(Pixels.prototype), this);
    other.base = this.base.slice();
    return other;
  }

  next() {
    const at = this.base.map((c, d) => c + this.offsets[d]);
    for (let i = 0; i < this.walked; i++) {
      const d = this.map.firstSpatial + i, [low, high] = bounds(this.map, i);
      this.base[d] += this.map.steps[d];
      if (this.base[d] < high + this.shift) return at;
      this.base[d] = low + this.shift;
    }
    this.base[this.map.rank - 1] += this.imageStep;
    return at;
  }
}

/** Offsets as the assembler packs them into one register: what is too large for its bits reaches into the next. */
function packed(offsets, bits) {
  const mask = (1n << BigInt(bits)) - 1n;
  const word = offsets.reduce((word, o, i) => word | (i === 0 ? BigInt(o) & mask : BigInt(o) << BigInt(bits * i)), 0n);
  return offsets.map((_, i) => Number((word >> BigInt(bits * i)) & mask));
}

/** What would be past 2^64 is at the last address. */
function least(address) {
  const last = 2n ** 64n - 1n;
  return address < last ? address : last;
}

function swizzled(map, address) {
  return map.exchanges.reduce((bits, [mask, shift]) => bits ^ (Math.floor(address / 2 ** shift) & mask), address);
}

/** The copy in cells of 16 bytes (8 where a swizzle exchanges halves), cut where the tensor begins or ends. */
function cellsOf(map, request) {
  const units = elements => (map.packed ? Math.floor(elements / 16) : Math.floor((elements * map.bits) / 8));
  const elementsIn = count => (map.slice ? 1 : map.packed ? count * 16 : Math.floor((count * 8) / map.bits));
  let before = 0, inside = map.units, first = 0;
  if (!map.slice) {
    const clamp = c => Math.min(Math.max(c, 0), map.inner);
    const ahead = clamp(-request.at[0]);
    let held = units(clamp(map.dims[0] - request.at[0]) - ahead);
    if (map.direction !== "load" && !map.packed) held = Math.ceil(held / 16) * 16;
    before = Math.min(units(ahead), map.units);
    inside = Math.min(held, map.units - before);
    first = units(Math.max(request.at[0] + ahead, 0)) * map.globalUnit;
  }
  const cells = [];
  let row = 0;
  for (const at of rowsOf(map, request)) {
    let held = inside > 0, offset = BigInt(first);
    for (let d = map.slice ? 0 : 1; d < 5; d++) {
      held = held && at[d] >= 0 && at[d] < map.dims[d];
      if (held) offset += BigInt(at[d]) * BigInt(map.strides[d]);
    }
    let column = 0;
    for (let unit = 0; unit < map.units; ) {
      const linear = request.shared + row * map.pitch + unit * map.sharedUnit;
      const grain = Math.max(map.grain, map.sharedUnit);
      const toEnd = Math.max(Math.floor((grain - (linear % grain)) / map.sharedUnit), 1);
      const edges = held ? [before, before + inside, map.units] : [map.units];
      const count = Math.min(toEnd, edges.find(edge => edge > unit) - unit);
      const global = held && unit >= before && unit < before + inside
        ? least(offset + BigInt((unit - before) * map.globalUnit)) : null;
      const coordinates = at.slice();
      if (!map.slice) coordinates[0] += elementsIn(unit);
      cells.push({
        row, column: column++, at: coordinates, elements: elementsIn(count), global, linear,
        shared: swizzled(map, linear), length: count * map.sharedUnit,
      });
      unit += count;
    }
    row++;
  }
  return cells;
}
