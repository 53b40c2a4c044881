// The strategies for unreliable machines that no other beats, as a picture one chooses from.

import { ask, byId, count, duration, element, money, sure, svg } from "./parts.js";

const ASKED_MS = 20000; // finding them takes the master a second or two
const LEAST = 10; // results, before which one is as good as another
const NEWS = 0.1; // share of results beyond those that were known
const HIGH = 230;
const [LEFT, RIGHT, TOP, BOTTOM] = [64, 18, 14, 40];
const TOUCHED = 14; // pixels around a point
const SPAN = 0.05; // share of the largest value that an axis spans at least: nothing looks farther apart than it is

const state = { bag: null, asked: 0, results: 0, over: false, found: null, drawn: "" };

// Ask anew once a tenth more is known; `change` makes a choice, `told` says what went wrong.
export async function see(live, change, told) {
  const results = (live.done ?? 0) + (live.failed ?? 0);
  if (state.bag !== live.bag) {
    Object.assign(state, { bag: live.bag, asked: 0, results: 0, over: live.over, found: null, drawn: "" });
    byId("strategies").hidden = true;
  }
  const news = state.asked === 0 || results > (1 + NEWS) * state.results || live.over !== state.over;
  const soon = live.over === state.over && Date.now() - state.asked < ASKED_MS;
  if (results < LEAST || !news || soon) return;
  Object.assign(state, { asked: Date.now(), results, over: live.over });
  try {
    await again(live.bag, change);
  } catch (error) {
    told(error);
  }
}

async function again(bag, change) {
  const found = await ask(`/api/bags/${bag}/frontier`);
  if (state.bag !== bag) return;
  state.found = found;
  show(change);
}

export function redraw(change) {
  if (state.found) show(change);
}

function show(change) {
  const found = state.found;
  byId("strategies").hidden = !found.tasks;
  if (!found.tasks) return;
  const width = Math.max(240, byId("frontier").clientWidth || 320);
  const key = JSON.stringify([found, width]);
  if (state.drawn === key) return; // so that a point is not replaced while it is pressed
  state.drawn = key;
  const rest = state.over ? "one more bag like this" : `the ${count(found.tasks)} tasks that are left`;
  const share = `${Math.round(100 * found.reliability)} % of what is sent to ${count(found.machines)} unreliable slots returns, ` +
    `after ${duration(found.mean_seconds)} on average.`;
  const none = "Nothing comes back from them: no strategy ends the bag.";
  const by = found.current ? ` The bag goes by ${found.current}.` : "";
  byId("strategies-words").textContent = found.strategies.length
    ? `${share} These are the strategies for ${rest} that no other beats in both price and time.${by}` : none;
  const mayChoose = found.may_change && found.current !== "";
  byId("strategy-words").textContent = mayChoose && found.strategies.length ? "Press a point to go on by its strategy." : "";
  const focused = document.activeElement?.dataset?.strategy;
  byId("frontier").replaceChildren(...(found.strategies.length ? [picture(found, width, mayChoose, change)] : []));
  if (focused) byId("frontier").querySelector(`[data-strategy="${CSS.escape(focused)}"]`)?.focus();
}

const inWords = (one, currency) => `${one.name}: ${money(one.cost, currency)} ± ${money(one.cost_spread, currency)}, ` +
  `${duration(one.makespan_seconds)} ± ${duration(one.makespan_spread)}`;

function picture(found, width, mayChoose, change) {
  const every = found.strategies;
  const along = scale(every.map((one) => one.cost), LEFT, width - RIGHT);
  const up = scale(every.map((one) => one.makespan_seconds), HIGH - BOTTOM, TOP);
  const first = Math.max(0, every.findIndex((one) => one.name === found.current || one.name === found.chosen));
  const points = every.map((one, k) => point(one, k, [along(one.cost), up(one.makespan_seconds)]));
  const way = every.map((one, k) => `${k ? "L" : "M"}${along(one.cost)} ${up(one.makespan_seconds)}`).join("");
  const [cheapest, dearest] = [every.at(-1), every[0]];
  const apart = money(dearest.cost, found.currency) !== money(cheapest.cost, found.currency);
  const drawing = svg("svg", { width, height: HIGH, role: "group", "aria-label":
    `${every.length} strategies by price and time, from ${inWords(dearest, found.currency)} to ${inWords(cheapest, found.currency)}` },
    svg("path", { class: "axis", fill: "none", d: `M${LEFT} ${TOP}V${HIGH - BOTTOM}H${width - RIGHT}` }),
    svg("path", { class: "curve", d: way }),
    words(LEFT - 6, up(cheapest.makespan_seconds) + 4, "end", duration(cheapest.makespan_seconds)),
    ...(duration(dearest.makespan_seconds) !== duration(cheapest.makespan_seconds) ?
      [words(LEFT - 6, up(dearest.makespan_seconds) + 4, "end", duration(dearest.makespan_seconds))] : []),
    ...(apart ? [words(along(dearest.cost), HIGH - BOTTOM + 16, "end", money(dearest.cost, found.currency))] : []),
    words(along(cheapest.cost), HIGH - BOTTOM + 16, apart ? "start" : "middle", money(cheapest.cost, found.currency)),
    words((LEFT + width - RIGHT) / 2, HIGH - 6, "middle", "price across, time upwards"),
    ...points);
  return drawing;

  function point(one, k, [x, y]) {
    const goesBy = one.name === found.current;
    const kind = goesBy ? "chosen" : one.name === found.chosen ? "best" : "offer";
    const marks = [one.name === found.chosen ? "least price times time" : "", goesBy ? "the bag goes by it" : ""];
    const said = [inWords(one, found.currency), ...marks.filter(Boolean)].join(", ");
    const made = svg("g", { class: "point", role: mayChoose ? "button" : "img", tabindex: k === first ? 0 : -1,
      "aria-label": mayChoose ? `Choose ${said}` : said, "data-strategy": one.name },
      svg("circle", { class: "touched", cx: x, cy: y, r: TOUCHED }),
      svg("circle", { class: kind, cx: x, cy: y, r: 5 }));
    const tell = () => { byId("strategy-words").textContent = `${said}.`; };
    made.addEventListener("pointerenter", tell);
    made.addEventListener("focus", tell);
    made.addEventListener("keydown", (event) => pressed(event, k));
    if (mayChoose && !goesBy) made.addEventListener("click", () => take(one, found, change));
    return made;
  }

  // One stop of the tab key; arrows go from point to point.
  function pressed(event, k) {
    const step = { ArrowRight: -1, ArrowUp: -1, ArrowLeft: 1, ArrowDown: 1 }[event.key];
    if (step !== undefined) {
      const next = points[Math.min(points.length - 1, Math.max(0, k + step))];
      for (const one of points) one.setAttribute("tabindex", one === next ? 0 : -1);
      next.focus();
    } else if (event.key === "Enter" || event.key === " ") {
      event.currentTarget.dispatchEvent(new MouseEvent("click"));
    } else return;
    event.preventDefault();
  }
}

async function take(one, found, change) {
  if (!await sure("Go on by this strategy?", `${inWords(one, found.currency)}.`, "Go on by it")) return;
  await change("choose", { strategy: one.name });
  await again(found.bag, change).catch(() => { state.asked = 0; }); // what went wrong has been told
}

function scale(values, from, to) {
  let [low, high] = [Math.min(...values), Math.max(...values)];
  const more = Math.max(0, SPAN * high - (high - low)) / 2;
  [low, high] = [low - more, high + more];
  return (value) => Math.round(10 * (high > low ? from + ((value - low) / (high - low)) * (to - from) : (from + to) / 2)) / 10;
}

function words(x, y, anchor, text) {
  return svg("text", { x, y, "text-anchor": anchor, class: "tick" }, text);
}
