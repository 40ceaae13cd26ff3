// The timeline of a set: a row for each pod, a column for each wave.

import { element } from "./element.js";

// The most pods and waves that are drawn.
const [PODS, WAVES] = [40, 20];
const BROKEN = { text: "never ready", look: "lost" };

// Returns a row for each pod, with its cells: how it is now, what each wave does to it, and how it is then.
export function rowsOf(steps, stopsAt, neverReady) {
  const rows = new Map();
  for (const step of steps) {
    const isChance = step.count !== undefined;
    const name = step.pod ?? step.node ?? `any of ${step.candidates?.length ?? "the"} nodes`;
    const key = isChance ? "" : name;
    const row = rows.get(key) ?? { name, isPod: step.pod !== null, isChance, events: new Map(), kept: null };
    rows.set(key, row);
    if (step.action === "keep") row.kept = step.revision;
    else row.events.set(step.wave, [...(row.events.get(step.wave) ?? []), step]);
  }
  const all = [...rows.values()];
  const hasTwo = new Set(steps.map((it) => it.revision)).size > 1;
  for (const row of all) {
    row.stops = row.name === stopsAt;
    row.hasTwo = hasTwo;
    row.isBroken = neverReady.includes(row.name) ? () => true : (revision) => neverReady.includes("new") && revision === "new";
  }
  // What happens first is above, and what stays is below, as the controller counts: from the last pod.
  const number = ({ name }) => Number(/-(\d+)$/.exec(name)?.[1] ?? 0);
  const first = ({ events }) => Math.min(...events.keys());
  return all.sort((a, b) => (first(a) === first(b) ? Number(a.isPod) * (number(b) - number(a)) : first(a) - first(b)));
}

// What the steps of a wave do to a pod.
function eventOf(steps) {
  const of = (action) => steps.filter((it) => it.action === action);
  const [created, deleted] = [of("create"), of("delete")];
  const claims = { created: created.flatMap((it) => it.claims.created), deleted: deleted.flatMap((it) => it.claims.deleted) };
  const sum = (all) => all.reduce((total, it) => total + (it.count ?? 1), 0);
  const [more, less] = [sum(created), sum(deleted)];
  const look = less === 0 ? "created" : more === 0 ? "deleted" : "replaced";
  const most = Math.max(more, less);
  const what = more > 0 && less > 0 && more !== less ? `−${less} +${more}` : `${most > 1 ? `${most} ` : ""}${look}`;
  const facts = [
    what,
    claims.created.length > 0 && `with the claim ${claims.created.join(", ")}`,
    claims.deleted.length > 0 && `and the claim ${claims.deleted.join(", ")} is deleted`,
  ];
  const marks = [claims.created.length > 0 && "+ claim", claims.deleted.length > 0 && "− claim"];
  return {
    look: claims.deleted.length > 0 ? "lost" : look,
    text: [what, ...marks].filter(Boolean).join(" "),
    sentence: facts.filter(Boolean).join(" "),
  };
}

// Returns the cells of a row, from wave 0, which is now.
function cellsOf(row, waves, stops) {
  if (row.kept && row.events.size === 0) {
    const text = row.kept === "old" ? "keeps the old template" : "left alone";
    const kept = { text, look: "kept", span: waves + 1 + (stops && !row.stops ? 1 : 0) };
    return row.stops ? [kept, BROKEN] : [kept];
  }
  const all = [...row.events].sort(([a], [b]) => a - b).flatMap(([, steps]) => steps);
  const has = new Set(["old", "new"].filter((revision) => all.find((it) => it.revision === revision)?.action === "delete"));
  let wasThere = has.size > 0;
  const state = () => {
    if (row.isChance) return { text: "", look: "chance" };
    if (has.size === 0) return { text: wasThere ? "gone" : "–", look: "none" };
    if (has.size === 2) return { text: "old and new", look: "new" };
    const [revision] = has;
    if (row.isBroken(revision) && changed) return { text: "not ready", look: "lost" };
    return row.hasTwo ? { text: revision, look: revision } : { text: "runs", look: "old" };
  };
  let changed = false;
  const cells = [row.isChance ? { text: "old", look: "old" } : state()];
  for (let wave = 1; wave <= waves; wave += 1) {
    const steps = row.events.get(wave);
    if (!steps) {
      cells.push(state());
      continue;
    }
    for (const { action, revision } of steps) {
      if (action === "create") has.add(revision);
      else if (!has.delete(revision)) has.clear();
      changed ||= action === "create";
    }
    wasThere = true;
    const event = eventOf(steps);
    // With maxSurge, the new pod is there before the old one is deleted.
    const isLeft = event.look === "deleted" && has.size > 0;
    cells.push(isLeft ? { ...event, text: "old deleted", look: "new" } : event);
  }
  if (stops) cells.push(row.stops ? BROKEN : state());
  return cells;
}

// Returns the table, and a function that shows a wave and returns what happens in it. `nameOf` makes the name of a pod.
export function tableOf(all, { waves: last, stopsAt }, kind, nameOf) {
  const rows = all.slice(0, PODS);
  const waves = Math.min(last, WAVES);
  const heads = ["Now", ...Array.from({ length: waves }, (_, i) => `Wave ${i + 1}`), ...(stopsAt ? ["Then"] : [])];
  const columns = heads.map((textContent) => element("th", { scope: "col", textContent }));
  const drawn = rows.map((row) => ({
    row,
    cells: cellsOf(row, waves, Boolean(stopsAt)).map(({ text, look, span = 1, sentence }) => {
      const made = element("td", { colSpan: span, title: sentence ?? "" }, element("span", { textContent: text }));
      return { made, look };
    }),
  }));
  const lines = drawn.map(({ row, cells }) => {
    const name = row.isPod ? nameOf(row) : row.name;
    return element("tr", {}, element("th", { scope: "row" }, name), ...cells.map(({ made }) => made));
  });
  const first = element("th", { scope: "col", textContent: kind === "DaemonSet" ? "Pod on node" : "Pod" });
  const table = element("table", {}, element("thead", {}, element("tr", {}, first, ...columns)), element("tbody", {}, ...lines));

  function show(now) {
    columns.forEach((it, i) => it.setAttribute("aria-current", i === now ? "step" : "false"));
    const isLater = (i) => i > now && now < last;
    for (const { cells } of drawn) cells.forEach(({ made, look }, i) => (made.className = `${look}${isLater(i) ? " later" : ""}`));
    if (now === 0) return "before the change";
    const happens = all.flatMap(({ name, isChance, events }) => (events.has(now) ? [`${name}${isChance ? ":" : ""} ${eventOf(events.get(now)).sentence}`] : []));
    return happens.slice(0, 5).join(", ") + (happens.length > 5 ? ` and ${happens.length - 5} more` : "");
  }
  const isCut = all.length > rows.length || last > waves;
  return { table, show, left: isCut && `Drawn: ${rows.length} of ${all.length} pods, ${waves} of ${last} waves.` };
}
