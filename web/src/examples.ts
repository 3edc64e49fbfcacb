// The examples: kernels with launches, in the order of the list.
import type { LaunchSpec } from "./engine-types";
import blackwell from "../examples/blackwell.json";
import bankConflicts from "../examples/bank-conflicts.json";
import divergence from "../examples/divergence.json";
import endless from "../examples/endless.json";
import fp8 from "../examples/fp8.json";
import matmul from "../examples/matmul.json";
import outOfBounds from "../examples/out-of-bounds.json";
import race from "../examples/race.json";
import reduction from "../examples/reduction.json";
import shuffle from "../examples/shuffle.json";
import vectorAdd from "../examples/vector-add.json";
import blackwellText from "../../examples/blackwell.ptx";
import bankConflictsText from "../examples/bank-conflicts.ptx";
import divergenceText from "../examples/divergence.ptx";
import endlessText from "../examples/endless.ptx";
import fp8Text from "../examples/fp8.ptx";
import matmulText from "../../examples/matmul.ptx";
import outOfBoundsText from "../examples/out-of-bounds.ptx";
import raceText from "../examples/race.ptx";
import reductionText from "../examples/reduction.ptx";
import shuffleText from "../examples/shuffle.ptx";
import vectorAddText from "../examples/vector-add.ptx";

/** A launch without the text of its module. */
export type Launch = Omit<LaunchSpec, "text">;

export interface Example {
  name: string;
  title: string;
  about: string;
  /** The pane that shows it best. */
  pane: string;
  launch: Launch;
  text: string;
}

type Described = Omit<Example, "name" | "text">;

function example(name: string, described: unknown, text: string): Example {
  return { name, ...(described as Described), text };
}

export const examples: readonly Example[] = [
  example("vector-add", vectorAdd, vectorAddText),
  example("reduction", reduction, reductionText),
  example("divergence", divergence, divergenceText),
  example("bank-conflicts", bankConflicts, bankConflictsText),
  example("shuffle", shuffle, shuffleText),
  example("fp8", fp8, fp8Text),
  example("matmul", matmul, matmulText),
  example("blackwell", blackwell, blackwellText),
  example("race", race, raceText),
  example("out-of-bounds", outOfBounds, outOfBoundsText),
  example("endless", endless, endlessText),
];
