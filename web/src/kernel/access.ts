// The memory access of the next instruction: banks of shared memory, sectors of global memory.
import { fill, h, s } from "../base/dom";
import type { Access } from "../engine-types";

const plural = (count: number, one: string): string => `${count} ${one}${count === 1 ? "" : "s"}`;

/** A word that lanes ask a bank for. */
interface Word {
  bank: number;
  word: number;
  lanes: number[];
}

function wordsOf(access: Access): Word[] {
  const found = new Map<number, Word>();
  access.banks?.lanes.forEach((banks, lane) => {
    const address = access.addresses[lane];
    if (address === null || address === undefined) return;
    const first = Math.floor(Number(address) / 4);
    for (const bank of banks) {
      const word = first + ((bank - (first % 32) + 32) % 32);
      const there = found.get(word) ?? { bank, word, lanes: [] };
      there.lanes.push(lane);
      found.set(word, there);
    }
  });
  return [...found.values()];
}

const cellWidth = 16;
/** The picture is at most so high; cells that are lower than their words have none. */
const mostHeight = 224;

/** Banks as columns; a word in each row, so that the height is the number of words of the busiest bank. */
function bankPicture(access: Access): SVGElement {
  const columns = Array.from({ length: 32 }, () => [] as Word[]);
  for (const word of wordsOf(access)) columns[word.bank]?.push(word);
  const rows = Math.max(1, ...columns.map((column) => column.length));
  const cellHeight = Math.max(6, Math.min(14, mostHeight / rows));
  const width = 32 * cellWidth;
  const height = rows * cellHeight + 16;
  const picture = s("svg", {
    viewBox: `0 0 ${width} ${height}`, class: "banks", role: "img", style: { "max-width": `${width * 1.4}px` },
    "aria-label": `words that each bank is asked for: ${columns.map((column, bank) => `bank ${bank}: ${column.length}`).join(", ")}`,
  });
  columns.forEach((column, bank) => {
    picture.append(s("text", { x: bank * cellWidth + cellWidth / 2, y: height - 4, class: "axis" }, bank % 4 === 0 ? String(bank) : ""));
    column.sort((a, b) => (a.lanes[0] ?? 0) - (b.lanes[0] ?? 0)).forEach((word, row) => {
      const y = (rows - 1 - row) * cellHeight;
      const group = s("g", {}, s("title", {}, `bank ${bank}, address 0x${(word.word * 4).toString(16)}: ${plural(word.lanes.length, "lane")} (${word.lanes.join(", ")})`),
        s("rect", { x: bank * cellWidth + 0.5, y: y + 0.5, width: cellWidth - 1.5, height: cellHeight - 1.5, rx: 2, class: column.length > 1 ? "conflict" : "free" }),
        cellHeight >= 10 && s("text", { x: bank * cellWidth + cellWidth / 2 - 0.2, y: y + cellHeight / 2 + 3, class: "lane-label" }, word.lanes.length > 1 ? `${word.lanes.length}×` : String(word.lanes[0])));
      picture.append(group);
    });
    if (column.length === 0) {
      picture.append(s("rect", { x: bank * cellWidth + 0.5, y: (rows - 1) * cellHeight + 0.5, width: cellWidth - 1.5, height: cellHeight - 1.5, rx: 2, class: "idle" }));
    }
  });
  return picture;
}

const mostSectors = 64;

/** Sectors of 32 bytes, eight words each; words that lanes touch are filled. */
function sectorPicture(access: Access): HTMLElement {
  const sectors = new Map<string, Set<number>>();
  for (const address of access.addresses) {
    if (address === null) continue;
    const start = BigInt(address);
    for (let byte = 0n; byte < BigInt(access.bytes); byte += 1n) {
      const sector = ((start + byte) / 32n * 32n).toString(16);
      const words = sectors.get(sector) ?? new Set<number>();
      words.add(Number((start + byte) % 32n / 4n));
      sectors.set(sector, words);
    }
  }
  const shown = [...sectors].sort(([a], [b]) => (a.length - b.length) || (a < b ? -1 : 1)).slice(0, mostSectors);
  return h("div", { class: "sectors", role: "img", "aria-label": `${plural(sectors.size, "sector")} of 32 bytes` },
    ...shown.map(([sector, words]) => h("span", { class: "sector", title: `sector 0x${sector}: ${plural(words.size, "word")} of 8` },
      ...Array.from({ length: 8 }, (_, word) => h("span", { class: words.has(word) ? "word touched" : "word" })))));
}

/** Draws the access of the instruction that is next; nothing if it is none. */
export function drawAccess(target: HTMLElement, access: Access | null): void {
  target.hidden = access === null;
  if (!access) return;
  const lanes = access.addresses.filter((address) => address !== null).length;
  const what = `${access.kind} of ${plural(access.bytes, "byte")} by ${plural(lanes, "lane")} in .${access.space}${access.name ? ` (${access.name})` : ""}`;
  const head = h("p", { class: "access-head" }, what);
  if (access.banks) {
    const { wavefronts } = access.banks;
    head.append(h("span", { class: `tag ${wavefronts > 1 ? "bad" : "good"}` }, wavefronts > 1 ? `${wavefronts} wavefronts` : "no conflict"));
    fill(target, h("h3", {}, "Banks"), head, h("div", { class: "scroll-x", tabindex: "0", role: "region", "aria-label": "banks" }, bankPicture(access)),
      h("p", { class: "quiet" }, "Columns are the 32 banks, cells the words that lanes ask for, with the lane; 2× is two lanes that share a word."));
  } else if (access.sectors !== null) {
    const ideal = Math.max(1, Math.ceil(lanes * access.bytes / 32));
    head.append(h("span", { class: `tag ${access.sectors > ideal ? "warn" : "good"}` }, plural(access.sectors, "sector")));
    fill(target, h("h3", {}, "Sectors"), head, sectorPicture(access));
  } else {
    fill(target, h("h3", {}, "Access"), head);
  }
}
