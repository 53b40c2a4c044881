// The page: asks the master every second what is new, and shows it.

import { ask, byId, cell, clock, count, draw, duration, element, money, sure, table } from "./parts.js";
import * as frontier from "./frontier.js";
import * as overview from "./overview.js";
import * as tasks from "./tasks.js";

const EVERY_MS = 1000;
const ENDED_MS = 5000; // a bag that has ended may be retried, or another begin
const DRAWINGS_MS = 3000;
const LISTED_MS = 2000;
const MOST_DECISIONS = 500;
const DRAWN = ["order", "timeline", "progress", "money", "ends", "costs", "scatter"];

const state = { bag: null, decisions: 0, drawn: 0, drawing: false, seen: "", results: -1, listed: 0, bags: "" };

history.replaceState(null, "", location.pathname + location.hash); // the token has done its work

function told(error) {
  const words = error.told ? error.message : "The master does not answer; trying again.";
  byId("trouble").textContent = words;
  byId("trouble").hidden = false;
}

async function look() {
  const all = await ask("/api/bags");
  showBags(all.bags);
  overview.show(all, state.bag, (bag) => { select(bag); look().catch(told); });
  byId("trouble").hidden = true;
  if (state.bag === null) return EVERY_MS;
  const bag = state.bag;
  const live = await ask(`/api/bags/${bag}/live?decisions=${state.decisions}`);
  if (bag !== state.bag) return 0;
  show(live);
  return live.over ? ENDED_MS : EVERY_MS;
}

async function loop() {
  let pause = EVERY_MS;
  try {
    if (document.visibilityState === "visible") pause = await look();
  } catch (error) {
    told(error);
  }
  setTimeout(loop, pause);
}

function showBags(bags) {
  byId("empty").hidden = bags.length > 0;
  const stateOf = (bag) => (bag.paused ? "paused" : bag.state);
  const listed = JSON.stringify(bags.map((bag) => [bag.bag, stateOf(bag)]));
  if (listed !== state.bags) {
    state.bags = listed;
    byId("bag").replaceChildren(...bags.toReversed().map((bag) =>
      element("option", { value: bag.bag }, `${bag.bag} ${bag.name} (${stateOf(bag)})`)));
    if (state.bag !== null) byId("bag").value = state.bag;
  }
  if (state.bag === null && bags.length) {
    const wanted = Number(location.hash.slice(1));
    const running = bags.find((bag) => bag.state === "running");
    select((bags.find((bag) => bag.bag === wanted) ?? running ?? bags.at(-1)).bag);
  }
}

function select(bag) {
  Object.assign(state, { bag, decisions: 0, drawn: 0, seen: "", results: -1 });
  byId("bag").value = bag;
  byId("decisions").replaceChildren();
  for (const id of [...DRAWN, "histograms"]) byId(id).replaceChildren();
  history.replaceState(null, "", `#${bag}`);
  tasks.showBag(bag).catch(told);
}

function show(live) {
  byId("bag-view").hidden = false;
  document.title = `${live.phase === "choosing" ? "choose a schedule" : `${percent(live)} %`}: ${live.name} – BaTS`;
  const badge = byId("state");
  badge.textContent = live.paused ? "paused" : live.over || live.state !== "running" ? live.state : live.phase;
  badge.className = `badge ${live.state === "complete" ? "good" : live.over || live.paused ? "bad" : ""}`;
  byId("cancel").hidden = live.over;
  byId("resume").hidden = !(live.paused || (live.over && live.dropped));
  byId("retry").hidden = !live.failed || !(live.over || (live.paused && !live.paused.again));
  paused(live.paused, live.currency);
  headline(live);
  promise(live);
  schedules(live);
  frontier.see(live, change, told);
  steps(live);
  clusters(live);
  decisions(live);
  const results = (live.done ?? 0) + (live.failed ?? 0);
  tasks.beganAt(live.began ?? 0);
  if (state.results === -1) state.results = results; // the first page is on its way already
  if (results !== state.results && Date.now() - state.listed > LISTED_MS) {
    Object.assign(state, { results, listed: Date.now() });
    tasks.refresh().catch(told);
  }
  const news = JSON.stringify([results, live.phase, live.now, live.schedules]);
  const due = Date.now() - state.drawn > DRAWINGS_MS;
  if (news !== state.seen && (due || live.over) && live.began !== null) {
    state.seen = news;
    drawings().catch((error) => { state.seen = ""; told(error); });
  }
}

const settled = (live) => (live.done ?? 0) + (live.failed ?? 0) + (live.dropped ?? 0) + (live.cut_off ?? 0);
const percent = (live) => Math.floor((100 * settled(live)) / Math.max(1, live.total));

function headline(live) {
  const share = (part) => `${(100 * (part ?? 0)) / Math.max(1, live.total)}%`;
  const bar = byId("bar");
  bar.setAttribute("aria-valuenow", percent(live));
  const failed = (live.failed ?? 0) + (live.failing ?? 0); // those that have tries left are in no table yet
  for (const [part, number] of [["done", live.done], ["failed", failed], ["running", live.running]])
    bar.querySelector(`.${part}`).style.width = share(number);
  const words = [`${count(live.done)} of ${count(live.total)} tasks done`];
  if (live.open) words[0] += " so far, more may come";
  if (live.running) words.push(`${count(live.running)} running`);
  if (live.blocked) words.push(`${count(live.waiting)} ready`, `${count(live.blocked)} waiting for others`);
  if (live.cut_off) words.push(`${count(live.cut_off)} cut off`);
  if (failed && !live.failed) words.push(`${count(failed)} failed`);
  if (live.phase === "choosing") words.push("waiting for your choice");
  if (live.eta_seconds && live.phase === "executing") {
    const [low, high] = (live.eta_bounds ?? []).map(duration);
    const sure = low && low !== high ? ` (90 %: ${low} to ${high})` : "";
    words.push(`about ${duration(live.eta_seconds)} to go${sure}, until ${clock(Date.now() / 1000 + live.eta_seconds)}`);
  }
  if (live.deadline_at && live.now !== undefined) {
    const left = live.deadline_at - (live.ended_at ?? live.now);
    if (left < 0) words.push(`deadline missed by ${duration(-left)}`);
    else words.push(live.ended_at === null ? `deadline in ${duration(left)}` : "deadline kept");
  }
  const said = ["complete", "with failures"].includes(live.state); // in the numbers before
  if (live.words && !said) words.push(live.words);
  byId("said").textContent = words.join(" · ");
  byId("failed").textContent = `${count(failed)} failed`;
  byId("failed").hidden = !live.failed;
  if (live.failed) byId("said").textContent += " · ";
  const currency = live.currency;
  const limit = live.chosen ? live.limit : live.budget; // before the choice the limit is the sample's
  const tiles = [
    ["Spent", money(live.spent ?? 0, currency)],
    ["Reserved", money(live.reserved ?? 0, currency)],
    [live.chosen ? "Limit" : "Budget", limit === null || limit === undefined ? "none set" : money(limit, currency)],
    ["Machines", count(live.machines_alive)],
    ["Tasks a minute", live.speed ? count(60 * live.speed) : "–"],
    live.strategy ? ["Strategy", live.strategy] : ["Schedule", live.chosen || "not chosen"],
    ["Elapsed", live.now === undefined ? "–" : duration((live.ended_at ?? live.now) - live.began_at)],
  ];
  byId("tiles").replaceChildren(...tiles.map(([name, value]) =>
    element("div", {}, element("dt", {}, name), element("dd", {}, value))));
}

function promise(live) {
  byId("promise").hidden = !live.told;
  byId("risk").hidden = !live.at_risk;
  const risk = live.at_risk ? `At risk: ${live.at_risk}.` : "";
  if (byId("risk").textContent !== risk) byId("risk").textContent = risk; // it is read aloud
  if (!live.told) return;
  const all = (one) => `${money(one.cost, live.currency)} (at most ${money(one.cost_bound, live.currency)}) in ` +
    `${duration(one.seconds)} (at most ${duration(one.seconds_bound)})`;
  const known = live.told.tasks && (live.open || live.told.tasks < live.total) ? ` of the ${count(live.told.tasks)} tasks known then` : "";
  const said = [`Told at the choice, after ${duration(live.told.at)}: all${known || " of it"} for ${all(live.told)}, with 90 %.`];
  const last = live.looks?.at(-1);
  if (live.ended_at !== null) said.push(`It came to ${money(live.spent, live.currency)} in ${duration(live.ended_at - live.began_at)}.`);
  else if (last) said.push(`By the last look, after ${duration(last.at)}: ${all(last)}.`);
  byId("promise-words").textContent = said.join(" ");
}

function paused(pause, currency) {
  byId("paused").hidden = !pause;
  const key = JSON.stringify(pause);
  if (!pause || state.pause === key) return; // it is read aloud when it changes
  state.pause = key;
  byId("paused-why").textContent = `${pause.reason}.`;
  const them = pause.again ? "Resumed, it tries them again." : "Resumed, it goes on without them.";
  byId("paused-ways").textContent = pause.task === null ? "" : them;
  byId("paused-task").hidden = pause.task === null;
  byId("allow").hidden = !pause.budget;
  byId("allow").textContent = pause.budget ? `Allow ${money(pause.budget, currency)} in all` : "";
  byId("allow").onclick = () => change("allow", { budget: pause.budget });
  byId("paused-task").onclick = () => tasks.open(pause.task).catch(told);
}

function schedules(live) {
  const offers = live.schedules ?? [];
  byId("schedules").hidden = offers.length === 0;
  const key = JSON.stringify([offers, live.phase, live.chosen, live.over]);
  if (state.offers === key) return; // so that a button is not replaced while it is pressed
  state.offers = key;
  const mayChoose = !live.over && (live.phase === "choosing" || live.phase === "executing");
  const risky = offers.some((offer) => offer.delta_n > 0);
  byId("schedules").classList.toggle("waits", live.phase === "choosing");
  byId("schedules-words").textContent = live.phase === "choosing"
    ? "The sample is done. Choose what to pay and how long to wait; nothing more is bought until you do."
    : `Chosen: ${live.chosen || "nothing yet"}. Prices and times as they were offered, from the choice on.`;
  const row = (offer) => {
    const mix = live.clusters.map((cluster, k) => [offer.mix[k], cluster.name]).filter(([n]) => n)
      .map(([n, name]) => `${n} ${name}`).join(" + ") || "none";
    const isChosen = offer.name === live.chosen;
    const button = element("button", {
      type: "button", className: live.phase === "choosing" ? "primary" : "", disabled: isChosen || !mayChoose,
      onclick: () => choose(offer, live),
    }, isChosen ? "Chosen" : "Choose");
    button.setAttribute("aria-label", `${button.textContent} ${offer.name}`);
    const bounds = offer.bounds;
    return element("tr", { className: isChosen ? "chosen-row" : "" },
      ...(mayChoose ? [cell(button)] : []),
      cell(offer.name, "name"), cell(money(offer.cost, live.currency), "number"),
      cell(duration(offer.makespan_seconds), "number"), cell(mix),
      cell(bounds ? money(bounds.cost, live.currency) : "–", "number"),
      cell(bounds ? duration(bounds.makespan_seconds) : "–", "number"),
      ...(risky ? [cell(offer.delta_n > 0
        ? `${offer.delta_n} tasks may need ${money(offer.cushion, live.currency)} more` : "none")] : []));
  };
  const sure = `${Math.round(100 * (offers.find((offer) => offer.bounds)?.bounds.confidence ?? 0.9))} %`;
  table(byId("offers"), [...(mayChoose ? [["Choice"]] : []), ["Schedule"], ["Price", "number"], ["Time", "number"],
    ["Machines"], [`Price, ${sure} sure`, "number"], [`Time, ${sure} sure`, "number"], ...(risky ? [["Risk"]] : [])]);
  byId("offers").replaceChildren(...offers.map(row));
}

async function choose(offer, live) {
  if (live.phase !== "choosing" && !await sure("Change the schedule?",
    `${offer.name}: ${money(offer.cost, live.currency)} in ${duration(offer.makespan_seconds)}.`, "Change it")) return;
  await change("choose", { rule: offer.name });
}

async function change(verb, body) {
  try {
    await ask(`/api/bags/${state.bag}/${verb}`, body);
    state.drawn = 0;
    await look();
  } catch (error) {
    told(error);
  }
}

function steps(live) {
  const found = live.steps ?? [];
  byId("steps-section").hidden = !found.length;
  byId("steps").replaceChildren(...found.map((step) => element("tr", {},
    cell(step.name), cell(count(step.total), "number"),
    ...["done", "running", "waiting", "blocked", "failed", "cut_off"].map((part) =>
      cell(step[part] ? count(step[part]) : "–", "number")))));
}

function clusters(live) {
  byId("clusters").replaceChildren(...(live.clusters ?? []).map((cluster) => element("tr", {},
    cell(cluster.name),
    cell(`${money(cluster.price, live.currency)} / ${duration(cluster.atu_seconds)}`, "number"),
    cell(`${cluster.machines} of ${cluster.limit}`, "number"),
    cell(live.over ? "–" : cluster.planned, "number"),
    cell(cluster.known ? duration(cluster.mean_seconds) : "–", "number"),
    cell(count(cluster.known), "number"),
    cell(cluster.set_aside || cluster.doubt || (cluster.leaving ? `${cluster.leaving} leave when their paid time ends` : "")))));
}

function decisions(live) {
  for (const one of live.decisions) {
    byId("decisions").prepend(element("li", {}, element("time", {}, clock(live.began + one.time)), one.words));
    state.decisions = one.number + 1;
  }
  byId("decisions-section").hidden = !byId("decisions").childElementCount;
  while (byId("decisions").childElementCount > MOST_DECISIONS) byId("decisions").lastChild.remove();
}

async function drawings() {
  if (state.drawing || state.bag === null) return;
  state.drawing = true;
  state.drawn = Date.now();
  try {
    const bag = state.bag;
    const width = byId("timeline").clientWidth || 900;
    const narrow = byId("scatter").clientWidth;
    const made = await ask(`/api/bags/${bag}/drawings?width=${Math.round(width)}&scatter=${Math.round(narrow)}`);
    if (bag !== state.bag) return;
    for (const id of DRAWN) draw(byId(id), made[id]);
    byId("money").parentElement.hidden = !made.money; // of what costs nothing
    byId("runtimes").hidden = !made.histograms.length;
    byId("histograms").replaceChildren(...made.histograms.map(({ cluster, svg }) => {
      const figure = element("figure", {}, element("figcaption", {}, cluster));
      const holder = element("div");
      draw(holder, svg);
      figure.append(holder);
      return figure;
    }));
  } finally {
    state.drawing = false;
  }
}

table(byId("steps"), [["Step"], ["Tasks", "number"], ["Done", "number"], ["Running", "number"],
  ["Ready", "number"], ["Waiting", "number"], ["Failed", "number"], ["Cut off", "number"]]);
table(byId("clusters"), [["Cluster"], ["Price", "number"], ["Machines", "number"], ["Planned", "number"],
  ["Mean runtime", "number"], ["Known", "number"], ["Remarks"]]);
tasks.setUp(told);
byId("bag").onchange = () => { select(Number(byId("bag").value)); look().catch(told); };
byId("retry").onclick = () => change("retry", {});
byId("resume").onclick = () => change("resume", {});
byId("cancel").onclick = async () => {
  if (await sure("Cancel this bag?", "Running tasks are stopped and machines released. Results so far are kept.",
    "Cancel the bag")) await change("cancel", { reason: "cancelled on the web page" });
};
let resized;
addEventListener("resize", () => {
  clearTimeout(resized);
  frontier.redraw(change);
  resized = setTimeout(() => Promise.all([drawings(), tasks.redraw()]).catch(told), 300);
});
document.addEventListener("visibilitychange", () => { state.drawn = 0; });
loop();
