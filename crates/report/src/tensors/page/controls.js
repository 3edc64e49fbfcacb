// The controls: the map's type, swizzle and box, the operands of the instruction, and the reads whose conflicts are shown.
"use strict";

const choices = base.choices, chosen = { type: choices.chosen[0], swizzle: choices.chosen[1], inner: choices.chosen[2], outer: choices.outer.map(one => one.value) };
/** Why the map that is chosen is not legal; null if it is. */
let refusal = null;
let pattern = "ldmatrix";

function labelled(parent, name, ...inputs) {
  const label = document.createElement("label");
  label.append(name, ...inputs);
  parent.append(label);
  return label;
}

function selection(values, value, changed) {
  const select = document.createElement("select");
  values.forEach((text, index) => select.append(new Option(text, index, false, index === value)));
  select.addEventListener("change", () => changed(Number(select.value)));
  return select;
}

/** A number from one to another; what is outside changes nothing. */
function numeric(value, least, most, step, changed) {
  const number = document.createElement("input");
  Object.assign(number, { type: "number", min: least, max: most, step });
  number.value = value;
  number.addEventListener("input", () => {
    const wanted = Math.trunc(Number(number.value));
    if (number.value !== "" && Number.isFinite(wanted) && wanted >= least && wanted <= most) changed(wanted);
  });
  return number;
}

/** The map of what is chosen. Its numbers were computed by softwarp; only the sizes of the box beyond the first are set here. */
function choose() {
  const { type, swizzle, inner, outer } = chosen;
  const entry = choices.table[(type * choices.swizzles.length + swizzle) * choices.inners.length + inner];
  refusal = typeof entry === "string" ? entry : null;
  if (refusal !== null) return;
  map = { ...base };
  choices.keys.forEach((key, index) => (map[key] = choices.values[index][entry[index]]));
  map.box = map.box.slice();
  choices.outer.forEach(({ dimension }, index) => {
    if (dimension === null) map.pixels = outer[index];
    else map.box[dimension] = outer[index];
  });
  const bytes = reckoned();
  if (bytes > map.sharedBytes) refusal = `${choices.sharedCode}: a copy is ${bytes} bytes; there are ${map.sharedBytes} bytes of shared memory`;
}

/** Bytes of a copy as the driver reckons them: it rounds down where a traversal stride does not divide the box. */
function reckoned() {
  const tiled = map.kind === "tile" || map.kind === "four";
  const counts = tiled ? map.box.slice(0, map.rank).map((size, d) => Math.floor(size / map.steps[d])) : [map.inner, map.pixels];
  return Math.ceil((counts.reduce((product, count) => product * count, 1) * map.bits) / 8);
}

function mapControls() {
  const parent = byId("mapControls"), changed = key => value => {
    chosen[key] = value;
    choose();
    copyControls();
    draw();
  };
  labelled(parent, "type", selection(choices.types, chosen.type, changed("type")));
  labelled(parent, "swizzle", selection(choices.swizzles, chosen.swizzle, changed("swizzle")));
  labelled(parent, choices.innerName, selection(choices.inners, chosen.inner, changed("inner")));
  choices.outer.forEach(({ name, value, most }, index) => {
    labelled(parent, name, numeric(value, 1, most, 1, wanted => {
      chosen.outer[index] = wanted;
      choose();
      draw();
    }));
  });
}

/** A slider and a number for each operand of the instruction. */
function copyControls() {
  const parent = byId("copyControls");
  parent.querySelectorAll("label").forEach(one => one.remove());
  map.controls.forEach(({ name, list, index, least, most, step, lowest, highest }) => {
    const slider = document.createElement("input"), place = list === "shared" ? request : request[list], key = list === "shared" ? "shared" : index;
    Object.assign(slider, { type: "range", min: least, max: most, step });
    slider.value = place[key];
    const changed = (value, other) => {
      place[key] = value;
      other.value = value;
      draw();
    };
    const number = numeric(place[key], lowest, highest, step, value => changed(value, slider));
    slider.addEventListener("input", () => changed(Math.trunc(Number(slider.value)), number));
    labelled(parent, name, slider, number).className = "wide";
  });
}

const PATTERNS = [["ldmatrix", "ldmatrix: 16 bytes of each of 8 rows"], ["row", "row: 128 bytes of a row"], ["column", "column: one element of each of 32 rows"], ["stride", "stride: 32 words, apart by"]];

function readControls() {
  const parent = byId("readControls");
  let bytes = 128;
  const stride = numeric(bytes, 4, 65536, 4, wanted => {
    if (wanted % 4 !== 0) return;
    bytes = pattern = wanted;
    draw();
  });
  const unit = labelled(parent, "", stride, "bytes");
  unit.hidden = true;
  unit.before(selection(PATTERNS.map(one => one[1]), 0, value => {
    pattern = PATTERNS[value][0] === "stride" ? bytes : PATTERNS[value][0];
    unit.hidden = PATTERNS[value][0] !== "stride";
    draw();
  }));
}

/** The conflicts of the pattern of reads; a line of the table marks the cells of its first phase. */
function drawReads(cells) {
  const groups = readsOf(map, request, pattern), same = new Map(), table = byId("conflicts");
  for (const group of groups) {
    const key = [group.banks, group.degree, group.plain].join();
    same.set(key, { first: same.get(key)?.first ?? group, count: (same.get(key)?.count ?? 0) + 1 });
  }
  const sum = key => groups.reduce((all, group) => all + group[key], 0), worst = key => groups.reduce((most, group) => Math.max(most, group[key]), 0);
  const verdict = worst("degree") <= 1 ? "No conflicts" : `Up to ${worst("degree")}-way conflicts`;
  byId("verdict").textContent = `${verdict}: ${groups.length} reads take ${sum("degree")} phases; unswizzled they would take ${sum("plain")} (up to ${worst("plain")}-way).`;
  table.replaceChildren();
  const line = (tag, words) => {
    const row = table.insertRow();
    words.forEach(word => {
      const cell = document.createElement(tag);
      cell.textContent = word;
      row.append(cell);
    });
    return row;
  };
  line("th", ["reads", "first at", "banks", "degree", "unswizzled"]);
  for (const { first, count } of same.values()) {
    const row = line("td", [count, `${map.rowWord} ${first.row}, byte ${first.byte}`, first.banks, `${first.degree}-way`, `${first.plain}-way`]);
    row.className = "read";
    const point = () => {
      const read = cell => first.reads.some(at => at < cell.linear + cell.length && at + first.bytes > cell.linear);
      mark(cells.filter(read).map(cellKey), `${first.reads.length} threads read ${first.bytes} bytes each\nfrom ${map.rowWord} ${first.row}, byte ${first.byte} on\n${first.banks} banks, ${first.degree}-way\n(unswizzled ${first.plain}-way)`);
    };
    row.addEventListener("mouseenter", point);
    row.addEventListener("click", point);
  }
}

/** Writes the outcome of a trial into the page, for tests. */
function written(id, value) {
  const out = document.createElement("pre");
  out.id = id;
  out.textContent = JSON.stringify(value);
  document.body.append(out);
}

/** What the walk makes of requests `[at, offsets, shared]`. */
function tried(list) {
  return list.map(([at, offsets, shared]) => {
    const one = { at, offsets, shared }, fault = faultOf(map, one);
    if (refusal !== null) return refusal.split(":")[0];
    if (fault) return fault[0];
    return cellsOf(map, one).map(c => [c.row, c.column, ...c.at, c.elements, c.global === null ? null : String(c.global), c.linear, c.shared, c.length]);
  });
}

/** What the walk, and the reads, make of maps `[type, swizzle, inner, outer]` at the page's place. */
function triedMaps(list) {
  return list.map(([type, swizzle, inner, outer]) => {
    Object.assign(chosen, { type, swizzle, inner, outer });
    choose();
    return tried([[request.at, request.offsets, request.shared]])[0];
  });
}

/**
 * The address may say where to begin: `#at=0,8&offsets=1,0&shared=128&type=f32&swizzle=64B&inner=32&point=r3c2`; and for
 * tests `try`, `maps` and `reads`.
 */
function begin() {
  const wanted = new URLSearchParams(location.hash.slice(1));
  for (const list of ["at", "offsets"]) {
    (wanted.get(list) || "").split(",").forEach((word, index) => {
      if (word !== "" && index < request[list].length && Number.isInteger(Number(word))) request[list][index] = Number(word);
    });
  }
  if (wanted.get("shared")) request.shared = Number(wanted.get("shared"));
  for (const [key, list] of [["type", "types"], ["swizzle", "swizzles"], ["inner", "inners"]]) {
    const index = choices[list].map(String).indexOf(wanted.get(key));
    if (index >= 0) chosen[key] = index;
  }
  choose();
  mapControls();
  copyControls();
  readControls();
  draw();
  const point = wanted.get("point");
  if (point) document.querySelector(`#shared [data-key~="${CSS.escape(point)}"]`)?.dispatchEvent(new Event("mouseenter"));
  if (wanted.get("try")) written("tried", tried(JSON.parse(wanted.get("try"))));
  if (wanted.get("reads")) {
    written("groups", JSON.parse(wanted.get("reads")).map(one => readsOf(map, request, one).map(g => [g.row, g.byte, g.banks, g.degree, g.plain])));
  }
  if (wanted.get("maps")) written("triedMaps", triedMaps(JSON.parse(wanted.get("maps"))));
}

begin();
