// Builds the page to dist/: one script, one style, the engine, and the licences of what is in them.
//
//   node build.mjs [--watch]
//
// ENGINE is the engine's file (../target/web/softwarp.wasm).
import { build, context } from "esbuild";
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";

const here = dirname(fileURLToPath(import.meta.url));
const dist = join(here, "dist");
const engine = resolve(process.env.ENGINE ?? join(here, "../target/web/softwarp.wasm"));

const shared = {
  bundle: true,
  minify: true,
  target: "es2022",
  legalComments: "none",
  logLevel: "warning",
};

/** `import code from "worker:x.ts"` gives the bundled worker as text, so that pages from files can start it. */
const workers = {
  name: "workers",
  setup(setup) {
    setup.onResolve({ filter: /^worker:/ }, ({ path }) => ({ path: path.slice(7), namespace: "worker" }));
    setup.onLoad({ filter: /.*/, namespace: "worker" }, async ({ path }) => {
      const file = join(here, "src", path);
      const made = await build({ ...shared, entryPoints: [file], format: "iife", write: false });
      return { contents: made.outputFiles[0].text, loader: "text", watchFiles: [file] };
    });
  },
};

/** The licences of the packages that are in the script. */
function licences(metafile) {
  const packages = new Set();
  for (const input of Object.keys(metafile.inputs)) {
    const found = /node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(input);
    if (found) packages.add(found[1]);
  }
  let text = "The page has softwarp (MIT OR Apache-2.0), these packages and these crates.\n";
  const put = (title, file) => { text += `\n${"-".repeat(80)}\n${title}\n\n${readFileSync(file, "utf8").trim()}\n`; };
  for (const name of [...packages].sort()) {
    const folder = join(here, "node_modules", name);
    const about = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
    const file = ["LICENSE", "LICENSE.md", "LICENCE", "license"].map((f) => join(folder, f)).find(existsSync);
    if (!file) throw new Error(`${name} has no licence file`);
    put(`${name} ${about.version} (${about.license})`, file);
  }
  // tools/explorer.sh puts those of the engine's crates beside the engine.
  const crates = join(dirname(engine), "licences");
  for (const crate of existsSync(crates) ? readdirSync(crates).sort() : []) {
    for (const file of readdirSync(join(crates, crate)).sort()) put(`crate ${crate}, ${file}`, join(crates, crate, file));
  }
  return text;
}

function putEngine() {
  if (!existsSync(engine)) throw new Error(`there is no ${engine}: build it with tools/web.sh, or name it by ENGINE`);
  const packed = gzipSync(readFileSync(engine), { level: 9 });
  writeFileSync(join(dist, "engine.bin"), packed);
  writeFileSync(join(dist, "engine.js"), `softwarpEngine="${packed.toString("base64")}";\n`);
}

rmSync(dist, { recursive: true, force: true });
mkdirSync(dist, { recursive: true });
const options = {
  ...shared,
  entryPoints: { explorer: join(here, "src/main.ts"), style: join(here, "src/style/all.css") },
  outdir: dist,
  format: "iife",
  loader: { ".ptx": "text" },
  metafile: true,
  plugins: [workers],
};
putEngine();
cpSync(join(here, "index.html"), join(dist, "index.html"));
if (process.argv.includes("--watch")) {
  await (await context(options)).watch();
} else {
  const made = await build(options);
  writeFileSync(join(dist, "licences.txt"), licences(made.metafile));
}
