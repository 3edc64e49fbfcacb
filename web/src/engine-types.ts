/**
 * The interface of the engine: softwarp, compiled to WebAssembly.
 *
 * The module exports `memory`, `alloc(length) -> pointer`, `free(pointer, length)` and `call(pointer, length) -> pointer`.
 * A request is JSON in UTF-8 of type {@link Request}. `call` returns a pointer to a length (u32, little-endian) and that
 * number of bytes: an {@link Answer}, JSON in UTF-8. Whoever calls gives that back with `free(pointer, 4 + length)`. `call` does not
 * free the request.
 *
 * Positions are lines and columns, both from 0; columns count UTF-16 units. Bit patterns are strings in hexadecimal
 * (`"0x3f800000"`), since numbers of JavaScript hold 53 bits. Values that a number of JSON cannot hold are strings: `"nan"`,
 * `"inf"`, `"-inf"`, and integers beyond 2^53.
 */

export interface Position {
  line: number;
  character: number;
}

export interface Range {
  start: Position;
  end: Position;
}

/** Bits in hexadecimal, all digits of the type. */
export type Hex = string;

/** A number, or what JSON has no number for. */
export type Num = number | string;

export interface EngineError {
  message: string;
  /** Where in the text, if the text is what is wrong. */
  range?: Range;
  /** What is wrong with the module, where a call needs one that is right. */
  diagnostics?: Diagnostic[];
  /** What the machine cannot execute, where a launch was refused for it. */
  unsupported?: Unsupported[];
}

export type Answer<T> = { ok: T } | { error: EngineError };

// ---------------------------------------------------------------------------------------------------------------- text

export interface TextEdit {
  range: Range;
  newText: string;
}

export interface Diagnostic {
  code: string;
  severity: "error" | "warning";
  message: string;
  range: Range;
  help: string | null;
  /** What the code means in general. */
  title: string | null;
  related: { range: Range; message: string }[];
  /** Edits that are certain to be meant; null if none are. */
  fix: TextEdit[] | null;
}

export interface Hover {
  /** Markdown. */
  contents: string;
  range: Range | null;
}

export interface Completion {
  label: string;
  /** The names of the Language Server Protocol: `Keyword`, `Variable`, `Function`, … */
  kind: string;
  detail: string | null;
  /** Markdown. */
  documentation: string | null;
  filterText: string | null;
  sortText: string | null;
  /** What is put where. `$1` and `${1:name}` are places to fill in if `snippet`. */
  edit: TextEdit;
  snippet: boolean;
}

export interface DocumentSymbol {
  name: string;
  detail: string | null;
  kind: string;
  range: Range;
  selectionRange: Range;
  children: DocumentSymbol[];
}

/** A token of semantic highlighting. */
export interface SemanticToken {
  line: number;
  character: number;
  length: number;
  /** `keyword`, `variable`, `parameter`, `function`, `number`, `comment`, `macro`, `type`, `label`, … */
  type: string;
  modifiers: string[];
}

export interface SignatureHelp {
  signatures: { label: string; documentation: string | null; parameters: [number, number][] }[];
  activeSignature: number;
  activeParameter: number | null;
}

/** Where variables are in memory: as `softwarp layout --json` prints it (docs/layout.md). */
export interface Layout {
  version: string;
  target: string;
  address_size: number;
  variables: Record<string, unknown>[];
  kernels: Record<string, unknown>[];
  functions: Record<string, unknown>[];
}

export interface Unsupported {
  range: Range;
  message: string;
}

export interface LoweredOperation {
  /** The operation, as `softwarp lower` prints it. */
  text: string;
  /** The line of PTX that it is made from; null if none. */
  line: number | null;
  /** Whether it is a copy whose readers were given the original. */
  unread: boolean;
}

export interface LoweredFunction {
  name: string;
  /** Constants and what the launch gives: lines above the operations. */
  head: string[];
  rows: { narrow: number; wide: number; predicates: number };
  operations: LoweredOperation[];
}

export interface LoweredKernel {
  name: string;
  supported: boolean;
  functions: LoweredFunction[];
  unsupported: Unsupported[];
}

export interface KernelParameter {
  name: string;
  /** As in `u64`, `f32`, `b8[128]`. */
  type: string;
  bytes: number;
  align: number;
  /** Whether it is an address, as far as the text shows: `.ptr`, or loads and stores go through it. */
  pointer: boolean;
  /** Of a pointer: the type that is loaded or stored through it, if the text shows it: a name of a format, as in `f32`. */
  element: string | null;
}

export interface Kernel {
  name: string;
  /** Of a name of C++, what it stands for. */
  demangled: string | null;
  range: Range;
  parameters: KernelParameter[];
  /** `.reqntid`, or null. */
  requiredBlock: [number, number, number] | null;
  /** `.maxntid` as a number of threads, or null. */
  maxThreads: number | null;
  staticShared: number;
  /** Whether it has shared memory whose size the launch gives. */
  dynamicShared: boolean;
}

// -------------------------------------------------------------------------------------------------------------- launch

/** A scalar or a list of numbers: numbers, strings as people write them (`"0x3f800000"`, `"nan"`, `"1e-3"`). */
export type ArgumentSpec =
  | {
      buffer: {
        /** A format: `f32`, `u8`, `bf16`, `e4m3`, …; a byte each for formats under 8 bits. */
        format: string;
        /** The elements … */
        values?: Num[];
        /** … or all bytes … */
        hex?: string;
        /** … or a number of elements: of zeros, of one value, `"iota"` (0, 1, 2, …), `"random"` (uniform in [-1, 1), or all bits) or `"uninitialised"`. */
        count?: number;
        fill?: Num;
        seed?: number;
        /** A name for drawings and messages; without one, the parameter's. */
        name?: string;
      };
    }
  | { scalar: { type: string; value: Num } }
  | { bytes: { hex: string } };

/** A tensor map, and the memory that it is of; `address` in the map does not count. */
export interface TensorArgument {
  tensor: { map: TensorMapSpec; buffer: Extract<ArgumentSpec, { buffer: unknown }>["buffer"] };
}

export interface LaunchSpec<A = ArgumentSpec> {
  text: string;
  kernel: string;
  grid: number[];
  block: number[];
  cluster?: number[];
  /** Bytes of dynamic shared memory. */
  shared?: number;
  arguments: A[];
  /** Sanitizers: any of `race`, `init`, `bounds`, `sync`, … or `all`. */
  sanitize?: string[];
  /** The most instructions of warps (default 20 million). */
  limit?: number;
}

/** A place in a launch. Lines count from 0. */
export interface Place {
  line: number;
  range: Range;
  /** The instruction on one line. */
  text: string;
  function: string;
  /** The thread in focus. */
  cta: [number, number, number];
  warp: number;
  lane: number;
  /** Lanes at the instruction, and those that pass its guard: masks of 32 bits. */
  lanes: number;
  executing: number;
}

export type LaunchState = "stopped" | "done" | "fault" | "limit";

export interface LaunchStatus {
  launch: number;
  state: LaunchState;
  /** How many instructions of warps were executed: names a moment of the launch. */
  moment: number;
  /** Why it stopped. `bound`: the call's `max` was reached; go on with the same step. */
  reason: "start" | "step" | "breakpoint" | "watch" | "bound" | "exited" | "beginning" | "fault" | "end" | "limit";
  /** The instruction that is next. Null at the end. */
  at: Place | null;
  /** The breakpoint or watch that stopped it. */
  breakpoint?: number;
  /** Of a fault: what it is. */
  fault?: Fault;
  /** The memory access of the instruction that is next, if it is one. */
  access: Access | null;
  /** What kernels printed so far. */
  printed: string;
  /** With sanitizers: what they found so far, at most 50. */
  findings?: Finding[];
}

export interface Fault {
  message: string;
  /** Where, if it is at an instruction. */
  range: Range | null;
  thread: { cta: [number, number, number]; thread: [number, number, number] } | null;
  notes: string[];
}

/** A memory access of a warp, lane by lane. */
export interface Access {
  kind: "load" | "store" | "atomic";
  space: string;
  bytes: number;
  /** For each lane its address, or null if it does not execute. */
  addresses: (Hex | null)[];
  /** For shared memory: banks and conflicts. */
  banks: {
    /** For each lane the banks (0 to 31) that it touches. */
    lanes: number[][];
    /** How many times the access is replayed: 1 is free of conflicts. */
    wavefronts: number;
    /** How many times it is made without conflicts: wide accesses are made by parts of the warp. */
    ideal: number;
    /** For each bank, how many different words are asked for. */
    words: number[];
  } | null;
  /** For global memory: how many sectors of 32 bytes are touched. */
  sectors: number | null;
  /** The variable or buffer that the first lane that executes is in. */
  name: string | null;
}

export interface Step {
  moment: number;
  line: number;
  cta: [number, number, number];
  warp: number;
  lanes: number;
  executing: number;
}

export interface WarpGroup {
  lanes: number;
  line: number;
  depth: number;
  /** `ready`, `barrier`, `cluster` or `lanes` (waits for others of its warp). */
  waits: "ready" | "barrier" | "cluster" | "lanes";
  barrier: number | null;
  current: boolean;
}

export interface Warp {
  warp: number;
  /** Lanes that exist, and those that have not exited. */
  lanes: number;
  live: number;
  exited: boolean;
  groups: WarpGroup[];
}

export interface Warps {
  /** The CTA that runs: the one whose warps these are. */
  cta: [number, number, number];
  warps: Warp[];
  barriers: { number: number | null; arrived: number; expected: number }[];
  /** The CTAs that have begun, in the order of their begin, with the line that each was last at. */
  ctas: { cta: [number, number, number]; line: number; current: boolean }[];
}

export interface RegisterRow {
  name: string;
  /** The declared type, and the one that it is shown as. */
  type: string;
  shown: string;
  /** 32 of them; null for lanes that have no value (exited, or not in the same function). */
  bits: (Hex | null)[];
  text: (string | null)[];
  /** Whether the last instruction of this warp changed it. */
  changed: boolean;
}

export interface MemoryBlock {
  space: string;
  address: Hex;
  bytes: number;
  hex: string;
  /** The elements in the format that was asked for. */
  format: string;
  values: string[];
  /** Variables and buffers inside. */
  names: { name: string; offset: number; bytes: number; type: string | null }[];
}

export interface BufferState {
  name: string;
  parameter: number;
  format: string;
  address: Hex;
  count: number;
  values: string[];
  /** Which elements differ from what they were at first. */
  changed: number[];
  hex: string;
}

export interface Finding {
  sanitizer: string;
  message: string;
  range: Range | null;
  /** The other place of a race. */
  related: { range: Range; message: string }[];
  thread: { cta: [number, number, number]; thread: [number, number, number] } | null;
  other: { cta: [number, number, number]; thread: [number, number, number] } | null;
  count: number;
  notes: string[];
}

export interface LineStats {
  line: number;
  warp: number;
  thread: number;
  /** Of `run` alone: branches at which lanes parted; loads and stores of warps in `.global` with the sectors that they
   * touched; those in `.shared` with how many more times than without conflicts the banks were needed. */
  divergent?: number;
  requests?: number;
  sectors?: number;
  sharedRequests?: number;
  conflicts?: number;
}

export interface RunStats {
  warpInstructions: number;
  threadInstructions: number;
  ctas: number;
  /** By line (from 0) of the PTX: how many warps and threads executed it. */
  lines: LineStats[];
}

export interface RunResult {
  state: "done" | "fault" | "limit";
  fault: Fault | null;
  findings: Finding[];
  /** How many findings there are, of which the first are told. */
  findingsTotal: number;
  buffers: BufferState[];
  stats: RunStats;
  printed: string;
}

// ------------------------------------------------------------------------------------------------------------- numbers

export interface FormatField {
  name: string;
  /** One letter for drawings. */
  letter: string;
  bits: number;
}

export interface CodeValue {
  bits: Hex;
  value: Num;
}

export interface NumberFormat {
  name: string;
  bits: number;
  about: string;
  kind: "float" | "exponent" | "fixed" | "int";
  fields: FormatField[];
  formula: string;
  bias: number | null;
  signed: boolean;
  largest: CodeValue;
  least: CodeValue;
  leastNormal: CodeValue | null;
  leastPositive: CodeValue;
  infinity: CodeValue | null;
  nan: CodeValue | null;
  aliases: string[];
  landmarks: { name: string; bits: Hex; value: Num }[];
}

export interface Decoded {
  format: string;
  bits: Hex;
  /** As text, all digits that are needed. */
  text: string;
  value: Num;
  class: "zero" | "subnormal" | "normal" | "infinite" | "nan";
  /** The fields with their bits, from the top. */
  fields: { name: string; letter: string; bits: number; value: Hex }[];
  /** The neighbours on the number line, or null at its ends. */
  up: CodeValue | null;
  down: CodeValue | null;
  /** Distance to the next larger number. */
  ulp: Num | null;
}

export interface NumberLine {
  format: string;
  /** Whether these are all codes. */
  complete: boolean;
  /** Ascending by value, without NaNs. */
  values: { bits: Hex; value: Num; class: string }[];
}

export interface ConvertedElement {
  lane: number;
  format: string;
  from: string;
  source_bits: Hex;
  source: Num;
  bits: Hex;
  value: Num;
  outcome: string;
  error: Num | null;
  /** In words: `rounded up, error +12`. */
  words: string;
}

export interface Converted {
  form: string;
  syntax: string;
  about: string;
  operands: Record<string, unknown>[];
  result: { bits: Hex; elements: ConvertedElement[] };
  availability: { words: string; alternatives: { targets: string; since: string }[] };
}

export interface Explanation {
  code: string;
  severity: string;
  title: string;
  text: string;
  wrong: string;
  right: string;
}

export interface BlockElement {
  input: Num;
  bits: Hex;
  value: Num;
  /** Value after the scale is put back. */
  result: Num;
  error: Num;
  /** `exact`, `rounded_up`, `rounded_down`, `saturated`, `underflowed`, … */
  outcome: string;
}

export interface Block {
  /** The scale of the block: its code and value. */
  scale: { format: string; bits: Hex; value: Num };
  largest: Num;
  elements: BlockElement[];
}

export interface Blocks {
  format: string;
  element: string;
  blockSize: number;
  /** Of nvfp4: the scale of the whole tensor; else null. */
  tensorScale: Num | null;
  blocks: Block[];
  /** Over all elements: root mean square of the errors, largest error, elements that became zero, and saturated ones. */
  errors: { rms: Num; largest: Num; underflowed: number; saturated: number };
}

// ------------------------------------------------------------------------------------------------------------- tensors

/** A map file: `{"kind": "tiled", "type": "f16", "dims": [64, 64], "box": [64, 8], "swizzle": "128B"}` (docs/tensor.md). */
export type TensorMapSpec = Record<string, unknown>;

export interface TensorCopySpec {
  map: TensorMapSpec;
  target?: string;
  at?: number[];
  offsets?: number[];
  mode?: string;
  store?: boolean;
  reduce?: string;
  shared?: number;
}

export interface TensorFinding {
  code: string;
  severity: "error" | "warning";
  message: string;
  title: string | null;
  /** What would be right. */
  fix: string | null;
}

export interface TensorShow {
  legal: boolean;
  target: string;
  findings: TensorFinding[];
  /** A drawing, if the map is legal and the copy can be made. */
  svg: string | null;
  /** Why the copy cannot be made, though the map is legal. */
  refused: string | null;
  title: string | null;
  copiedBytes: number | null;
  /** The 128 bytes that the driver would make. */
  object: string | null;
  /** Bank conflicts of ways to read the tile. */
  conflicts: { pattern: string; words: string; wavefronts: number; ideal: number; unswizzled: number; worst: number }[];
}

export interface TensorElement {
  /** The place in the order of the copy. */
  order: number;
  /** Coordinates in the tensor, the fastest first. */
  coordinates: number[];
  /** Byte offset in global memory from the tensor's start; null if it is outside and filled. */
  global: number | null;
  /** Address in shared memory, swizzled, and without the swizzle. */
  shared: number;
  plain: number;
  /** The bank (0 to 31) of its first byte. */
  bank: number;
  bytes: number;
  /** The row, pixel or slice of the copy, and how many elements along dimension 0 this stands for. */
  row: number;
  elements: number;
}

export interface TensorWalk {
  title: string;
  elementBits: number;
  total: number;
  rows: number;
  rowBytes: number;
  pitch: number;
  elements: TensorElement[];
}

export interface TmemCell {
  lane: number;
  column: number;
  /** Of `16x32bx2`: whether it is in the second part, from the offset on. */
  second: boolean;
  /** The thread of the warp and its register. */
  thread: number;
  register: number;
  /** First bit of the cell's part in the register, and how many. */
  bit: number;
  bits: number;
}

export interface TensorTmem {
  shape: string;
  lanes: number;
  columns: number;
  registers: number;
  cells: TmemCell[];
  /** The table of `softwarp tensor show --tmem`. */
  text: string;
}

// --------------------------------------------------------------------------------------------------------------- calls

/** A format, an instruction or `continue` step. */
export interface StepSpec {
  launch: number;
  /**
   * `instruction`: the thread in focus; `warp`: any lanes of its warp; `any`: whichever warp is next; `line`: to another line
   * of the PTX; `continue`: to a breakpoint; `run`: to the end, without breakpoints; `finish`: out of a call.
   */
  by: "instruction" | "warp" | "any" | "line" | "continue" | "run" | "finish";
  /** How many steps (default 1). */
  count?: number;
  /** Whether calls are one step. */
  over?: boolean;
  /** The most instructions of warps that this call executes beyond the present moment (default 200000). */
  max?: number;
  /** Whether to tell the steps (at most 4096, the last ones). */
  trace?: boolean;
}

/** Every call: what it takes, and what it answers. A request is `{ call: name, ...what it takes }`. */
export interface Calls {
  version: [Record<string, never>, { version: string; calls: string[]; ptx: string; targets: string[]; formats: string[]; sanitizers: string[] }];

  check: [{ text: string; strict?: boolean; arch?: string }, { diagnostics: Diagnostic[]; errors: number; warnings: number }];
  hover: [{ text: string; position: Position }, Hover | null];
  complete: [{ text: string; position: Position }, Completion[]];
  signature: [{ text: string; position: Position }, SignatureHelp | null];
  format: [{ text: string }, { text: string; changed: boolean }];
  symbols: [{ text: string }, DocumentSymbol[]];
  tokens: [{ text: string }, SemanticToken[]];
  definition: [{ text: string; position: Position }, Range[]];
  references: [{ text: string; position: Position }, Range[]];
  rename: [{ text: string; position: Position; name: string }, TextEdit[]];
  layout: [{ text: string; bases?: boolean }, { layout: Layout; svg: string }];
  lower: [{ text: string; kernel?: string }, { kernels: LoweredKernel[] }];
  kernels: [{ text: string }, Kernel[]];

  run: [LaunchSpec<ArgumentSpec | TensorArgument>, RunResult];
  "launch.start": [LaunchSpec<ArgumentSpec | TensorArgument> & { breakpoints?: number[] }, LaunchStatus];
  "launch.step": [StepSpec, LaunchStatus & { steps?: Step[] }];
  /** Goes back: to the stop before this one that the same step forward would have made. */
  "launch.back": [StepSpec, LaunchStatus];
  /** Goes to a moment, forward or back. */
  "launch.goto": [{ launch: number; moment: number }, LaunchStatus];
  "launch.status": [{ launch: number }, LaunchStatus];
  /** Breakpoints by line (from 0), all at once. `set` says on which line each is: the next one with an instruction. */
  "launch.breakpoints": [
    { launch: number; lines: (number | { line: number; condition?: string })[] },
    { set: { line: number; number: number }[]; refused: { line: number; message: string }[] },
  ];
  /** The thread that steps are about. */
  "launch.focus": [{ launch: number; warp?: number; lane?: number }, LaunchStatus];
  "launch.warps": [{ launch: number }, Warps];
  "launch.registers": [{ launch: number; warp?: number }, { warp: number; live: number; registers: RegisterRow[] }];
  "launch.memory": [
    {
      launch: number;
      space: "shared" | "global" | "local" | "const" | "param";
      /** From the start of the CTA's shared memory, or of the thread's local memory; absolute for global and const. */
      address?: Hex | number;
      /** Or the name of a buffer or variable. */
      name?: string;
      bytes?: number;
      format?: string;
    },
    MemoryBlock,
  ];
  "launch.buffers": [{ launch: number }, BufferState[]];
  "launch.evaluate": [{ launch: number; expression: string }, { text: string }];
  "launch.stats": [{ launch: number }, RunStats];
  "launch.end": [{ launch: number }, null];

  formats: [Record<string, never>, NumberFormat[]];
  "number.decode": [{ format: string; bits?: Hex; text?: string }, Decoded];
  "number.line": [{ format: string; most?: number }, NumberLine];
  "number.svg": [{ format: string }, { svg: string }];
  /** One form on operands as `softwarp cvt` takes them. */
  "number.cvt": [{ form: string; values: string[] }, Converted];
  /** Forms from one format to another; all if none are named. */
  "number.forms": [{ from?: string; to?: string }, { form: string; syntax: string; about: string }[]];
  /** One value by every form between two formats, side by side. */
  "number.compare": [{ from: string; to: string; value: string }, { form: string; about: string; element: ConvertedElement }[]];
  /** A code of a diagnostic: what it means. */
  "number.explain": [{ code: string }, Explanation];
  explain: [{ code: string }, Explanation];
  "number.blocks": [
    { format: string; values: Num[]; scaleRule?: "floor" | "nearest" | "even" | "amax"; rounding?: "nearest" | "zero" },
    Blocks,
  ];

  "tensor.show": [TensorCopySpec, TensorShow];
  "tensor.walk": [TensorCopySpec & { most?: number }, TensorWalk];
  "tensor.tmem": [{ shape: string }, TensorTmem];
}

export type CallName = keyof Calls;
export type CallArguments<N extends CallName> = Calls[N][0];
export type CallResult<N extends CallName> = Calls[N][1];
export type Request<N extends CallName = CallName> = { call: N } & CallArguments<N>;
