// All bags at a look: money against caps, each bag in a row, machines by who pays for them.

import { byId, cell, clock, count, duration, element, money, table, svg } from "./parts.js";

const MOST_ENDED = 5; // the others are in the list above, and counted
const known = { rows: "", caps: "", owners: "", pools: "" };

// `chosen` is the bag that is shown below; `open` shows another one.
export function show({ bags, caps = [], machines = [], pools = [] }, chosen, open) {
  byId("overview").hidden = bags.length < 2 && !caps.length && !pools.length;
  const ended = bags.filter((bag) => bag.ended !== null);
  const hidden = new Set(ended.slice(0, -MOST_ENDED).map((bag) => bag.bag));
  const listed = bags.filter((bag) => !hidden.has(bag.bag)).toReversed();
  byId("ended-bags").hidden = !hidden.size;
  byId("ended-bags").textContent = `${count(hidden.size)} more ended before; the list at the top has them.`;
  const shared = machines.some((one) => one.bag === null || one.shares.length > 0);
  changed("rows", [listed, chosen, shared], () => {
    table(byId("bags"), [["Bag"], ["State"], ["Tasks"], ["Spent", "number"], ["Left", "number"],
      ["Own machines", "number"], ...(shared ? [["Shared slots", "number"]] : []), ["Remarks"]]);
    byId("bags").replaceChildren(...listed.map((bag) => row(bag, chosen, shared, open)));
  });
  changed("caps", caps, () => byId("caps").replaceChildren(...caps.map(cap)));
  byId("owners-view").hidden = !machines.length;
  changed("owners", machines, () => {
    table(byId("owners"), [["Whose"], ["Offering"], ["At work", "number"], ["Starting", "number"],
      ["Tasks, places", "number"], ["Cost", "number"], ...(shared ? [["Shared by"]] : [])]);
    byId("owners").replaceChildren(...machines.map((one) => owner(one, shared)));
  });
  byId("pools").hidden = !pools.length;
  changed("pools", pools, () => byId("pools").replaceChildren(...pools.flatMap(pool)));
}

// Where supply is below demand and where above: the two ways of a pool to be of the wrong size.
function pool(one) {
  const there = one.kinds.reduce((sum, kind) => sum + kind.starting + kind.working + kind.idle + kind.leaving, 0);
  const wanted = one.kinds.reduce((sum, kind) => sum + kind.wanted, 0);
  const limits = one.limits.map((limit) =>
    `${money(limit.committed, one.currency)} of ${money(limit.amount, one.currency)} for the ${limit.period}`);
  const cost = `${money(one.spent, one.currency)} so far, ${money(one.reserved, one.currency)} reserved`;
  return [
    element("h3", {}, `Pool ${one.name}: ${count(there)} of ${count(one.most)} machines`),
    element("p", {}, `${one.scaler} wants ${count(wanted)}; ${count(one.demand)} to run, `
      + `${count(one.supply)} places. ${[cost, ...limits].join("; ")}.`),
    ...curves(one.moments),
    element("p", { className: "small" }, one.why),
  ];
}

const WIDE = 600, HIGH = 110;

function curves(moments) {
  if (moments.length < 2) return [];
  const begin = moments[0].at, lasted = Math.max(1e-9, moments.at(-1).at - begin);
  const most = Math.max(1, ...moments.map((one) => Math.max(one.demand, one.supply)));
  const x = (at) => (WIDE * (at - begin)) / lasted;
  const y = (value) => HIGH - 1 - ((HIGH - 2) * value) / most;
  const steps = (key) => moments.map((one, k) =>
    `${k ? `H${x(one.at).toFixed(1)}V` : `M${x(one.at).toFixed(1)} `}${y(one[key]).toFixed(1)}`).join("");
  const wrong = (of) => moments.slice(0, -1).map((one, k) => of(one) <= 0 ? ""
    : `M${x(one.at).toFixed(1)} ${y(one.demand).toFixed(1)}H${x(moments[k + 1].at).toFixed(1)}V${y(one.supply).toFixed(1)}H${x(one.at).toFixed(1)}Z`)
    .join("");
  const said = `Demand and supply over the last ${duration(lasted)}, up to ${count(most)}`;
  const drawing = svg("svg", { viewBox: `0 0 ${WIDE} ${HIGH}`, role: "img", "aria-label": said,
    preserveAspectRatio: "none", class: "pool-curves" },
    svg("path", { class: "short", d: wrong((one) => one.demand - one.supply) }),
    svg("path", { class: "over", d: wrong((one) => one.supply - one.demand) }),
    svg("path", { class: "demand", d: steps("demand") }), svg("path", { class: "supply", d: steps("supply") }));
  const keys = [["demand", "tasks to run"], ["supply", "places"], ["short", "too few"], ["over", "too many"]]
    .map(([kind, words]) => element("span", {}, element("i", { className: `pool-key ${kind}` }), words));
  return [drawing, element("p", { className: "small pool-keys" }, `${said}: `, ...keys)];
}

// What is about to be pressed is not replaced for nothing.
function changed(part, facts, draw) {
  const key = JSON.stringify(facts);
  if (known[part] === key) return;
  known[part] = key;
  const focused = document.activeElement?.dataset?.bag;
  draw();
  if (focused) document.querySelector(`#bags button[data-bag="${focused}"]`)?.focus();
}

function row(bag, chosen, shared, open) {
  const name = element("button", { type: "button", className: "link", onclick: () => open(bag.bag) },
    `${bag.bag} ${bag.name}`);
  name.dataset.bag = bag.bag;
  if (bag.bag === chosen) name.setAttribute("aria-current", "true");
  const state = bag.paused ? "paused" : bag.phase && bag.ended === null ? bag.phase : bag.state;
  const spent = bag.spent === undefined ? "–" : money(bag.spent, bag.currency ?? "$");
  const of = bag.limit === undefined || bag.limit === null ? "" : ` of ${money(bag.limit, bag.currency)}`;
  const remarks = bag.paused?.reason ?? (bag.held_by_cap || bag.words || "");
  return element("tr", { className: bag.bag === chosen ? "current-row" : "" },
    cell(name, "name"), cell(bag.user ? `${state}, ${bag.user}` : state), cell(progress(bag)),
    cell(spent + of, "number"), cell(duration(bag.eta_seconds), "number"),
    cell(bag.machines === undefined ? "–" : count(bag.machines), "number"),
    ...(shared ? [cell(bag.slots === undefined ? "–" : count(bag.slots), "number")] : []),
    cell(remarks, "remarks"));
}

function progress(bag) {
  const { done = 0, running = 0, tasks } = bag;
  const failed = (bag.failed ?? 0) + (bag.failing ?? 0);
  const holder = element("div", { className: "mini" });
  const bar = element("div", { className: "mini-bar" });
  for (const [part, number] of [["done", done], ["failed", failed], ["running", running]]) {
    const piece = element("span", { className: part });
    piece.style.width = `${(100 * number) / Math.max(1, tasks)}%`;
    bar.append(piece);
  }
  bar.setAttribute("aria-hidden", "true");
  holder.append(bar, `${count(done)} of ${count(tasks)}${bag.open ? "+" : ""}${failed ? `, ${count(failed)} failed` : ""}`);
  return holder;
}

function cap(one) {
  const often = one.period === "ever" ? "in all" : `a ${one.period}`;
  const share = Math.min(1, one.committed / Math.max(1, one.amount));
  const meter = element("span", { className: "done" });
  meter.style.width = `${100 * share}%`;
  const until = one.until === null ? "" : `, until ${clock(one.until)}`;
  const near = element("div", { className: share >= 0.9 ? "mini-bar near" : "mini-bar" }, meter);
  near.setAttribute("aria-hidden", "true");
  return element("div", {},
    element("dt", {}, `Cap ${one.user ? `of ${one.user}` : "of all"}, ${often}`),
    element("dd", {}, `${money(one.committed, one.currency)} of ${money(one.amount, one.currency)}`),
    element("dd", { className: "small" }, `${money(one.left, one.currency)} left${until}`), near);
}

function owner(one, shared) {
  const shares = one.shares.map((part) => `bag ${part.bag}: ${count(part.slots)}`).join(", ");
  return element("tr", {},
    cell(one.bag === null ? "all bags" : `bag ${one.bag}`, "name"), cell(one.offering),
    cell(count(one.machines), "number"), cell(one.starting ? count(one.starting) : "–", "number"),
    cell(`${count(one.running)} of ${count(one.slots)}`, "number"),
    cell(one.bag === null ? "–" : money(one.spent, one.currency), "number"),
    ...(shared ? [cell(shares)] : []));
}
