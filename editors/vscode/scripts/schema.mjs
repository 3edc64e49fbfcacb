// Copies the schema of launch files, which the documentation has, into the extension.
import { copyFileSync, mkdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
mkdirSync(join(here, "../schemas"), { recursive: true });
copyFileSync(
  join(here, "../../../docs/launch-file.schema.json"),
  join(here, "../schemas/launch-file.schema.json"),
);
