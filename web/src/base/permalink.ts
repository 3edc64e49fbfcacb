// The page's state in the fragment of its address: JSON, compressed by deflate, in base64 for addresses.
// A fragment is not sent to a server.

const prefix = "#1.";

async function through(bytes: Uint8Array<ArrayBuffer>, stream: CompressionStream | DecompressionStream): Promise<Uint8Array> {
  const out = new Blob([bytes]).stream().pipeThrough(stream);
  return new Uint8Array(await new Response(out).arrayBuffer());
}

/** The fragment that stands for `state`, with the `#`. */
export async function encodeState(state: unknown): Promise<string> {
  const text = new TextEncoder().encode(JSON.stringify(state));
  const packed = await through(text, new CompressionStream("deflate-raw"));
  let binary = "";
  for (const byte of packed) binary += String.fromCharCode(byte);
  return prefix + btoa(binary).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
}

/** The state of a fragment; null where there is none, or it is damaged. */
export async function decodeState(fragment: string): Promise<unknown> {
  if (!fragment.startsWith(prefix)) return null;
  try {
    const base64 = fragment.slice(prefix.length).replaceAll("-", "+").replaceAll("_", "/");
    const packed = Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
    const text = await through(packed, new DecompressionStream("deflate-raw"));
    return JSON.parse(new TextDecoder().decode(text)) as unknown;
  } catch {
    return null;
  }
}

/** Whether a value is of the same kind: a word, a number, or a list of numbers; with `words`, also of words. */
function alike(value: unknown, like: unknown, words = false): boolean {
  if (!Array.isArray(like)) return typeof value === typeof like && value !== null && !Array.isArray(value);
  return Array.isArray(value) && value.every((one) => typeof one === "number" || (typeof one === "string" && words));
}

/** What a link gives, as far as it has the shape of `like`; parts that it lacks or that are damaged are those of `like`. */
export function conform<T extends object>(value: unknown, like: T): T {
  if (typeof value !== "object" || value === null) return like;
  const given = value as Record<string, unknown>;
  const made: Record<string, unknown> = {};
  for (const [key, usual] of Object.entries(like)) {
    const nested = typeof usual === "object" && usual !== null && !Array.isArray(usual);
    made[key] = nested ? conform(given[key], usual as object) : alike(given[key], usual, key === "values") ? given[key] : usual;
  }
  return made as T;
}
