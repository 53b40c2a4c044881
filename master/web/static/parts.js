// Building blocks: elements, numbers in words, and asking the master.
// Text from tasks is only ever set as text, never parsed as markup.

const word = document.querySelector("meta[name=page-word]").content;

export const byId = (id) => document.getElementById(id);

export function element(name, properties = {}, ...children) {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children);
  return made;
}

export function svg(name, attributes, ...children) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

export async function ask(path, change) {
  const options = change === undefined ? {} : {
    method: "POST", body: JSON.stringify(change),
    headers: { "Content-Type": "application/json", "X-BaTS-Page": word },
  };
  const response = await fetch(path, { ...options, signal: AbortSignal.timeout(20000) });
  const answer = await response.json();
  if (!response.ok) throw Object.assign(new Error(answer.error), { told: true });
  return answer;
}

// Drawings come as SVG of the master's own making.
export function draw(into, svg) {
  const made = svg ? [new DOMParser().parseFromString(svg, "image/svg+xml").documentElement] : [];
  into.replaceChildren(...made);
}

export function table(body, heads) {
  const cells = heads.map(([name, kind = ""]) => element("th", { scope: "col", className: kind }, name));
  body.parentElement.querySelector("thead").replaceChildren(element("tr", {}, ...cells));
}

export const cell = (content, className = "") =>
  element("td", { className }, content instanceof Node ? content : String(content));

export const count = (number) => Math.round(number ?? 0).toLocaleString("en");

export function money(billionths, currency) {
  if (billionths === null || billionths === undefined) return "–";
  const value = Math.abs(billionths) / 1e9;
  let places = 2;
  while (value && places < 9 && value < 0.5 * 10 ** -places) places += 1;
  const digits = value.toLocaleString("en", { minimumFractionDigits: places, maximumFractionDigits: places });
  const sign = billionths < 0 ? "−" : "";
  return currency.length === 1 ? sign + currency + digits : `${sign}${digits} ${currency}`;
}

export function duration(seconds) {
  if (seconds === null || seconds === undefined) return "–";
  if (seconds > 0 && seconds < 0.00095) return `${Math.round(1e6 * seconds)} µs`;
  if (seconds > 0 && seconds < 0.095) return `${Number((1000 * seconds).toPrecision(2))} ms`;
  if (seconds < 9.95) return `${Number(seconds.toPrecision(2))} s`;
  const whole = Math.round(seconds);
  const two = (large, small, a, b) => {
    const rest = Math.floor((whole % large) / small);
    return `${Math.floor(whole / large)}${a}${rest ? ` ${rest}${b}` : ""}`;
  };
  if (whole < 60) return `${whole} s`;
  if (whole < 3600) return two(60, 1, "m", "s");
  return whole < 86400 ? two(3600, 60, "h", "m") : two(86400, 3600, "d", "h");
}

const sameDay = (a, b) => a.toDateString() === b.toDateString();

export function clock(seconds) {
  const time = new Date(seconds * 1000);
  const short = time.toLocaleTimeString("en-GB");
  return sameDay(time, new Date()) ? short
    : `${time.toLocaleDateString("en-GB", { day: "numeric", month: "short" })} ${short.slice(0, 5)}`;
}

// What people call a machine: large 4. Its number, 1000004, also says whose it is.
export const machineName = ({ cluster, machine }) => `${cluster} ${machine % 1_000_000 % 500_000}`;

export function memory(kib) {
  if (!kib) return "–";
  return kib < 1024 ? `${kib} KiB` : kib < 1048576 ? `${(kib / 1024).toFixed(1)} MiB` : `${(kib / 1048576).toFixed(2)} GiB`;
}

export function facts(list, pairs) {
  list.replaceChildren(...pairs.flatMap(([name, value]) =>
    [element("dt", {}, name), element("dd", {}, value)]));
}

export function sure(title, words, yes) {
  return new Promise((resolve) => {
    const dialog = byId("sure");
    byId("sure-title").textContent = title;
    byId("sure-words").textContent = words;
    byId("sure-yes").textContent = yes;
    const done = (answer) => () => { resolve(answer); dialog.close(); };
    byId("sure-yes").onclick = done(true);
    byId("sure-no").onclick = done(false);
    dialog.onclose = () => { if (!dialog.open) resolve(false); }; // told late, it may be open again
    dialog.showModal();
  });
}
