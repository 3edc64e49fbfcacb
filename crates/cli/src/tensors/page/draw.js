// The controls and the two panels; what is under the pointer is marked in both.
"use strict";

const SVG = "http://www.w3.org/2000/svg", LINE = 128, CELL = [46, 22];
const MOST = { planes: 6, columns: 24, rows: 24, lines: 40, whole: 20 };

const map = JSON.parse(document.getElementById("map").textContent);
const request = { at: map.at.slice(), offsets: map.offsets.slice(), shared: map.shared };
const byId = id => document.getElementById(id);
const hex = n => "0x" + n.toString(16);

function element(parent, name, attributes, text) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (text !== undefined) made.textContent = text;
  return parent.appendChild(made);
}

/** A slider and a number for each operand of the instruction. */
function controls() {
  map.controls.forEach(({ name, list, index, least, most, step, lowest, highest }) => {
    const label = document.createElement("label"), slider = document.createElement("input"), number = document.createElement("input");
    label.append(name, slider, number);
    Object.assign(slider, { type: "range", min: least, max: most, step });
    Object.assign(number, { type: "number", min: lowest, max: highest, step });
    const place = list === "shared" ? request : request[list], key = list === "shared" ? "shared" : index;
    slider.value = number.value = place[key];
    const changed = (from, other) => {
      const value = Math.trunc(Number(from.value));
      if (!Number.isFinite(value) || value < lowest || value > highest) return;
      place[key] = value;
      other.value = value;
      draw();
    };
    slider.addEventListener("input", () => changed(slider, number));
    number.addEventListener("input", () => changed(number, slider));
    byId("controls").append(label);
  });
}

function colourOf(cell) {
  return map.byPlace ? Math.floor(cell.linear / 16) % 8 : cell.row % 8;
}

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
  byId("info").textContent = text || "Point at a cell.";
}

/** A cell of a panel: what it stands for is copied, or outside. It has names; the pointer marks what has others. */
function cellAt(svg, [x, y], [width, height], cell, label, names, marked) {
  const group = element(svg, "g", { "data-key": names, class: "cell" });
  element(group, "rect", { class: `c c${colourOf(cell)}`, x, y, width, height });
  if (cell.global === null) element(group, "rect", { class: "fill", x, y, width, height });
  const size = label.length * 6 > width - 2 ? 7.5 : 10;
  if (label.length * 0.6 * size <= width) {
    element(group, "text", { class: "m mid", x: x + width / 2, y: y + height / 2 + 3.5, "font-size": size }, label);
  }
  group.addEventListener("mouseenter", () => mark(marked, describe(cell)));
}

/** The planes of the tensor that are copied from, and the rows and columns of them that are drawn. */
function sceneOf(cells) {
  const { x, y, perColumn, inCells } = map.axes, planes = new Map(), left = [];
  let lastRow = -1;
  for (const cell of cells) {
    if (!inCells && cell.row === lastRow) continue;
    lastRow = cell.row;
    const fixed = cell.at.map((c, d) => (d === x || d === y || d >= map.rank || (map.inPixels && d === 0) ? 0 : c));
    const key = fixed.join();
    if (!planes.has(key)) planes.set(key, { fixed, places: [] });
    planes.get(key).places.push({
      x: cell.at[x] / perColumn, width: inCells ? cell.elements / perColumn : 1, y: y === null ? 0 : cell.at[y], cell,
    });
  }
  const shown = [...planes.values()].slice(0, MOST.planes), places = shown.flatMap(plane => plane.places);
  if (planes.size > shown.length) left.push(`${planes.size - shown.length} planes of the tensor`);
  const across = map.dims[x] / perColumn, height = y === null ? 1 : map.dims[y];
  let first = places.reduce((least, p) => Math.min(least, Math.floor(p.x)), Infinity) - 1;
  let last = places.reduce((most, p) => Math.max(most, Math.ceil(p.x + p.width)), -Infinity) + 1;
  if (across <= MOST.whole && first >= -MOST.whole && last <= 2 * MOST.whole) {
    first = Math.min(first, -1);
    last = Math.max(last, Math.ceil(across) + 1);
  }
  if (last - first > MOST.columns) {
    left.push(`${last - first - MOST.columns} columns on the right`);
    last = first + MOST.columns;
  }
  let rows = new Set(y === null ? [0] : places.flatMap(p => [p.y - 1, p.y, p.y + 1]));
  if (y !== null && height <= MOST.whole) for (let row = -1; row <= height; row++) rows.add(row);
  if (rows.size > MOST.rows) rows = new Set(places.map(p => p.y));
  rows = [...rows].sort((a, b) => a - b);
  if (rows.length > MOST.rows) left.push(`${rows.length - MOST.rows} rows of the tensor's planes`);
  return { planes: shown, first, last, rows: rows.slice(0, MOST.rows), across, height, left };
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

function outlines(svg, plane, scene, columnX, tops, height) {
  const [across, down] = boundsOf();
  const [x0, x1] = across.map(x => Math.min(Math.max(x, scene.first), scene.last));
  const box = rows => {
    if (rows.length === 0 || x0 >= x1) return;
    const y0 = tops.get(rows[0]), y1 = tops.get(rows[rows.length - 1]) + height;
    element(svg, "rect", { class: "box", x: columnX(x0), y: y0, width: columnX(x1) - columnX(x0), height: y1 - y0 });
  };
  if (map.kind === "four") [...new Set(plane.places.map(place => place.y))].filter(y => tops.has(y)).forEach(y => box([y]));
  else box(scene.rows.filter(row => down === null || (row >= down[0] && row < down[1])));
}

function drawTensor(svg, scene, top) {
  const { inCells, perColumn } = map.axes, width = inCells ? CELL[0] : 32, height = CELL[1], left = 58;
  const columnX = at => left + (at - scene.first) * width;
  for (const plane of scene.planes) {
    const fixed = map.dims.map((_, d) => d).filter(d => d < map.rank && d !== map.axes.x && d !== map.axes.y && !(map.inPixels && d === 0));
    const title = map.axes.title + fixed.map(d => `; ${map.names[d]} = ${plane.fixed[d]}`).join("");
    element(svg, "text", { class: "faint", x: left, y: top + 14, "font-size": 11.5 }, title);
    top += 40;
    for (let x = scene.first; x < scene.last; x++) {
      element(svg, "text", { class: "m mid faint", x: columnX(x + 0.5), y: top - 5, "font-size": 9 }, x * perColumn);
    }
    let y = top, before = null;
    const tops = new Map();
    for (const row of scene.rows) {
      if (before !== null && row - before > 1) y += 9;
      before = row;
      tops.set(row, y);
      element(svg, "text", { class: "m end faint", x: left - 6, y: y + 15, "font-size": 9.5 }, map.axes.y === null ? "" : row);
      for (let x = scene.first; x < scene.last; x++) {
        const inside = row >= 0 && row < scene.height && x >= 0 && x < scene.across;
        element(svg, "rect", { class: inside ? "grid" : "out", x: columnX(x), y, width, height });
      }
      y += height;
    }
    for (const place of plane.places) {
      if (!tops.has(place.y) || place.x < scene.first || place.x + place.width > scene.last) continue;
      const { row, column } = place.cell;
      const name = inCells ? `${row}.${column}` : `box${row}`;
      cellAt(svg, [columnX(place.x), tops.get(place.y)], [place.width * width, height], place.cell,
        inCells ? name : String(row), name, [name, `of${row}`].slice(0, inCells ? 1 : 2));
    }
    outlines(svg, plane, scene, columnX, tops, height);
    top = y + 18;
  }
  return [left + (scene.last - scene.first) * width + 20, top];
}

function drawShared(svg, cells) {
  const left = 62, top = 40, first = Math.floor(request.shared / LINE);
  const all = Math.ceil((request.shared + footprint(map, request)) / LINE) - first, shown = Math.min(all, MOST.lines);
  element(svg, "text", { class: "faint", x: left, y: 14, "font-size": 11.5 }, "shared memory: 128 bytes a line, 16 a cell; banks above");
  for (let i = 0; i < 8; i++) {
    element(svg, "text", { class: "m mid faint", x: left + (i + 0.5) * CELL[0], y: top - 5, "font-size": 9 }, `${4 * i}–${4 * i + 3}`);
  }
  for (let line = 0; line < shown; line++) {
    element(svg, "text", { class: "m end faint", x: left - 6, y: top + line * CELL[1] + 15, "font-size": 9.5 }, hex((first + line) * LINE));
    for (let i = 0; i < 8; i++) {
      element(svg, "rect", { class: "none", x: left + i * CELL[0], y: top + line * CELL[1], width: CELL[0], height: CELL[1] });
    }
  }
  for (const cell of cells) {
    const line = Math.floor(cell.shared / LINE) - first;
    if (line >= shown) continue;
    const place = [left + ((cell.shared % LINE) / 16) * CELL[0], top + line * CELL[1]];
    const label = map.units * map.sharedUnit > 16 ? `${cell.row}.${cell.column}` : String(cell.row);
    cellAt(svg, place, [(cell.length / 16) * CELL[0], CELL[1]], cell, label,
      `${cell.row}.${cell.column} of${cell.row}`, [`${cell.row}.${cell.column}`, `box${cell.row}`]);
  }
  return [[left + 8 * CELL[0] + 20, top + shown * CELL[1] + 20], all - shown];
}

function draw() {
  const [tensor, shared] = [byId("tensor"), byId("shared")];
  tensor.replaceChildren();
  shared.replaceChildren();
  mark([]);
  const fault = faultOf(map, request);
  byId("fault").textContent = fault ? `The hardware faults: ${fault[1]} [${fault[0]}].` : "";
  byId("left").textContent = byId("bytes").textContent = "";
  if (fault) return;
  const cells = cellsOf(map, request), scene = sceneOf(cells);
  const sized = (svg, [width, height]) => {
    svg.setAttribute("width", width);
    svg.setAttribute("height", height);
  };
  sized(tensor, drawTensor(tensor, scene, 0));
  const [size, hidden] = drawShared(shared, cells);
  sized(shared, size);
  if (hidden > 0) scene.left.push(`${hidden} lines of shared memory`);
  byId("left").textContent = scene.left.length ? `Not drawn: ${scene.left.join("; ")}.` : "";
  const bytes = rowCount(map, request) * map.units * map.globalUnit;
  byId("bytes").textContent = map.direction === "load" ? `${bytes} bytes complete on the mbarrier.` : "";
}

/** `#try=[[at, offsets, shared], …]` writes what the walk makes of these into the page, for tests. */
function tried(list) {
  return list.map(([at, offsets, shared]) => {
    const one = { at, offsets, shared }, fault = faultOf(map, one);
    if (fault) return fault[0];
    return cellsOf(map, one).map(c => [c.row, c.column, ...c.at, c.elements, c.global === null ? null : String(c.global), c.linear, c.shared, c.length]);
  });
}

/** The address may say where to begin: `#at=0,8&offsets=1,0&shared=128&point=3.2`, and `try`. */
function begin() {
  const wanted = new URLSearchParams(location.hash.slice(1));
  for (const list of ["at", "offsets"]) {
    (wanted.get(list) || "").split(",").forEach((word, index) => {
      if (word !== "" && index < request[list].length && Number.isInteger(Number(word))) request[list][index] = Number(word);
    });
  }
  if (wanted.get("shared")) request.shared = Number(wanted.get("shared"));
  controls();
  draw();
  const point = wanted.get("point");
  if (point) document.querySelector(`#shared [data-key~="${CSS.escape(point)}"]`)?.dispatchEvent(new Event("mouseenter"));
  if (wanted.get("try")) {
    const out = document.createElement("pre");
    out.id = "tried";
    out.textContent = JSON.stringify(tried(JSON.parse(wanted.get("try"))));
    document.body.append(out);
  }
}

begin();
