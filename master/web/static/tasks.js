// The table of results, one page at a time, and what is known of one task.

import { ask, byId, cell, clock, count, draw, duration, element, facts, machineName, memory, table } from "./parts.js";

const PAGE = 25;
const PLOT_MS = 5000; // thousands of dots are not drawn anew with each result
const state = { bag: null, offset: 0, began: 0, asked: 0, opened: 0, plotted: 0, later: null, told: null };

export function showBag(bag) {
  Object.assign(state, { bag, offset: 0, opened: state.opened + 1, plotted: 0 });
  byId("task").close();
  return refresh();
}

export function beganAt(seconds) {
  state.began = seconds;
}

export async function refresh() {
  if (state.bag === null) return;
  const asked = ++state.asked;
  const query = new URLSearchParams({
    filter: byId("text").value, outcomes: byId("outcomes").value, sort: byId("sort").value,
    descending: byId("descending").checked, offset: state.offset, limit: PAGE,
  });
  const page = await ask(`/api/bags/${state.bag}/tasks?${query}`);
  if (asked !== state.asked) return; // a later question is on its way
  const at = document.activeElement?.closest("#tasks button")?.textContent; // whoever is there stays there
  byId("tasks").replaceChildren(...(page.tasks.length ? page.tasks.map(row) : [nothing()]));
  if (at) [...byId("tasks").querySelectorAll("button")].find((one) => one.textContent === at)?.focus({ preventScroll: true });
  const last = state.offset + page.tasks.length;
  byId("page").textContent = page.total ? `${count(state.offset + 1)} to ${count(last)} of ${count(page.total)}` : "none";
  byId("previous").disabled = state.offset === 0;
  byId("next").disabled = last >= page.total;
  const pause = state.plotted + PLOT_MS - Date.now();
  if (pause <= 0) await values();
  else state.later ??= setTimeout(() => { state.later = null; values().catch(state.told); }, pause);
}

export async function redraw() {
  if (state.bag !== null) await values();
}

async function values() {
  state.plotted = Date.now();
  const asked = state.asked;
  const query = new URLSearchParams({
    value: byId("value").value, parameter: byId("parameter").value,
    width: Math.round(byId("tasks-title").clientWidth || 600),
  });
  const told = await ask(`/api/bags/${state.bag}/values?${query}`);
  if (asked !== state.asked) return;
  byId("values").hidden = !told.svg;
  choices(byId("value"), told.values, told.value);
  choices(byId("parameter"), told.parameters, told.parameter);
  draw(byId("value-plot"), told.svg);
  const sort = byId("sort");
  const chosen = sort.value;
  const known = told.names.map((name) => `value.${name}`);
  for (const option of [...sort.options]) if (option.value.startsWith("value.") && !known.includes(option.value)) option.remove();
  for (const [k, name] of known.entries()) {
    if (![...sort.options].some((one) => one.value === name)) sort.append(element("option", { value: name }, told.names[k]));
  }
  sort.value = chosen;
  if (sort.selectedIndex < 0) sort.selectedIndex = 0;
}

function choices(select, names, chosen) {
  if (JSON.stringify([...select.options].map((one) => one.value)) !== JSON.stringify(names)) {
    select.replaceChildren(...names.map((name) => element("option", { value: name }, name)));
  }
  if (chosen !== undefined) select.value = chosen;
}

function nothing() {
  const text = byId("text").value.trim();
  const told = cell("No result yet that is like this. ");
  told.colSpan = 9;
  if (/^\d+$/.test(text)) {
    told.append(opener(Number(text), `What is known of task ${text}?`));
  }
  return element("tr", {}, told);
}

function opener(task, words) {
  const onclick = () => open(task).catch(state.told);
  return element("button", { type: "button", className: "link", ariaLabel: /^\d+$/.test(words) ? `Task ${words}` : null, onclick }, words);
}

function row(task) {
  const parameters = Object.entries(task.parameters).map(([name, value]) => `${name}=${value}`).join(" ");
  return element("tr", {},
    cell(opener(task.task, String(task.task)), "number"),
    cell(task.outcome.replace("_", " "), `outcome-${task.outcome}`),
    cell(task.exit_code, "number"),
    cell(duration(task.wall_seconds), "number"),
    cell(memory(task.peak_kib), "number"),
    cell(machineName(task)),
    cell(parameters, "excerpt"),
    cell(Object.entries(task.values).map(([name, value]) => `${name}=${shown(value)}`).join(" "), "excerpt"),
    cell(task.excerpt.trim().split("\n").at(-1), "excerpt"));
}

function shown(value) {
  return typeof value === "number" && !Number.isInteger(value) ? String(Number(value.toPrecision(6))) : String(value);
}

export async function open(task) {
  const bag = state.bag;
  const opened = ++state.opened;
  const story = await ask(`/api/bags/${bag}/tasks/${task}`);
  if (opened !== state.opened) return; // another is wanted by now
  byId("task-title").textContent = `Task ${task}: ${story.state}`;
  facts(byId("task-facts"), [
    ["command", element("code", {}, story.command)],
    ...Object.entries(story.parameters),
    ...story.running.map((one) => ["now", `attempt ${one.attempt} is ${one.state} on ${machineName(one)}`
      + (one.seconds === null ? "" : ` for ${duration(one.seconds)}`)]),
    ...story.attempts.map((one) => [`attempt ${one.attempt}`,
      `${one.outcome.replace("_", " ")}, exit code ${one.exit_code}, ${duration(one.wall_seconds)} on `
      + `${machineName(one)}, began ${clock(state.began + one.started)}, `
      + `CPU ${duration(one.user_seconds + one.system_seconds)}, memory ${memory(one.peak_kib)}`]),
  ]);
  byId("task").showModal();
  for (const stream of ["out", "err"]) byId(`task-${stream}`).textContent = "…";
  for (const stream of ["out", "err"]) {
    const words = await output(bag, task, stream);
    if (opened !== state.opened) return;
    byId(`task-${stream}`).textContent = words;
  }
}

async function output(bag, task, stream) {
  try {
    const log = await ask(`/api/bags/${bag}/tasks/${task}/log?stream=${stream}`);
    const rest = log.total - log.size;
    return (log.data || "(nothing)") + (rest > 0 ? `\n… ${count(rest)} more bytes in ${log.path}` : "");
  } catch (error) {
    return error.message;
  }
}

export function setUp(told) {
  state.told = told;
  table(byId("tasks"), [["Task", "number"], ["Outcome"], ["Exit", "number"], ["Runtime", "number"],
    ["Memory", "number"], ["Machine"], ["Parameters"], ["Values"], ["Last words"]]);
  const again = (offset) => { state.offset = Math.max(0, offset); refresh().catch(told); };
  let waiting;
  byId("text").oninput = () => { clearTimeout(waiting); waiting = setTimeout(again, 250, 0); };
  for (const id of ["outcomes", "sort", "descending"]) byId(id).onchange = () => again(0);
  for (const id of ["value", "parameter"]) byId(id).onchange = () => values().catch(told);
  byId("failed").onclick = () => {
    byId("outcomes").selectedIndex = 2;
    again(0);
    byId("tasks-title").scrollIntoView();
  };
  byId("filter").onsubmit = (event) => { event.preventDefault(); again(0); };
  byId("previous").onclick = () => again(state.offset - PAGE);
  byId("next").onclick = () => again(state.offset + PAGE);
  byId("close-task").onclick = () => byId("task").close();
}
