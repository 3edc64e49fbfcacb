// PTX for CodeMirror: the words of the TextMate grammar in editors/vscode as a stream of tokens.
import { HighlightStyle, LanguageSupport, StreamLanguage, syntaxHighlighting } from "@codemirror/language";
import { tags } from "@lezer/highlight";

const spaces = /^\.(?:visible|extern|weak|common|reg|sreg|const|global|local|param|shared|tex|align|ptr|attribute|managed|unified)(?![\w:])/;
const directives = /^\.(?:version|target|address_size|file|loc|section|alias|pragma|maxntid|reqntid|minnctapersm|maxnctapersm|maxnreg|noreturn|explicitcluster|reqnctapercluster|maxclusterrank|branchtargets|calltargets|callprototype|abi_preserve|abi_preserve_control|entry|func)\b/;
const types = /^\.(?:[busf](?:8|16|32|64|128)|[us](?:8x4|16x2)|f16x2|bf16(?:x2)?|tf32(?:x2)?|e4m3(?:x[24])?|e5m2(?:x[24])?|e2m1(?:x[24])?|e2m3(?:x[24])?|e3m2(?:x[24])?|ue8m0(?:x2)?|s2f6(?:x2)?|f32x2|pred|texref|samplerref|surfref)\b/;
const special = /^%(?:(?:n?tid|n?ctaid|cluster_n?ctaid|n?clusterid)(?:\.[xyzw])?|laneid|n?warpid|n?smid|gridid|is_explicit_cluster|cluster_n?ctarank|lanemask_(?:eq|le|lt|ge|gt)|clock(?:_hi|64)?|globaltimer(?:_lo|_hi)?|envreg\d+|pm\d(?:_64)?|total_smem_size|aggr_smem_size|dynamic_smem_size|current_graph_exec)\b/;
const numbers = /^(?:0[fF][0-9A-Fa-f]{8}|0[dD][0-9A-Fa-f]{16}|\d+\.\d*(?:[eE][+-]?\d+)?|0[xX][0-9A-Fa-f]+U?|0[bB][01]+U?|\d+U?)\b/;
const constants = /^(?:WARP_SZ|sm_\d+[af]?|texmode_unified|texmode_independent|map_f64_to_f32)\b/;

interface State {
  comment: boolean;
  /** Whether a statement begins here, so that a word is an instruction or a label. */
  start: boolean;
  /** Whether this is behind `=`, so that braces hold initialisers. */
  value: boolean;
  /** Whether the mnemonic goes on, so that words behind dots are its modifiers. */
  mnemonic: boolean;
}

const ptx = StreamLanguage.define<State>({
  name: "ptx",
  languageData: { commentTokens: { line: "//", block: { open: "/*", close: "*/" } } },
  startState: () => ({ comment: false, start: true, value: false, mnemonic: false }),
  token(stream, state) {
    if (state.comment) {
      if (stream.skipTo("*/")) {
        stream.match("*/");
        state.comment = false;
      } else stream.skipToEnd();
      return "comment";
    }
    if (stream.eatSpace()) {
      state.mnemonic = false;
      return null;
    }
    if (stream.match("//")) {
      stream.skipToEnd();
      return "comment";
    }
    if (stream.match("/*")) {
      state.comment = true;
      return "comment";
    }
    if (stream.match(/^"[^"]*"?/)) return "string";
    if (stream.match(/^[;{}]/)) {
      if (stream.current() === ";") state.value = false;
      state.start = !state.value;
      return "punctuation";
    }
    if (stream.match(/^=(?!=)/)) {
      state.value = true;
      return "operator";
    }
    if (stream.match(/^@!?/)) return "operatorKeyword";
    if (stream.match(special)) return "special";
    if (stream.match(/^%[\w$]+/)) return "register";
    if (state.mnemonic && stream.match(/^\.[A-Za-z0-9_]+(?:::[\w]+)*/)) {
      return types.test(stream.current()) ? "typeName" : "modifier";
    }
    if (stream.match(directives)) {
      state.start = false;
      return "keyword";
    }
    if (stream.match(types)) return "typeName";
    if (stream.match(spaces)) {
      state.start = false;
      return "storage";
    }
    if (stream.match(/^\.[A-Za-z_]\w*(?:::\w+)*/)) return "modifier";
    if (stream.match(constants)) return "constant";
    if (stream.match(numbers)) return "number";
    if (stream.match(/^[$_A-Za-z][\w$]*/)) {
      if (state.start) {
        if (stream.match(/^\s*:(?!:)/, false)) return "labelName";
        state.start = false;
        state.mnemonic = true;
        return "instruction";
      }
      return "variableName";
    }
    if (stream.match(":")) {
      state.start = true;
      return "punctuation";
    }
    stream.next();
    return "operator";
  },
  tokenTable: {
    instruction: tags.controlKeyword,
    modifier: tags.attributeName,
    register: tags.local(tags.variableName),
    special: tags.standard(tags.variableName),
    storage: tags.modifier,
    constant: tags.constant(tags.variableName),
  },
});

const style = HighlightStyle.define([
  { tag: tags.comment, color: "var(--code-comment)", fontStyle: "italic" },
  { tag: tags.keyword, color: "var(--code-directive)" },
  { tag: tags.modifier, color: "var(--code-directive)" },
  { tag: tags.controlKeyword, color: "var(--code-instruction)", fontWeight: "600" },
  { tag: tags.attributeName, color: "var(--code-modifier)" },
  { tag: tags.typeName, color: "var(--code-type)" },
  { tag: tags.local(tags.variableName), color: "var(--code-register)" },
  { tag: tags.standard(tags.variableName), color: "var(--code-special)" },
  { tag: tags.constant(tags.variableName), color: "var(--code-number)" },
  { tag: tags.number, color: "var(--code-number)" },
  { tag: tags.string, color: "var(--code-number)" },
  { tag: tags.labelName, color: "var(--code-label)", fontWeight: "600" },
  { tag: tags.operatorKeyword, color: "var(--code-label)" },
]);

export function ptxLanguage(): LanguageSupport {
  return new LanguageSupport(ptx, [syntaxHighlighting(style)]);
}
