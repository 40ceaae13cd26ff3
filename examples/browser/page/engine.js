// The engine: setguard, compiled to WebAssembly.

import init, { check, explain, fix, plan, releases } from "engine/engine.js";
import wasm from "engine/engine_bg.wasm";

const loaded = init({ module_or_path: new URL(wasm, import.meta.url) });

export const engine = {
  loaded,
  releases,
  fix: (manifests, inputs) => fix(manifests, JSON.stringify(inputs)),
  check: (manifests, inputs) => JSON.parse(check(manifests, JSON.stringify(inputs))),
  plan: (manifests, inputs) => JSON.parse(plan(manifests, JSON.stringify(inputs))),
  explain: (rule) => JSON.parse(explain(rule) ?? "null"),
};
