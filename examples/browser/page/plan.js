// The plan: for each set what changes, its timeline, and where its rollout stops.

import { element } from "./element.js";
import { rowsOf, tableOf } from "./timeline.js";

// Draws all objects of a plan. `toggle` changes the pods that never become ready, and `addNode` adds a node.
export function planView(parent, toggle, addNode) {
  const at = new Map();

  function show({ objects, unknown = [] }, words, neverReady, failures) {
    const focused = parent.contains(document.activeElement) ? document.activeElement.dataset.key : undefined;
    const notes = [...failures, ...unknown.map((id) => `${id}, because something could not be read`)];
    const lines = notes.map((note) => element("p", { className: "problem", textContent: note }));
    const drawn = objects.map((object, i) => objectOf(object, words[i], neverReady));
    if (drawn.length === 0) {
      const text = "A plan shows what the controllers of DaemonSets and StatefulSets will do, pod by pod.";
      drawn.push(element("div", { className: "empty" }, element("h3", { textContent: "Nothing to plan yet" }), element("p", { textContent: text })));
    }
    parent.replaceChildren(...lines, ...drawn);
    if (focused) parent.querySelector(`[data-key=${CSS.escape(focused)}]`)?.focus();
  }

  function objectOf(plan, { settings, change, rollout, end }, neverReady) {
    const { object, summary, steps } = plan;
    const id = `${object.kind} ${object.namespace}/${object.name}`;
    const needsNodes = object.kind === "DaemonSet" && steps.length === 0 && plan.change !== "none";
    const button = element("button", { type: "button", textContent: "Add a node to see the waves" });
    button.addEventListener("click", addNode);
    const hasPicture = summary.waves > 0 || summary.stopsAt;
    const told = element("ul", { className: "lines" }, ...rollout.map(lineOf));
    const folded = element("details", {}, element("summary", { textContent: "In words" }), told);
    return element(
      "section",
      { ariaLabel: `Plan of ${id}`, className: "set" },
      element("h3", { textContent: id }),
      element("p", { className: "hint", textContent: settings }),
      element("ul", { className: "lines" }, ...change.map(lineOf)),
      ...(hasPicture ? timeline(id, plan, neverReady) : []),
      ...(needsNodes ? [button] : []),
      hasPicture ? folded : told,
      element("ul", { className: "lines end" }, ...end.map(lineOf)),
    );
  }

  function timeline(id, { object, steps, summary }, neverReady) {
    const rows = rowsOf(steps, summary.stopsAt, neverReady);
    const picture = tableOf(rows, summary, object.kind, (row) => {
      const is = neverReady.includes(row.name);
      const name = button(row.name, is ? `${row.name} ✕` : row.name, () => toggle(row.name));
      name.setAttribute("aria-pressed", String(is));
      name.setAttribute("aria-label", `${row.name} never becomes ready`);
      return name;
    });
    picture.table.setAttribute("aria-label", `Pods and waves of ${id}`);
    const { waves } = summary;

    function button(key, text, run) {
      const made = element("button", { type: "button", textContent: text });
      made.dataset.key = `${id} ${key}`;
      made.addEventListener("click", run);
      return made;
    }
    const step = (wave) => {
      at.set(id, wave);
      go(wave);
    };
    let now = 0;
    const back = button("back", "‹", () => step(now - 1));
    const next = button("next", "›", () => step(now + 1));
    [back.ariaLabel, next.ariaLabel] = ["Back", "Next"];
    const slider = element("input", { type: "range", min: 0, max: waves, step: 1, ariaLabel: `Wave of ${id}` });
    slider.dataset.key = `${id} wave`;
    slider.addEventListener("input", () => step(Number(slider.value)));
    const said = element("span", { role: "status" });
    function go(wave) {
      now = Math.max(0, Math.min(waves, wave));
      slider.value = now;
      [back.disabled, next.disabled] = [now === 0, now === waves];
      said.textContent = `Wave ${now} of ${waves}: ${picture.show(now)}`;
    }
    go(at.get(id) ?? 0);

    const asks = [];
    if (steps.some((it) => it.pod !== null && it.action === "create")) {
      const broken = button("new", "All new pods", () => toggle("new"));
      broken.setAttribute("aria-pressed", String(neverReady.includes("new")));
      asks.push(element("p", { className: "hint" }, "What if a pod never becomes ready? Choose it, or ", broken));
    }
    const left = picture.left ? [element("p", { className: "hint", textContent: picture.left })] : [];
    return [
      element("div", { className: "steps" }, back, slider, next, said),
      element("div", { className: "timeline", tabIndex: 0, role: "region", ariaLabel: `Timeline of ${id}` }, picture.table),
      ...left,
      ...asks,
    ];
  }

  // Forgets the waves to which a visitor has stepped.
  return { show, forget: () => at.clear() };
}

// A line of the plan as the command line prints it: pieces with a tone. Commands are code.
function lineOf(pieces) {
  const parts = pieces.map(([tone, text]) => {
    const words = text.split(/`([^`]+)`|(kubectl .*?)(?=, |; |$)/).map((it, i) => (it && i % 3 > 0 ? element("code", { textContent: it }) : it));
    return element("span", { className: `tone-${tone}` }, ...words.filter(Boolean));
  });
  return element("li", {}, ...parts);
}
