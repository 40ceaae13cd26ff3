// The engine of the page, in Node.

import { readFileSync } from "node:fs";

export const ROOT = new URL("../../../", import.meta.url);
const built = new URL("target/browser/engine/", ROOT);

const engine = await import(new URL("engine.js", built));
engine.initSync({ module: readFileSync(new URL("engine_bg.wasm", built)) });

export { engine };
