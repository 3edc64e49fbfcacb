// A tensor map to edit: what the page keeps of it, and the JSON that the engine takes.
import type { TensorCopySpec, TensorMapSpec } from "../engine-types";

export interface MapState {
  kind: "tiled" | "im2col";
  type: string;
  target: string;
  dims: number[];
  /** Bytes, from dimension 1 on; empty for a dense tensor. */
  strides: number[];
  box: number[];
  elementStrides: number[];
  swizzle: string;
  interleave: string;
  fill: string;
  lower: number[];
  upper: number[];
  channels: number;
  pixels: number;
  at: number[];
  offsets: number[];
}

export const types = ["u8", "u16", "u32", "s32", "u64", "s64", "f16", "bf16", "f32", "f32.ftz", "tf32", "tf32.ftz", "f64", "b4x16", "b4x16_p64", "b6x16_p32"];
export const swizzles = ["none", "32B", "64B", "96B", "128B", "128B_ATOM_32B", "128B_ATOM_32B_FLIP_8B", "128B_ATOM_64B"];
export const interleaves = ["none", "16B", "32B"];

const base: MapState = {
  kind: "tiled", type: "f16", target: "sm_90", dims: [64, 64], strides: [], box: [64, 8], elementStrides: [1, 1], swizzle: "128B", interleave: "none",
  fill: "zero", lower: [0, 0], upper: [0, 0], channels: 8, pixels: 16, at: [0, 0], offsets: [0, 0],
};

export const presets: readonly (readonly [name: string, title: string, map: MapState])[] = [
  ["tile", "a tile with the 128-byte swizzle", base],
  ["plain", "the same without a swizzle", { ...base, swizzle: "none" }],
  ["edge", "a box that sticks out of the tensor", { ...base, dims: [60, 12], strides: [128], at: [0, 8] }],
  ["im2col", "im2col: a column of pixels", {
    ...base, kind: "im2col", dims: [16, 9, 7, 2], box: [16, 1, 1, 1], elementStrides: [1, 1, 1, 1], swizzle: "none", lower: [-1, -1], upper: [-1, -1],
    channels: 8, pixels: 24, at: [0, -1, -1, 0], offsets: [0, 0],
  }],
  ["interleave", "an interleaved tensor", {
    ...base, type: "u8", dims: [10, 10, 2, 1], box: [16, 4, 1, 1], elementStrides: [1, 1, 1, 1], interleave: "32B", swizzle: "32B", at: [0, 0, 0, 0],
  }],
  ["broken", "a map with four mistakes", { ...base, type: "f32", dims: [250, 64], strides: [1000], box: [66, 300] }],
];

export function firstMap(): MapState {
  return structuredClone(base);
}

/** The map's rank is another one: lists get longer or shorter. */
export function withRank(map: MapState, rank: number): MapState {
  const fit = (list: number[], length: number, filler: number): number[] => Array.from({ length }, (_, index) => list[index] ?? filler);
  return {
    ...map, dims: fit(map.dims, rank, 8), strides: map.strides.length > 0 ? [] : map.strides, box: fit(map.box, rank, 1),
    elementStrides: fit(map.elementStrides, rank, 1), at: fit(map.at, rank, 0),
    lower: fit(map.lower, Math.max(0, rank - 2), 0), upper: fit(map.upper, Math.max(0, rank - 2), 0), offsets: fit(map.offsets, Math.max(0, rank - 2), 0),
  };
}

/** What the engine takes. */
export function copyOf(map: MapState): TensorCopySpec {
  const spec: TensorMapSpec = { kind: map.kind, type: map.type, dims: map.dims, swizzle: map.swizzle, interleave: map.interleave, fill: map.fill };
  if (map.strides.length > 0) spec.strides = map.strides;
  if (map.elementStrides.some((stride) => stride !== 1)) spec.element_strides = map.elementStrides;
  if (map.kind === "tiled") spec.box = map.box;
  else Object.assign(spec, { lower: map.lower, upper: map.upper, channels: map.channels, pixels: map.pixels });
  return { map: spec, target: map.target, at: map.at, ...(map.kind === "im2col" ? { offsets: map.offsets } : {}) };
}
