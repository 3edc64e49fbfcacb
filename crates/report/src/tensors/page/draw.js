// The two panels and their legend; what is under the pointer is marked in both.
"use strict";

const SVG = "http://www.w3.org/2000/svg", LINE = 128, CELL = [46, 22], SKIP = 9, INSET = 3.5;
const MOST = { planes: 6, columns: 24, rows: 24, lines: 40, whole: 20, walk: 600 };

const base = JSON.parse(document.getElementById("map").textContent);
let map = { ...base };
const request = { at: base.at.slice(), offsets: base.offsets.slice(), shared: base.shared };
const byId = id => document.getElementById(id);
const hex = n => "0x" + n.toString(16);

function element(parent, name, attributes, text) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (text !== undefined) made.textContent = text;
  return parent.appendChild(made);
}

function colourOf(cell) {
  return map.byPlace ? Math.floor(cell.linear / 16) % 8 : cell.row % 8;
}

/** `r3`, or of a pixel or slice `p3` or `s3`. */
const rowLabel = row => map.rowWord[0] + row;

/** `r3c2`, or where a row is one cell that of the row. */
const cellLabel = cell => rowLabel(cell.row) + (map.units * map.sharedUnit > 16 ? `c${cell.column}` : "");

/** What a cell is called in both panels. */
const cellKey = cell => `${rowLabel(cell.row)}c${cell.column}`;

function describe(cell) {
  const bank = Math.floor(cell.shared / 4) % 32, last = Math.floor((cell.shared + cell.length - 1) / 4) % 32;
  const lines = [
    `${map.rowWord} ${cell.row}, cell ${cell.column}`,
    `element (${cell.at.slice(0, map.rank).join(", ")})` + (cell.elements > 1 ? ` and ${cell.elements - 1} after it` : ""),
    cell.global === null ? (map.direction === "load" ? "outside of the tensor: filled" : "outside of the tensor: skipped")
      : `byte ${hex(cell.global)} of the tensor`,
    `shared ${hex(cell.shared)}` + (cell.shared === cell.linear ? "" : ` (unswizzled ${hex(cell.linear)})`),
    bank === last ? `bank ${bank}` : `banks ${bank}–${last}`,
  ];
  return lines.join("\n");
}

/** Marks what has one of these names, in both panels. */
function mark(keys, text) {
  document.querySelectorAll(".marked").forEach(one => one.classList.remove("marked"));
  keys.forEach(key => document.querySelectorAll(`[data-key~="${key}"]`).forEach(one => one.classList.add("marked")));
  byId("info").textContent = text || "Point at a cell, or at a line of the table below.";
}

/** A cell of a panel: what it stands for is copied, or outside. It has names; the pointer marks what has others. */
function cellAt(svg, [x, y], [width, height], cell, label, names, marked) {
  const group = element(svg, "g", { "data-key": names, class: "cell" });
  element(group, "rect", { class: `c c${colourOf(cell)}`, x, y, width, height });
  if (cell.global === null) element(group, "rect", { class: "fill", x, y, width, height });
  const size = label.length * 6 > width - 2 ? 7.5 : 10, over = cell.global === null ? " over" : "";
  if (label.length * 0.6 * size <= width) {
    element(group, "text", { class: "m mid" + over, x: x + width / 2, y: y + height / 2 + 3.5, "font-size": size }, label);
  }
  const point = () => mark(marked, describe(cell));
  group.addEventListener("mouseenter", point);
  group.addEventListener("click", point);
}

const columnOf = cell => cell.at[map.axes.x] / map.axes.perColumn;
const widthOf = cell => (map.axes.inCells ? cell.elements / map.axes.perColumn : 1);

/** The plane that a cell is in, by the coordinates that are fixed there, and its row in it. */
function planeOf(cell) {
  const { x, y } = map.axes;
  const fixed = cell.at.map((c, d) => (d === x || d === y || d >= map.rank || (map.inPixels && d === 0) ? 0 : c));
  return [fixed, y === null ? 0 : cell.at[y]];
}

/** The rows of the copy that there is room for on both sides, and the cells of them that there are columns for. */
function chosenOf(cells, most) {
  const chosen = { planes: new Map(), rows: new Set(), lines: new Set(), count: 0, hidden: [], cells: new Set() };
  for (let at = 0; at < cells.length; ) {
    let end = at;
    while (end < cells.length && cells[end].row === cells[at].row) end++;
    const row = cells.slice(at, end), drawn = row.filter(cell => columnOf(cell) + widthOf(cell) <= most);
    const planes = new Set(chosen.planes.keys()), rows = new Set(chosen.rows), lines = new Set(chosen.lines);
    for (const cell of drawn) {
      const [fixed, y] = planeOf(cell);
      planes.add(fixed.join());
      rows.add(y);
      lines.add(Math.floor(cell.shared / LINE));
    }
    if (planes.size > MOST.planes || rows.size > MOST.rows || lines.size > MOST.lines) break;
    Object.assign(chosen, { rows, lines, count: end });
    chosen.hidden.push(...row.filter(cell => !drawn.includes(cell)));
    drawn.forEach(cell => chosen.cells.add(cell));
    for (const cell of map.axes.inCells ? drawn : drawn.slice(0, 1)) {
      const [fixed, y] = planeOf(cell), key = fixed.join();
      if (!chosen.planes.has(key)) chosen.planes.set(key, { fixed, places: [] });
      chosen.planes.get(key).places.push({ x: columnOf(cell), width: widthOf(cell), y, cell });
    }
    at = end;
  }
  return chosen;
}

/** The planes of the tensor that are copied from, and the rows and columns of them that are drawn. */
function sceneOf(cells) {
  const { x, y, perColumn, inCells } = map.axes, left = [], word = map.rowWord;
  let first = cells.reduce((least, cell) => Math.min(least, Math.floor(columnOf(cell))), Infinity) - 1;
  const chosen = chosenOf(cells, first + MOST.columns);
  const planes = [...chosen.planes.values()], places = planes.flatMap(plane => plane.places);
  if (chosen.count < cells.length) left.push(`${word}s ${cells[chosen.count].row} to ${cells[cells.length - 1].row}`);
  if (chosen.hidden.length > 0) {
    const columns = chosen.hidden.map(cell => cell.column);
    left.push(inCells ? `cells ${Math.min(...columns)} to ${Math.max(...columns)} of each ${word}` : `${word}s on the right`);
  }
  const across = map.dims[x] / perColumn, height = y === null ? 1 : map.dims[y];
  let last = places.reduce((most, p) => Math.max(most, Math.ceil(p.x + p.width)), first + 2) + 1;
  if (across <= MOST.whole) {
    const whole = [Math.min(first, -1), Math.max(last, Math.ceil(across) + 1)];
    if (whole[1] - whole[0] <= MOST.columns) [first, last] = whole;
  }
  last = Math.min(last, first + MOST.columns);
  const copied = places.map(p => p.y);
  let rows = new Set(y === null ? [0] : copied.flatMap(at => [at - 1, at, at + 1]));
  if (y !== null && height <= MOST.whole) for (let row = -1; row <= height; row++) rows.add(row);
  if (rows.size > MOST.rows) rows = new Set(copied);
  rows = [...rows].sort((a, b) => a - b);
  return { planes, first, last, rows, across, height, left, chosen };
}

/** Where lines begin: one below the other, with a gap where some are left out. */
function topsOf(lines, top) {
  const tops = new Map();
  let y = top, before = null;
  for (const line of lines) {
    if (before !== null && line - before > 1) y += SKIP;
    before = line;
    tops.set(line, y);
    y += CELL[1];
  }
  return [tops, y];
}

/** The bounding box across, and down where that is drawn; in columns and rows. */
function boundsOf() {
  const { x, y, perColumn } = map.axes, spatial = d => d - map.firstSpatial, at = request.at;
  if (map.kind === "tile" || map.kind === "four") {
    const down = map.kind === "four" || y === null ? null : [at[y], at[y] + map.box[y]];
    return [[at[x] / perColumn, (at[x] + map.box[x]) / perColumn], down];
  }
  const shift = map.kind === "wide" ? request.offsets[1] : 0;
  const range = d => (spatial(d) < map.spatial ? bounds(map, spatial(d)).map(edge => edge + shift) : null);
  return [range(x), map.kind === "wide" ? null : range(y)];
}

/** A rectangle in a plane, open where it goes beyond what is drawn. */
function outline(svg, name, scene, columnX, tops, [across, down]) {
  const rows = scene.rows, height = CELL[1];
  const [x0, x1] = across.map(x => Math.min(Math.max(x, scene.first), scene.last));
  if (x0 >= x1 || rows.length === 0) return;
  const edge = at => (tops.has(at) ? tops.get(at) : tops.has(at - 1) ? tops.get(at - 1) + height : null);
  const [upper, lower] = down === null ? [null, null] : down.map(edge);
  if (down !== null && upper === null && lower === null && (down[1] <= rows[0] || down[0] > rows[rows.length - 1])) return;
  const y0 = upper === null ? tops.get(rows[0]) : upper, y1 = lower === null ? tops.get(rows[rows.length - 1]) + height : lower;
  const [left, right] = [columnX(x0), columnX(x1)];
  const path = (upper === null ? "" : `M${left} ${y0}H${right}`) + (across[1] > scene.last ? "" : `M${right} ${y0}V${y1}`)
    + (lower === null ? "" : `M${right} ${y1}H${left}`) + (across[0] < scene.first ? "" : `M${left} ${y1}V${y0}`);
  element(svg, "path", { class: name, d: path });
}

/** The order of the copy: below the names in a row, and between rows along the edges, so that no name is struck through. */
function walkPath(places, columnX, tops) {
  let path = "", before = null;
  for (const place of places.slice(0, MOST.walk)) {
    const low = tops.get(place.y) + CELL[1] - INSET, [left, right] = [columnX(place.x), columnX(place.x + place.width)];
    if (before === null) path = `M${left + INSET} ${low}`;
    else if (before.y !== place.y || before.right > left) {
      const edge = place.y >= before.y ? before.low + INSET : before.low - CELL[1] + INSET;
      path += `H${before.right - INSET}V${edge}H${left + INSET}V${low}`;
    }
    before = { right, y: place.y, low };
  }
  return before === null ? "" : `${path}H${before.right - INSET}`;
}

function drawTensor(svg, scene, top) {
  const { inCells, perColumn } = map.axes, width = inCells ? CELL[0] : 36, height = CELL[1], left = 58;
  const columnX = at => left + (at - scene.first) * width;
  for (const plane of scene.planes) {
    const fixed = map.dims.map((_, d) => d).filter(d => d < map.rank && d !== map.axes.x && d !== map.axes.y && !(map.inPixels && d === 0));
    const title = map.axes.title + fixed.map(d => `; ${map.names[d]} = ${plane.fixed[d]}`).join("");
    element(svg, "text", { class: "faint", x: left, y: top + 14, "font-size": 11.5 }, title);
    top += 40;
    for (let x = scene.first; x < scene.last; x++) {
      element(svg, "text", { class: "m mid faint", x: columnX(x + 0.5), y: top - 5, "font-size": 9 }, x * perColumn);
    }
    const [tops, end] = topsOf(scene.rows, top);
    for (const [row, y] of tops) {
      element(svg, "text", { class: "m end faint", x: left - 6, y: y + 15, "font-size": 9.5 }, map.axes.y === null ? "" : row);
      for (let x = scene.first; x < scene.last; x++) {
        const inside = row >= 0 && row < scene.height && x >= 0 && x < scene.across;
        element(svg, "rect", { class: inside ? "grid" : "out", x: columnX(x), y, width, height });
      }
    }
    for (const place of plane.places) {
      const { cell } = place, name = inCells ? cellKey(cell) : `box${cell.row}`;
      cellAt(svg, [columnX(place.x), tops.get(place.y)], [place.width * width, height], place.cell,
        inCells ? cellLabel(cell) : rowLabel(cell.row), name, inCells ? [name] : [name, `of${cell.row}`]);
    }
    if (plane.places.length > 1) element(svg, "path", { class: "walk", d: walkPath(plane.places, columnX, tops) });
    outline(svg, "tensor", scene, columnX, tops, [[0, scene.across], [0, scene.height]]);
    const [across, down] = boundsOf();
    if (map.kind === "four") new Set(plane.places.map(place => place.y)).forEach(y => outline(svg, "box", scene, columnX, tops, [across, [y, y + 1]]));
    else if (across !== null) outline(svg, "box", scene, columnX, tops, [across, down]);
    top = end + 18;
  }
  return [left + (scene.last - scene.first) * width + 20, top];
}

function drawShared(svg, cells, scene) {
  const left = 62, top = 40, first = Math.floor(request.shared / LINE);
  const end = Math.ceil((request.shared + footprint(map, request)) / LINE), { chosen } = scene;
  let lines = [...chosen.lines].sort((a, b) => a - b);
  if (scene.left.length === 0 && end - first <= MOST.lines) lines = Array.from({ length: end - first }, (_, i) => first + i);
  element(svg, "text", { class: "faint", x: left, y: 14, "font-size": 11.5 }, "shared memory: 128 bytes a line, 16 a cell; banks above");
  for (let i = 0; i < 8; i++) {
    element(svg, "text", { class: "m mid faint", x: left + (i + 0.5) * CELL[0], y: top - 5, "font-size": 9 }, `${4 * i}–${4 * i + 3}`);
  }
  const [tops, bottom] = topsOf(lines, top);
  for (const [line, y] of tops) {
    element(svg, "text", { class: "m end faint", x: left - 6, y: y + 15, "font-size": 9.5 }, hex(line * LINE));
    for (let i = 0; i < 8; i++) element(svg, "rect", { class: "none", x: left + i * CELL[0], y, width: CELL[0], height: CELL[1] });
  }
  for (const cell of cells) {
    const y = tops.get(Math.floor(cell.shared / LINE));
    if (y === undefined) continue;
    const x = left + ((cell.shared % LINE) / 16) * CELL[0], width = (cell.length / 16) * CELL[0];
    if (chosen.cells.has(cell)) {
      cellAt(svg, [x, y], [width, CELL[1]], cell, cellLabel(cell), `${cellKey(cell)} of${cell.row}`, [cellKey(cell), `box${cell.row}`]);
    } else {
      element(svg, "rect", { class: "grid", x, y, width, height: CELL[1] });
      element(svg, "text", { class: "mid faint", x: x + width / 2, y: y + 14, "font-size": 10 }, "…");
    }
  }
  return [left + 8 * CELL[0] + 20, bottom + 20];
}

/** What is drawn, and what it means. */
function drawLegend(scene) {
  const word = map.rowWord, name = map.units * map.sharedUnit > 16 ? `${rowLabel(3)}c1: ${word} 3, cell 1` : `${rowLabel(3)}: ${word} 3`;
  const colours = map.byPlace ? "colour: place in a line of 128 bytes before the swizzle" : `colours by turns, one for each ${word}`;
  const outside = [...scene.chosen.cells].some(cell => cell.global === null);
  const untouched = document.querySelectorAll("#shared .none").length * 16 > [...scene.chosen.cells].reduce((sum, cell) => sum + cell.length, 0)
    && scene.left.length === 0;
  const items = [
    ["c c0", `${name}; ${colours}`],
    outside && ["fill", `outside the tensor: ${map.direction === "load" ? "filled" : "skipped"}`],
    untouched && ["none", "untouched"],
    ["tensor", "tensor"],
    ["box", map.kind === "tile" || map.kind === "four" ? "box" : "bounding box of the bases"],
    document.querySelector("#tensor path.walk") && ["walk", "order of the copy"],
  ];
  byId("legend").replaceChildren();
  for (const item of items) {
    if (!item) continue;
    const [look, words] = item, span = document.createElement("span"), swatch = element(span, "svg", { width: 26, height: 16 });
    if (look === "walk") element(swatch, "path", { class: look, d: "M2 8h20" });
    else element(swatch, "rect", { class: look, x: 2, y: 2, width: 22, height: 12 });
    span.append(words);
    byId("legend").append(span);
  }
}

function draw() {
  const [tensor, shared] = [byId("tensor"), byId("shared")];
  tensor.replaceChildren();
  shared.replaceChildren();
  byId("legend").replaceChildren();
  mark([]);
  const fault = refusal === null ? faultOf(map, request) : null;
  const wrong = refusal !== null ? `The map is not legal: ${refusal}` : fault ? `The hardware faults: ${fault[1]} [${fault[0]}].` : "";
  byId("fault").textContent = wrong;
  byId("left").textContent = byId("bytes").textContent = "";
  byId("reads").hidden = byId("panels").hidden = wrong !== "";
  for (const svg of [tensor, shared]) svg.setAttribute("width", 0);
  if (wrong !== "") return;
  const cells = cellsOf(map, request), scene = sceneOf(cells);
  // A panel may shrink to this part of its width before it scrolls.
  const sized = (svg, [width, height]) => {
    svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
    svg.setAttribute("width", width);
    svg.style.width = `clamp(${Math.round(width * 0.72)}px, 100%, ${width}px)`;
  };
  sized(tensor, drawTensor(tensor, scene, 0));
  sized(shared, drawShared(shared, cells, scene));
  drawLegend(scene);
  byId("left").textContent = scene.left.length ? `Not drawn, on either side: ${scene.left.join("; ")}.` : "";
  const bytes = rowCount(map, request) * map.units * map.globalUnit;
  byId("bytes").textContent = map.direction === "load" ? `${bytes} bytes complete on the mbarrier.` : "";
  drawReads(cells);
}
