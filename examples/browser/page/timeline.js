// The plan, drawn as pods in rows and waves in columns, and stepped wave by wave.

import { element } from "./element.js";

const SHOWN = { create: "created", delete: "deleted", replace: "replaced", keep: "left alone" };
const MARKS = { create: "+", delete: "−", replace: "↻", keep: "=" };

// The most pods and waves that are drawn.
const [PODS, WAVES] = [200, 100];

// Returns the rows of an object: each pod with what happens to it in which wave.
export function rowsOf(steps) {
  const rows = new Map();
  for (const { pod, node, count, candidates, wave, action, revision, claims } of steps) {
    const name = pod ?? node ?? `${count} of ${some(candidates)}`;
    // Where the controller chooses the nodes, those of each wave are others.
    const key = pod ?? node ?? `wave ${wave}`;
    const row = rows.get(key) ?? { name, isPod: pod !== null, waves: new Map() };
    rows.set(key, row);
    const before = row.waves.get(wave);
    const both = before && before.action !== action ? "replace" : action;
    const claimsOf = (which) => [...(before?.claims[which] ?? []), ...claims[which]];
    row.waves.set(wave, {
      action: both,
      revision: action === "create" || !before ? revision : before.revision,
      claims: { created: claimsOf("created"), deleted: claimsOf("deleted") },
    });
  }
  const number = ({ name }) => Number(/-(\d+)$/.exec(name)?.[1] ?? 0);
  const all = [...rows.values()];
  return all.every(({ isPod }) => isPod) ? all.sort((a, b) => number(b) - number(a)) : all;
}

function some(candidates) {
  if (!candidates) return "the nodes";
  return candidates.length > 5 ? `${candidates.length} nodes` : candidates.join(", ");
}

// Draws all objects of a plan. `neverReady` are pods, and `toggle` changes that.
export function planView(parent, toggle) {
  const at = new Map();

  function show({ objects, unknown = [] }, neverReady, failures) {
    const focused = parent.contains(document.activeElement) ? document.activeElement.dataset.key : undefined;
    const notes = [...failures, ...unknown.map((id) => `${id}, because something could not be read`)];
    const lines = notes.map((note) => element("p", { className: "problem", textContent: note }));
    const drawn = objects.map((object) => objectOf(object, neverReady));
    if (drawn.length === 0) drawn.push(element("p", { textContent: "No DaemonSet and no StatefulSet." }));
    parent.replaceChildren(...lines, ...drawn);
    if (focused) parent.querySelector(`[data-key=${CSS.escape(focused)}]`)?.focus();
  }

  function objectOf(plan, neverReady) {
    const { object, change, findings = [], changes, summary, notes = [] } = plan;
    const id = `${object.kind} ${object.namespace}/${object.name}`;
    const item = (text) => element("li", { textContent: text });
    const facts = [
      ...changes.map(({ field, old, new: now }) => `${field}: ${old ?? "not set"} → ${now ?? "not set"}`),
      ...findings.map(({ rule, field, message }) => `refused: ${field}: ${message} (${rule})`),
      ...notes,
      `at most ${summary.atMostUnavailable} unavailable; at least ${summary.atLeastSeconds} s`,
      ...(summary.stopsAt ? [`stops at ${summary.stopsAt}: ${summary.why}`] : []),
      ...(!summary.stopsAt && summary.why ? [summary.why] : []),
    ];
    return element(
      "section",
      { ariaLabel: `Plan of ${id}` },
      element("h3", { textContent: `${id}: ${change}` }),
      element("ul", {}, ...facts.map(item)),
      ...(plan.steps.length > 0 ? timeline(id, plan, neverReady) : []),
    );
  }

  function timeline(id, { object, steps, summary }, neverReady) {
    const all = rowsOf(steps);
    const rows = all.slice(0, PODS);
    const waves = Math.min(summary.waves, WAVES);
    let now = Math.min(at.get(id) ?? waves, waves);

    const button = (key, text, run) => {
      const made = element("button", { type: "button", textContent: text });
      made.dataset.key = `${id} ${key}`;
      made.addEventListener("click", run);
      return made;
    };
    const step = (wave) => {
      go(wave);
      at.set(id, now);
    };
    const back = button("back", "◀ Back", () => step(now - 1));
    const next = button("next", "Next ▶", () => step(now + 1));
    const slider = element("input", { type: "range", min: 0, max: waves, step: 1, ariaLabel: `Wave of ${id}` });
    slider.addEventListener("input", () => step(Number(slider.value)));
    const said = element("span", { role: "status" });
    const broken = button("new", "New pods never become ready", () => toggle("new"));
    broken.setAttribute("aria-pressed", String(neverReady.includes("new")));

    const cells = rows.map((row) => {
      const is = neverReady.includes(row.name);
      let name = row.name;
      if (row.isPod) {
        name = button(row.name, is ? `${row.name} ✕` : row.name, () => toggle(row.name));
        name.setAttribute("aria-pressed", String(is));
        name.setAttribute("aria-label", `${row.name} never becomes ready`);
        name.title = "Click: this pod never becomes ready";
      }
      const head = element("th", { scope: "row" }, name);
      const states = element("td", {});
      const drawn = Array.from({ length: waves }, (_, i) => cellOf(row.waves.get(i + 1), summary.stopsAt === row.name));
      return { row, states, drawn, line: element("tr", {}, head, states, ...drawn) };
    });
    const heads = Array.from({ length: waves }, (_, i) => element("th", { scope: "col", textContent: i + 1, ariaLabel: `Wave ${i + 1}` }));
    const first = [element("th", { scope: "col", textContent: object.kind === "DaemonSet" ? "Node" : "Pod" }), element("th", { scope: "col", textContent: "Now" })];
    const table = element(
      "table",
      { className: "timeline" },
      element("thead", {}, element("tr", {}, ...first, ...heads)),
      element("tbody", {}, ...cells.map(({ line }) => line)),
    );
    table.setAttribute("aria-label", `Pods and waves of ${id}`);

    function go(wave) {
      now = Math.max(0, Math.min(waves, wave));
      slider.value = now;
      [back.disabled, next.disabled] = [now === 0, now === waves];
      for (const { row, states, drawn } of cells) {
        const [text, look] = stateAt(row, now, neverReady);
        [states.textContent, states.className] = [text, look];
        drawn.forEach((cell, i) => {
          cell.classList.toggle("later", i >= now);
          cell.classList.toggle("now", i === now - 1);
        });
      }
      said.textContent = `Wave ${now} of ${waves}${happens(rows, now)}`;
    }
    go(now);
    const more = all.length > rows.length || summary.waves > waves;
    const left = more ? [element("p", { className: "hint", textContent: `Drawn: ${rows.length} of ${all.length} pods, ${waves} of ${summary.waves} waves.` })] : [];
    return [
      element("div", { className: "steps" }, back, slider, next, said),
      element("div", { className: "steps" }, broken),
      element("div", { className: "scroll", tabIndex: 0, role: "region", ariaLabel: `Timeline of ${id}` }, table),
      ...left,
    ];
  }

  // Forgets the waves to which a user has stepped.
  return { show, forget: () => at.clear() };
}

function cellOf(step, stops) {
  const cell = element("td");
  if (!step) return cell;
  const { action, claims } = step;
  const lost = claims.deleted.length > 0;
  const facts = [
    SHOWN[action],
    claims.created.length > 0 && `claims created: ${claims.created.join(", ")}`,
    lost && `claims deleted: ${claims.deleted.join(", ")}`,
    stops && "the rollout stops here",
  ];
  cell.className = lost || stops ? "lost" : action;
  cell.title = facts.filter(Boolean).join("; ");
  cell.append(
    element("span", { textContent: stops ? "✕" : MARKS[action], ariaHidden: "true" }),
    element("span", { className: "for-readers", textContent: cell.title }),
  );
  return cell;
}

// Returns the state of a pod after a wave, and how it looks.
function stateAt({ name, waves }, now, neverReady) {
  const done = [...waves].filter(([wave]) => wave <= now).sort(([a], [b]) => a - b);
  const last = done.at(-1)?.[1];
  if (!last) {
    const first = [...waves].sort(([a], [b]) => a - b)[0][1];
    return first.action === "create" ? ["–", ""] : ["old", "keep"];
  }
  const isNew = last.action === "create" || last.action === "replace";
  if (isNew && (neverReady.includes(name) || (neverReady.includes("new") && last.revision === "new"))) {
    return ["not ready", "lost"];
  }
  if (last.action === "delete") return ["gone", "delete"];
  return [last.revision, isNew ? last.action : "keep"];
}

function happens(rows, wave) {
  const all = rows.flatMap(({ name, waves }) => {
    const step = wave > 0 && waves.get(wave);
    return step ? [`${name} ${SHOWN[step.action]}`] : [];
  });
  const shown = all.slice(0, 5).join(", ") + (all.length > 5 ? ` and ${all.length - 5} more` : "");
  return all.length > 0 ? `: ${shown}` : "";
}
