// All bags at a look: money against caps, each bag in a row, machines by who pays for them.

import { byId, cell, clock, count, duration, element, money, table } from "./parts.js";

const MOST_ENDED = 5; // the others are in the list above, and counted
const known = { rows: "", caps: "", owners: "" };

// `chosen` is the bag that is shown below; `open` shows another one.
export function show({ bags, caps = [], machines = [] }, chosen, open) {
  byId("overview").hidden = bags.length < 2 && !caps.length;
  const ended = bags.filter((bag) => bag.ended !== null);
  const hidden = new Set(ended.slice(0, -MOST_ENDED).map((bag) => bag.bag));
  const listed = bags.filter((bag) => !hidden.has(bag.bag)).toReversed();
  byId("ended-bags").hidden = !hidden.size;
  byId("ended-bags").textContent = `${count(hidden.size)} more ended before; the list at the top has them.`;
  const shared = machines.some((one) => one.bag === null);
  changed("rows", [listed, chosen, shared], () => {
    table(byId("bags"), [["Bag"], ["State"], ["Tasks"], ["Spent", "number"], ["Left", "number"],
      ["Machines", "number"], ...(shared ? [["Shared slots", "number"]] : []), ["Remarks"]]);
    byId("bags").replaceChildren(...listed.map((bag) => row(bag, chosen, shared, open)));
  });
  changed("caps", caps, () => byId("caps").replaceChildren(...caps.map(cap)));
  byId("owners-view").hidden = !machines.length;
  changed("owners", machines, () => {
    table(byId("owners"), [["Whose"], ["Offering"], ["At work", "number"], ["Starting", "number"],
      ["Tasks, places", "number"], ["Cost", "number"], ...(shared ? [["Shared by"]] : [])]);
    byId("owners").replaceChildren(...machines.map((one) => owner(one, shared)));
  });
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
  const { done = 0, failed = 0, running = 0, tasks } = bag;
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
