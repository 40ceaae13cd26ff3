// The table of nodes.

import { element } from "./element.js";

const COLUMNS = [
  ["name", "Name"],
  ["labels", "Labels"],
  ["taints", "Taints"],
];

// Shows the nodes, and calls `changed` with all of them after each change.
export function nodeTable(table, addButton, changed) {
  const body = table.tBodies[0];
  let nodes = [];

  function row(node) {
    const cells = COLUMNS.map(([key, title]) => {
      const input = element("input", { value: node[key], ariaLabel: title, spellcheck: false });
      input.autocapitalize = "none";
      input.addEventListener("input", () => {
        node[key] = input.value;
        changed(nodes);
      });
      return element("td", {}, input);
    });
    const remove = element("button", { type: "button", textContent: "×" });
    remove.setAttribute("aria-label", `Remove the node ${node.name}`);
    remove.addEventListener("click", () => {
      show(nodes.filter((other) => other !== node));
      addButton.focus();
      changed(nodes);
    });
    return element("tr", {}, ...cells, element("td", {}, remove));
  }

  function show(given) {
    nodes = given;
    body.replaceChildren(...nodes.map(row));
  }

  addButton.addEventListener("click", () => {
    show([...nodes, { name: `node-${nodes.length + 1}`, labels: "", taints: "" }]);
    body.lastElementChild.querySelector("input").focus();
    changed(nodes);
  });
  return { show };
}

// Returns the nodes as manifests.
export function manifestsOf(nodes) {
  const named = nodes.filter(({ name }) => name.trim() !== "");
  return named.length === 0 ? "" : JSON.stringify({ apiVersion: "v1", kind: "List", items: named.map(manifest) });
}

function manifest({ name, labels, taints }) {
  const words = (text) => text.split(/[\s,]+/).filter((word) => word !== "");
  const pair = (text) => [text.split("=", 1)[0], text.slice(text.split("=", 1)[0].length + 1)];
  const taint = (text) => {
    const [before, effect = "NoSchedule"] = text.split(":");
    const [key, value] = pair(before);
    return value === "" ? { key, effect } : { key, value, effect };
  };
  return {
    apiVersion: "v1",
    kind: "Node",
    metadata: {
      name: name.trim(),
      labels: { "kubernetes.io/hostname": name.trim(), "kubernetes.io/os": "linux", ...Object.fromEntries(words(labels).map(pair)) },
    },
    spec: { taints: words(taints).map(taint) },
    status: { conditions: [{ type: "Ready", status: "True" }] },
  };
}
