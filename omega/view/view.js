"use strict";
// The page of package view. Texts from the server are set as text only, never as markup.

const $ = (id) => document.getElementById(id);
const NONE = 33, STEPS = 80, FULL = NONE + STEPS, OTHER = FULL + 1, UNKNOWN = FULL + 2;
const DRAINING = 33 + 89, ABSENT = 33 + 90, LACKING = 33 + 91;
const GAP_BASE = 46, KEEP = 300; // samples of a tenant, one a second

let states = new Uint8Array(0); // one byte a machine
let by = "dominant", colours = ["dominant"], kinds = [], owners = [], overview = null;
let selected = -1, hovered = -1, open = -1, frames = 0;
const history = new Map(); // by pool and tenant

// element makes an element of a class with text and children.
function element(tag, cls, ...children) {
  const e = document.createElement(tag);
  if (cls) e.className = cls;
  for (const c of children) e.append(typeof c === "object" ? c : String(c));
  return e;
}

// ---- amounts

function amount(q, kind) {
  let v = q / (kind.unit || 1);
  const step = kind.binary ? 1024 : 1000;
  const marks = kind.binary ? ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"] : ["", "k", "M", "G", "T", "P", "E"];
  let i = 0;
  while (Math.abs(v) >= step && i < marks.length - 1 && (kind.binary || Math.abs(v) >= 10 * step)) { v /= step; i++; }
  return Number(v.toPrecision(4)) + marks[i];
}

function amountsText(all, of) {
  const known = (of || kinds).filter((k) => all[k.name]);
  const texts = known.map((k) => k.name + " " + amount(all[k.name], k));
  for (const name of Object.keys(all)) if (!known.some((k) => k.name === name)) texts.push(name + " " + all[name]);
  return texts.join(", ") || "nothing";
}

const percent = (x) => (100 * x).toFixed(x < 0.0995 ? 1 : 0) + " %";

function duration(s) {
  if (s < 1) return Math.round(s * 1000) + " ms";
  if (s < 90) return s.toFixed(s < 10 ? 1 : 0) + " s";
  if (s < 5400) return Math.round(s / 60) + " min";
  return (s / 3600).toFixed(1) + " h";
}

// ---- the map

const map = $("map"), small = document.createElement("canvas");
let palette = null, grid = { cols: 1, rows: 1, size: 1 }, queued = false;

function rgb(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim().split(/\s+/).map(Number);
}

// makePalette gives each state a colour, as four bytes.
function makePalette() {
  palette = new Uint8ClampedArray(256 * 4);
  const set = (s, c) => palette.set([c[0], c[1], c[2], 255], 4 * s);
  const low = rgb("--low"), mid = rgb("--mid"), high = rgb("--high");
  const mix = (a, b, t) => a.map((x, i) => x + (b[i] - x) * t);
  for (let v = 0; v <= STEPS; v++) {
    const t = v / STEPS;
    if (by !== "owner" || v === 0) set(NONE + v, t < 0.5 ? mix(low, mid, 2 * t) : mix(mid, high, 2 * t - 1));
    else set(NONE + v, ownerColour(v));
  }
  set(OTHER, [140, 140, 140]);
  set(UNKNOWN, rgb("--lack"));
  set(DRAINING, rgb("--drain"));
  set(ABSENT, rgb("--gone"));
  set(LACKING, rgb("--lack"));
}

// ownerColour spreads owners over the hues, the first ones far apart. The 40 degrees of the
// colour of draining machines are left out.
function ownerColour(number) {
  const h = (60 + (145 + (number - 1) * 122.229) % 320) % 360, s = 0.55, l = 0.42 + 0.16 * (Math.floor((number - 1) / 8) % 2);
  const f = (n) => {
    const k = (n + h / 30) % 12;
    return 255 * (l - s * Math.min(l, 1 - l) * Math.max(-1, Math.min(k - 3, 9 - k, 1)));
  };
  return [f(0), f(8), f(4)];
}

const css = (s) => `rgb(${palette[4 * s]} ${palette[4 * s + 1]} ${palette[4 * s + 2]})`;

function layOut() {
  const n = Math.max(states.length, 1), w = Math.max(map.clientWidth, 1), h = 330;
  let size = Math.min(44, Math.floor(Math.sqrt(w * h / n)) + 1);
  while (size > 1 && Math.floor(w / size) * Math.floor(h / size) < n) size--;
  const cols = Math.max(1, Math.floor(w / size)), rows = Math.ceil(n / cols);
  grid = { cols, rows, size };
  const height = Math.max(rows * size, 44), ratio = window.devicePixelRatio || 1;
  map.style.height = height + "px";
  if (map.width !== Math.round(w * ratio) || map.height !== Math.round(height * ratio)) {
    map.width = Math.round(w * ratio);
    map.height = Math.round(height * ratio);
  }
  if (small.width !== cols || small.height !== rows) {
    small.width = cols;
    small.height = rows;
  }
}

function draw() {
  queued = false;
  if (!palette) makePalette();
  layOut();
  const { cols, rows, size } = grid, ratio = window.devicePixelRatio || 1, n = states.length;
  const side = small.getContext("2d"), image = side.createImageData(cols, rows), to = new Uint32Array(image.data.buffer);
  const from = new Uint32Array(palette.buffer);
  for (let i = 0; i < n; i++) to[i] = from[states[i]];
  side.putImageData(image, 0, 0);
  const c = map.getContext("2d");
  c.setTransform(ratio, 0, 0, ratio, 0, 0);
  c.clearRect(0, 0, map.width, map.height);
  c.imageSmoothingEnabled = false;
  c.drawImage(small, 0, 0, cols * size, rows * size);
  if (size >= 5) { // gaps between machines
    const gap = size >= 12 ? 2 : 1;
    c.fillStyle = getComputedStyle($("fleet")).backgroundColor;
    for (let x = 1; x <= cols; x++) c.fillRect(x * size - gap, 0, gap, rows * size);
    for (let y = 1; y <= rows; y++) c.fillRect(0, y * size - gap, cols * size, gap);
  }
  for (const [at, width] of [[hovered, 1], [selected, 2]]) {
    if (at < 0 || at >= n) continue;
    c.strokeStyle = getComputedStyle(document.body).color;
    c.lineWidth = width;
    c.strokeRect((at % cols) * size, Math.floor(at / cols) * size, Math.max(size - 1, 3), Math.max(size - 1, 3));
  }
}

function redraw() {
  if (!queued) {
    queued = true;
    requestAnimationFrame(draw);
  }
}

function stateText(s) {
  if (s === ABSENT) return "no machine";
  if (s === DRAINING) return "draining";
  if (s === LACKING) return "has none";
  if (by === "owner") {
    if (s === NONE) return "nothing allocated";
    if (s === UNKNOWN) return "owner not looked up yet";
    return s === OTHER ? "one of further owners" : "mostly " + (owners[s - NONE - 1] || "?");
  }
  return Math.round(100 * (s - NONE) / STEPS) + " % allocated";
}

function under() {
  const at = hovered >= 0 ? hovered : selected;
  $("under").textContent = at < 0 || at >= states.length ? "Point at a machine, or use the arrow keys."
    : `Machine ${at}: ${stateText(states[at])}`;
}

function legend() {
  const all = [];
  const add = (s, text) => {
    const i = element("i");
    i.style.background = css(s);
    all.push(element("span", "", i, text));
  };
  if (by === "owner") {
    owners.slice(0, 12).forEach((name, i) => add(NONE + 1 + i, name));
    if (owners.length > 12) add(OTHER, `and ${owners.length - 12} more`);
    add(NONE, "nothing");
  } else {
    for (const p of [0, 25, 50, 75, 100]) add(NONE + p * STEPS / 100, p + " %");
  }
  add(DRAINING, "draining");
  $("legend").replaceChildren(...all);
}

function restyle() {
  makePalette();
  legend();
  redraw();
}

function colourButtons() {
  const focused = $("colours").contains(document.activeElement);
  $("colours").replaceChildren(...colours.map((name, i) => {
    const b = element("button", "", name === "dominant" ? "dominant share" : name);
    b.type = "button";
    b.setAttribute("role", "radio");
    b.setAttribute("aria-checked", String(name === by));
    b.title = i < 9 ? "key " + (i + 1) : "";
    b.addEventListener("click", () => colourBy(name));
    return b;
  }));
  if (focused) $("colours").querySelector("[aria-checked=true]")?.focus();
}

function colourBy(name) {
  if (name === by || !colours.includes(name)) return;
  by = name;
  owners = [];
  colourButtons();
  restyle();
  connect();
}

function machineAt(event) {
  const box = map.getBoundingClientRect(), x = Math.floor((event.clientX - box.left) / grid.size);
  const at = Math.floor((event.clientY - box.top) / grid.size) * grid.cols + x;
  return x < grid.cols && at >= 0 && at < states.length ? at : -1;
}

map.addEventListener("pointermove", (e) => { hovered = machineAt(e); under(); redraw(); });
map.addEventListener("pointerleave", () => { hovered = -1; under(); redraw(); });
map.addEventListener("click", (e) => { selected = machineAt(e); if (selected >= 0) show(selected); redraw(); });
map.addEventListener("keydown", (e) => {
  const step = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -grid.cols, ArrowDown: grid.cols }[e.key];
  if (step !== undefined) {
    const to = selected < 0 ? 0 : selected + step;
    if (to >= 0 && to < states.length) selected = to;
    hovered = -1;
  } else if (e.key === "Home") selected = 0;
  else if (e.key === "End") selected = states.length - 1;
  else if ((e.key === "Enter" || e.key === " ") && selected >= 0) show(selected);
  else return;
  e.preventDefault();
  under();
  redraw();
});
document.addEventListener("keydown", (e) => {
  if (e.ctrlKey || e.altKey || e.metaKey) return;
  if (e.key === "Escape") hide();
  else if (e.key >= "1" && e.key <= "9" && colours[e.key - 1]) colourBy(colours[e.key - 1]);
});
window.addEventListener("resize", redraw);
for (const q of ["(prefers-color-scheme: dark)"]) matchMedia(q).addEventListener("change", restyle);

// ---- one machine

let asking = 0;

async function show(n) {
  open = n;
  const mine = ++asking, panel = $("machine");
  let body;
  try {
    const answer = await fetch("machine?n=" + n, { headers: { Accept: "application/json" }, cache: "no-store" });
    body = answer.ok ? await answer.json() : { problem: await answer.text() };
  } catch (err) {
    body = { problem: String(err) };
  }
  if (mine !== asking || open !== n) return;
  const close = element("button", "", "close");
  close.type = "button";
  close.addEventListener("click", hide);
  const parts = [close];
  if (body.problem) {
    parts.push(element("h2", "", "Machine " + n), element("p", "empty", body.problem));
  } else {
    parts.push(element("h2", "", body.name || "machine " + n, element("small", "", `number ${n}, ${body.condition}`)));
    const rows = element("tbody");
    const used = {};
    for (const [k, q] of Object.entries(body.capacity)) used[k] = q - (body.free[k] || 0) - (body.reserved[k] || 0);
    for (const [text, v] of [["capacity", body.capacity], ["allocated", used], ["reserved", body.reserved], ["free", body.free]]) {
      rows.append(element("tr", "", element("td", "", text), element("td", "", amountsText(v))));
    }
    for (const [k, v] of Object.entries(body.attributes || {})) rows.append(element("tr", "", element("td", "name", k), element("td", "name", v)));
    parts.push(element("table", "", rows));
    const live = body.live || [];
    const what = body.pool !== undefined ? ` leases of ${body.pool}` : live.length === 1 ? " allocation" : " allocations";
    parts.push(element("p", "more", body.allocations + what));
    if (live.length) {
      const t = element("tbody");
      for (const a of live) {
        t.append(element("tr", "", element("td", "name", a.account || a.scheduler), element("td", "", amountsText(a.need)),
          element("td", "number", percent(a.share))));
      }
      const head = element("thead", "", element("tr", "", element("th", "", "owner"), element("th", "", "need"), element("th", "number", "share")));
      parts.push(element("table", "", head, t));
      if (body.allocations > live.length) parts.push(element("p", "more", `and ${body.allocations - live.length} more`));
    }
  }
  const opening = panel.hidden;
  panel.replaceChildren(...parts);
  panel.hidden = false;
  document.querySelector("main").classList.add("open");
  if (opening) redraw();
}

function hide() {
  open = -1;
  asking++;
  $("machine").hidden = true;
  document.querySelector("main").classList.remove("open");
  redraw();
}

setInterval(() => { if (open >= 0 && !document.hidden) show(open); }, 2000);

// ---- tables

function totals(o) {
  const all = [["machines", o.machines.toLocaleString("en") + (o.draining ? ` (${o.draining} draining)` : "")],
    [o.cell ? "allocations" : "leases", o.allocations.toLocaleString("en")]];
  for (const k of o.kinds) {
    const cap = o.capacity[k.name] || 0, free = (o.free[k.name] || 0) + (o.reserved[k.name] || 0);
    if (cap) all.push([k.name, `${amount(cap - free, k)} of ${amount(cap, k)} (${percent((cap - free) / cap)})`]);
  }
  $("totals").replaceChildren(...all.map(([k, v]) => element("div", "", element("dt", "", k), element("dd", "", v))));
}

// remember adds a sample to the history of a tenant, and returns it.
function remember(key, share, due) {
  let h = history.get(key);
  if (!h) history.set(key, h = { share: [], due: [] });
  h.share.push(share);
  h.due.push(due);
  if (h.share.length > KEEP) { h.share.shift(); h.due.shift(); }
  h.seen = frames;
  return h;
}

const mean = (all) => all.reduce((a, b) => a + b, 0) / Math.max(all.length, 1);

function spark(h) {
  const c = element("canvas", "spark"), w = 180, high = 24, ratio = window.devicePixelRatio || 1;
  c.width = w * ratio;
  c.height = high * ratio;
  c.setAttribute("role", "img");
  c.setAttribute("aria-label", `held ${percent(mean(h.share))}, due ${percent(mean(h.due))} on average`);
  const g = c.getContext("2d"), most = Math.max(0.01, ...h.share, ...h.due);
  const wide = Math.max(h.share.length, 60) - 1; // a page that was opened just now shows its first minute
  g.scale(ratio, ratio);
  const line = (all, style, width, dash) => {
    g.beginPath();
    all.forEach((v, i) => {
      const x = w - (all.length - 1 - i) * w / wide, y = high - 2 - v / most * (high - 4);
      if (i) g.lineTo(x, y); else g.moveTo(x, y);
    });
    g.setLineDash(dash);
    g.strokeStyle = style;
    g.lineWidth = width;
    g.stroke();
  };
  const styles = getComputedStyle(document.documentElement);
  line(h.due, styles.getPropertyValue("--faint"), 1, [3, 2]);
  line(h.share, styles.getPropertyValue("--accent"), 1.5, []);
  return c;
}

function head(...names) {
  return element("thead", "", element("tr", "", ...names.map((n) => element("th", n.startsWith("#") ? "number" : "", n.replace("#", "")))));
}

const td = (cls, ...c) => element("td", cls, ...c);

function bar(share, due, most) {
  const b = element("b"), i = element("i"), box = element("div", "share", b, i);
  if (due === null) i.remove();
  b.style.width = Math.min(100, 100 * share / most) + "%";
  i.style.left = `calc(${Math.min(100, 100 * due / most)}% - 1px)`;
  box.title = `holds ${percent(share)}` + (due === null ? "" : `, due ${percent(due)}`);
  return box;
}

function poolSection(p) {
  const s = element("section", "pool");
  const title = element("h2", "", p.name, element("small", "", `${p.leases} leases, ${p.waiting} waiting; free ${amountsText(p.free, p.kinds)} of ${amountsText(p.total, p.kinds)}`));
  const rows = element("tbody"), most = Math.max(0.01, ...p.tenants.map((t) => Math.max(t.share, t.due))) * 1.05;
  for (const t of p.tenants) {
    const h = remember(p.name + "\n" + t.name, t.share, t.due), share = mean(h.share), due = mean(h.due);
    rows.append(element("tr", "", td("name", t.group ? t.name + "/" : t.name), td("number", Number(t.weight.toPrecision(4))),
      td("", bar(t.share, t.due, most)), td("number", percent(t.share)), td("number", percent(t.due)),
      td("number" + (t.waiting && share < 0.8 * due ? " below" : ""), due > 0 ? percent(share / due) : "–"), td("", spark(h)),
      td("number", t.leases), td("number", t.waiting), td("number", t.refused), td("number", t.preempted)));
  }
  s.append(title, element("div", "wide", element("table", "tenants",
    head("tenant", "#weight", "dominant share, mark: due", "#holds", "#due", "#of due, 5 min", "last 5 min", "#leases", "#waiting", "#refused", "#preempted"), rows)));
  if (p.others) s.append(element("p", "more", `${p.others.tenants} more tenants hold ${percent(p.others.share)} and have ${p.others.waiting} requests waiting.`));
  if (p.waiters.length) {
    const list = element("tbody");
    for (const w of p.waiters) {
      list.append(element("tr", "", td("name", w.tenant), td("name", w.label || ""), td("", (w.needs > 1 ? w.needs + " × in all " : "") + amountsText(w.need, p.kinds)),
        td("number", duration(w.waitedSeconds)), td("text", w.reason)));
    }
    s.append(element("div", "wide waiting", element("table", "waiters", head("waits", "label", "need", "#for", "because"), list)));
    if (p.otherWaiters) s.append(element("p", "more", `and ${p.otherWaiters.toLocaleString("en")} more`));
  }
  return s;
}

function fillTable(id, rows, names, cells) {
  const s = $(id);
  s.hidden = rows.length === 0;
  if (s.hidden) return;
  const body = element("tbody");
  for (const r of rows) body.append(element("tr", "", ...cells(r)));
  s.querySelector("table").replaceChildren(head(...names), body);
}

let lastLoops = new Map(), lastEngines = new Map();

function tables(o) {
  $("pools").replaceChildren(...o.pools.map(poolSection));
  const now = Date.parse(o.at), seen = new Map();
  fillTable("loops", o.loops, ["scheduler", "#pending", "#parked", "#attempts", "#placed", "#conflicts", "#conflicts a second", "#no room", "#preempted", "#busy"], (l) => {
    const was = lastLoops.get(l.name), seconds = was ? (now - was.at) / 1000 : 0;
    seen.set(l.name, { at: now, conflicts: l.conflicts });
    return [td("name", l.name), td("number", l.pending), td("number", l.parked), td("number", l.attempts), td("number", l.placed), td("number", l.conflicts),
      td("number", seconds > 0 ? Math.max(0, (l.conflicts - was.conflicts) / seconds).toFixed(1) : "–"), td("number", l.noRoom), td("number", l.preempted), td("number", percent(l.busy))];
  });
  lastLoops = seen;
  const engines = new Map(), counted = (e) => Object.values(e.refused).reduce((a, n) => a + n, 0);
  fillTable("engines", o.engines, ["scheduler", "#commits", "#granted", "#refused", "#refused a second", "because", "#retries", "#preempted", "#victims", "#waiting", "#offers out"], (e) => {
    const was = lastEngines.get(e.name), seconds = was ? (now - was.at) / 1000 : 0, refused = counted(e);
    engines.set(e.name, { at: now, refused });
    const why = Object.entries(e.refused).sort((a, b) => b[1] - a[1]).map(([reason, n]) => `${reason} ${n.toLocaleString("en")}`).join(", ");
    return [td("name", e.name), td("number", e.commits), td("number", e.granted), td("number", refused),
      td("number", seconds > 0 ? Math.max(0, (refused - was.refused) / seconds).toFixed(1) : "–"), td("text", why),
      td("number", e.retries), td("number", e.preempted), td("number", e.victims), td("number", e.waiting), td("number", e.offers)];
  });
  lastEngines = engines;
  const most = Math.max(0.01, ...o.accounts.map((a) => a.share)) * 1.05;
  fillTable("accounts", o.accounts, ["account", "dominant share", "#holds", "amounts"], (a) =>
    [td("name", a.name), td("", bar(a.share, null, most)), td("number", percent(a.share)), td("text", amountsText(a.held))]);
  for (const [key, h] of history) if (frames - h.seen > 4 * KEEP) history.delete(key);
}

function addDecisions(all) {
  const list = document.querySelector("#decisions ol");
  for (const d of all) {
    const time = element("time", "", new Date(d.at).toLocaleTimeString());
    const place = [d.label, d.machine && "on " + d.machine, d.reason].filter(Boolean).join(", ");
    list.prepend(element("li", d.kind, time, element("span", "", d.kind), element("span", "", d.tenant || ""), element("span", "", place)));
  }
  while (list.children.length > 128) list.lastChild.remove();
  document.querySelector("#decisions .empty").hidden = list.children.length > 0;
}

// ---- the stream

function onMachines(data) {
  const form = data.split(" ", 2)[1], body = data.slice(data.indexOf(form) + form.length + 1);
  if (form === "full") {
    states = new Uint8Array(body.length);
    for (let i = 0; i < body.length; i++) states[i] = body.charCodeAt(i);
    if (selected >= states.length) selected = -1;
  } else {
    let at = 0;
    for (let i = 0; i < body.length;) {
      let gap = 0, place = 1, digit;
      do {
        digit = body.charCodeAt(i++) - 33;
        gap += digit % GAP_BASE * place;
        place *= GAP_BASE;
      } while (digit >= GAP_BASE && i < body.length);
      at += gap;
      states[at++] = body.charCodeAt(i++);
    }
  }
  map.dataset.machines = states.length;
  map.dataset.frames = ++frames;
  under();
  redraw();
}

function onEvent(name, data) {
  if (name === "machines") return onMachines(data);
  const value = JSON.parse(data);
  if (name === "owners") {
    owners = value;
    legend();
    under();
  } else if (name === "decisions") {
    addDecisions(value);
  } else if (name === "overview") {
    const first = !overview;
    overview = value;
    kinds = value.kinds;
    if (String(colours) !== String(value.colours)) {
      colours = value.colours;
      colourButtons();
      if (!colours.includes(by)) colourBy("dominant");
    }
    if (first && !document.querySelector("#decisions li")) addDecisions(value.decisions);
    totals(value);
    tables(value);
    const dropped = $("dropped");
    dropped.hidden = !value.decisionsDropped;
    dropped.textContent = `${value.decisionsDropped.toLocaleString("en")} more came too fast to be shown.`;
  }
}

function say(state, text) {
  $("status").dataset.state = state;
  $("status").textContent = text;
}

let current = null, again = 0, pause = 500;

// connect opens the stream, in place of an earlier one.
async function connect() {
  clearTimeout(again);
  if (current) current.abort();
  if (document.hidden) { current = null; return; } // nobody looks
  const mine = current = new AbortController();
  let heard = performance.now();
  const watch = setInterval(() => { if (performance.now() - heard > 40000) mine.abort(); }, 5000);
  let why = "connection lost";
  try {
    const answer = await fetch("stream?by=" + encodeURIComponent(by), { signal: mine.signal, headers: { Accept: "text/event-stream" }, cache: "no-store" });
    if (!answer.ok) {
      pause = 5000;
      throw new Error((await answer.text()).trim());
    }
    say("live", "live");
    pause = 500;
    const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
    let rest = "";
    for (;;) {
      const { value, done } = await reader.read();
      if (done) break;
      if (mine !== current) { mine.abort(); break; }
      heard = performance.now();
      const events = (rest + value).split("\n\n");
      rest = events.pop();
      for (const e of events) {
        let name = "", data = "";
        for (const line of e.split("\n")) {
          if (line.startsWith("event: ")) name = line.slice(7);
          else if (line.startsWith("data: ")) data = line.slice(6);
        }
        if (name) onEvent(name, data);
      }
    }
  } catch (err) {
    why = err.message || why;
  } finally {
    clearInterval(watch);
  }
  if (mine !== current) return;
  say("off", why + "; trying again");
  again = setTimeout(connect, pause);
  pause = Math.min(pause * 2, 5000);
}

document.addEventListener("visibilitychange", connect);
colourButtons();
restyle();
connect();
