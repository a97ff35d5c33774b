"use strict";
// Everything that a model or a server wrote enters the page as text, never as markup.
(() => {
  const STATES = {
    mended: "mended", refused: "refused", stream: "stream mended", request: "request mended", gathered: "sent whole",
    untouched: "unchanged",
  };
  const FACETS = [["state", "What happened"], ["defect", "Defect"], ["protocol", "Protocol"], ["tool", "Tool"],
    ["model", "Model"], ["step", "Step"]];
  const SHOWN = 8, MOST_TOKENS = 6000, MOST_EDITS = 1500, MOST_LANES = 6;
  const report = JSON.parse(document.getElementById("data").textContent);
  const flows = report.flows;
  const chosen = new Map(FACETS.map(([key]) => [key, new Set()]));
  const unfolded = new Set();
  const $ = (id) => document.getElementById(id);

  function make(tag, className, ...children) {
    const node = document.createElement(tag);
    if (className) node.className = className;
    node.append(...children.filter((child) => child !== null && child !== undefined && child !== ""));
    return node;
  }
  const number = (value) => value.toLocaleString("en");
  const many = (count, word) => `${number(count)} ${word}${count === 1 ? "" : "s"}`;

  // Characters that are invisible, or that would reverse the text, are shown by their code points.
  const HIDDEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]|\p{Cs}/gu;
  function visible(text) {
    return text.replace(HIDDEN, (c) => {
      const code = c.codePointAt(0);
      return code < 0x20 ? String.fromCodePoint(0x2400 + code) : `⟨U+${code.toString(16).toUpperCase().padStart(4, "0")}⟩`;
    });
  }

  // Filtering

  for (const flow of flows) {
    flow.text = [flow.name, flow.title, flow.protocol, flow.model, flow.where, ...flow.defect,
      ...flow.calls.flatMap((call) => [call.name, call.received_name || "", call.arguments, call.received_arguments || "",
        call.reason || "", ...(call.steps || [])])].join("\n").toLowerCase();
  }
  function words() { return $("query").value.toLowerCase().split(/\s+/).filter(Boolean); }
  function values(flow, key) { return Array.isArray(flow[key]) ? flow[key] : [flow[key]]; }
  function passes(flow, sought, except) {
    for (const [key, set] of chosen) {
      if (key !== except && set.size && !values(flow, key).some((value) => set.has(value))) return false;
    }
    return sought.every((word) => flow.text.includes(word));
  }

  // The list

  const rows = flows.map((flow, index) => {
    const title = make("span", "title", visible(flow.title));
    const text = make("span", "text", title, make("span", "name", visible(flow.name)));
    const pill = make("span", `pill is-${flow.state}`, STATES[flow.state]);
    const button = make("button", "row", pill, text, make("span", "where", [flow.protocol, visible(flow.model)].filter(Boolean).join(" · ")));
    button.type = "button";
    button.setAttribute("aria-expanded", "false");
    button.addEventListener("click", () => {
      toggle(index);
      opened = button.getAttribute("aria-expanded") === "true" ? flow.name : "";
      remember();
    });
    const item = make("li", "", button);
    item.id = `flow-${index}`;
    return { item, button, detail: null };
  });
  $("list").append(...rows.map((row) => row.item));

  function toggle(index, open = rows[index].button.getAttribute("aria-expanded") !== "true") {
    const row = rows[index];
    row.button.setAttribute("aria-expanded", String(open));
    if (open && !row.detail) row.item.append((row.detail = detail(flows[index], index)));
    if (row.detail) row.detail.hidden = !open;
  }

  function update() {
    const sought = words();
    let count = 0, calls = 0;
    flows.forEach((flow, index) => {
      const yes = passes(flow, sought, null);
      rows[index].item.hidden = !yes;
      if (yes) { count += 1; calls += flow.calls.length; }
    });
    const filtered = sought.length > 0 || [...chosen.values()].some((set) => set.size);
    $("found").textContent = `${many(count, "recording")}, ${many(calls, "call")}`;
    $("reset").hidden = !filtered;
    $("none").hidden = count > 0;
    for (const button of document.querySelectorAll("#share button, #keys button")) {
      button.setAttribute("aria-pressed", String(chosen.get("state").has(button.dataset.state)));
    }
    facets(sought);
    remember();
  }
  function choose(key, value) {
    const set = chosen.get(key);
    if (!set.delete(value)) set.add(value);
    update();
  }

  // The filters and the open recording are in the address, so that a view can be saved and shared.

  let opened = "";
  function remember() {
    const kept = new URLSearchParams();
    if ($("query").value) kept.set("q", $("query").value);
    for (const [key, set] of chosen) for (const value of set) kept.append(key, value);
    if (opened) kept.set("open", opened);
    try { history.replaceState(null, "", `#${kept}`); } catch { /* Not allowed for a page in a frame: the address stays. */ }
  }
  function recall() {
    const hash = decoded(location.hash.slice(1));
    const kept = new URLSearchParams(location.hash.slice(1));
    const named = flows.some((flow) => flow.name === hash) ? hash : kept.get("open") || "";
    if (named !== hash) {
      $("query").value = kept.get("q") || "";
      for (const [key, set] of chosen) { set.clear(); for (const value of kept.getAll(key)) set.add(value); }
    }
    opened = named;
    update();
    const wanted = flows.findIndex((flow) => flow.name === named);
    if (wanted >= 0) reveal(wanted);
  }
  function decoded(text) { try { return decodeURIComponent(text); } catch { return text; } }
  function reveal(index) {
    toggle(index, true);
    // An item that is not on the screen has only an estimated height: its position is right once it has been drawn.
    const show = () => rows[index].item.scrollIntoView();
    show();
    requestAnimationFrame(() => { show(); setTimeout(show, 50); });
  }

  function facets(sought) {
    const lists = FACETS.map(([key, label]) => {
      const counts = new Map();
      for (const flow of flows) {
        if (!passes(flow, sought, key)) continue;
        for (const value of new Set(values(flow, key))) counts.set(value, (counts.get(value) || 0) + 1);
      }
      for (const value of chosen.get(key)) if (!counts.has(value)) counts.set(value, 0);
      const entries = [...counts].filter(([value]) => value).sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1));
      return facet(key, label, entries);
    });
    $("facet-lists").replaceChildren(...lists.filter(Boolean));
  }

  function facet(key, label, entries) {
    if (!entries.length) return null;
    const most = Math.max(1, ...entries.map(([, count]) => count));
    const all = unfolded.has(key) || entries.length <= SHOWN + 1;
    const box = make("fieldset", "facet", make("legend", "", label));
    for (const [value, count] of all ? entries : entries.filter(([v], at) => at < SHOWN || chosen.get(key).has(v))) {
      const bar = make("i", "");
      bar.style.width = `${(100 * count) / most}%`;
      const name = key === "state" ? STATES[value] : visible(value);
      const button = make("button", "", bar, make("span", "", name), make("span", "", number(count)));
      button.type = "button";
      button.title = name;
      button.dataset.key = key;
      button.dataset.value = value;
      button.setAttribute("aria-pressed", String(chosen.get(key).has(value)));
      button.addEventListener("click", () => {
        choose(key, value);
        [...document.querySelectorAll(".facet button")].find((b) => b.dataset.key === key && b.dataset.value === value)?.focus();
      });
      box.append(button);
    }
    if (entries.length > SHOWN + 1) {
      const more = make("button", "more", make("span", "", unfolded.has(key) ? "Show fewer" : `Show all ${number(entries.length)}`));
      more.type = "button";
      more.addEventListener("click", () => { if (!unfolded.delete(key)) unfolded.add(key); update(); });
      box.append(more);
    }
    return box;
  }

  // One recording

  function detail(flow, index) {
    const held = flow.held.reduce((most, [from, to]) => Math.max(most, to - from), 0);
    const facts = [flow.where, flow.started.slice(0, 19).replace("T", " "), held >= 100 ? `held for ${seconds(held)}` : "", ...flow.flags, flow.defect.length ? `defect: ${flow.defect.join(", ")}` : ""];
    const box = make("div", "detail", make("p", "facts", visible(facts.filter(Boolean).join(" · "))));
    flow.calls.forEach((call, at) => box.append(callBox(call, at, flow.calls.length)));
    if (!flow.calls.length) box.append(make("p", "facts", "There is no tool call in this answer."));
    if (flow.request_mended) {
      if (flow.request_steps) box.append(make("p", "facts", visible(`mended in the request: ${flow.request_steps}`)));
      box.append(bodyBox("The request, before and after", index, (bodies) => (
        ["sides", lines("before", bodies.request, bodies.request_after, "gone"), lines("after", bodies.request_after, bodies.request, "new")])));
    }
    box.append(streamBox(flow, index));
    return box;
  }

  function callBox(call, at, count) {
    const state = { valid: "untouched", repaired: "mended", refused: "refused" }[call.status];
    const word = { valid: "unchanged", repaired: "mended", refused: call.dropped ? "refused and dropped" : "refused" }[call.status];
    const received = call.received_name ?? call.name;
    const title = make("h2", "", count > 1 ? `${at + 1}.` : "",
      received !== call.name ? make("s", "", visible(received) || "(no name)") : "",
      make("span", "", visible(call.name) || "(no name)"), make("span", `pill is-${state}`, word));
    const box = make("section", "call", title);
    if (call.steps?.length) box.append(make("ul", "steps", ...call.steps.map((step) => make("li", "", visible(step)))));
    if (call.reason) box.append(make("p", "reason", visible(call.reason)));
    const before = call.received_arguments ?? call.arguments;
    if (before === call.arguments) {
      box.append(make("div", "sides one", side("arguments, unchanged", [[0, before]])));
    } else {
      const parts = difference(before, call.arguments);
      box.append(make("div", "sides", side("before", parts.filter(([kind]) => kind <= 0)),
        side(call.dropped ? "after: nothing, the call was dropped" : "after", parts.filter(([kind]) => kind >= 0))));
    }
    return box;
  }

  function side(caption, parts) {
    const pre = make("pre", "");
    for (const [kind, text] of parts) {
      pre.append(kind && !blank(text) ? make("mark", kind < 0 ? "gone" : "new", visible(text)) : visible(text));
    }
    return make("figure", "", make("figcaption", "", caption), copyButton(parts.map(([, text]) => text).join("")), pre);
  }

  // Copies the original text, with its hidden characters.
  function copyButton(text) {
    const button = make("button", "copy", "Copy");
    button.type = "button";
    button.addEventListener("click", async () => {
      try { await navigator.clipboard.writeText(text); button.textContent = "Copied"; } catch { button.textContent = copyOldWay(text) ? "Copied" : "Not allowed"; }
      setTimeout(() => { button.textContent = "Copy"; }, 1500);
    });
    return button;
  }
  function copyOldWay(text) {
    const area = make("textarea", "");
    area.value = text;
    document.body.append(area);
    area.select();
    const done = document.execCommand("copy");
    area.remove();
    return done;
  }

  function streamBox(flow, index) {
    const [before, after] = flow.bytes;
    const what = flow.same ? `The answer passed unchanged: ${number(before)} bytes`
      : `The answer itself: ${number(before)} bytes before, ${number(after)} after`;
    return bodyBox(what, index, (bodies) => flow.same ? ["sides one", lines("unchanged", bodies.before, null, "")]
      : ["sides", lines("before", bodies.before, bodies.after, "gone"), lines("after", bodies.after, bodies.before, "new")]);
  }

  function bodyBox(what, index, sides) {
    const box = make("details", "stream", make("summary", "", what));
    box.addEventListener("toggle", () => {
      if (!box.open || box.childElementCount > 1) return;
      const held = document.getElementById(`body-${index}`);
      if (held) box.append(make("div", ...sides(JSON.parse(held.textContent))));
      else box.append(make("p", "facts", "Too large for this page: see the recording."));
    });
    return box;
  }

  function lines(caption, text, other, className) {
    const known = other === null ? null : new Set(other.split("\n"));
    const pre = make("pre", "");
    for (const line of text.split("\n")) {
      pre.append(make("span", known && line && !known.has(line) ? `line ${className}` : "line", visible(line) || "\u200a"));
    }
    return make("figure", "", make("figcaption", "", caption), copyButton(text), pre);
  }

  // The difference of two texts: [-1 gone | 0 kept | 1 new, text] in order, by words (Myers' algorithm).

  function difference(old, now) {
    const a = old.match(/[A-Za-z0-9_]+|\s+|[^]/gu) || [], b = now.match(/[A-Za-z0-9_]+|\s+|[^]/gu) || [];
    let start = 0, end = 0;
    while (start < a.length && start < b.length && a[start] === b[start]) start += 1;
    while (end < a.length - start && end < b.length - start && a[a.length - 1 - end] === b[b.length - 1 - end]) end += 1;
    const x = a.slice(start, a.length - end), y = b.slice(start, b.length - end);
    const middle = (x.length + y.length <= MOST_TOKENS && edits(x, y)) || [[-1, x.join("")], [1, y.join("")]];
    const parts = [[0, a.slice(0, start).join("")], ...middle, [0, a.slice(a.length - end).join("")]];
    const joined = [];
    for (const [kind, text] of parts) {
      if (!text) continue;
      const last = joined.at(-1);
      if (last && last[0] === kind && blank(last[1]) === blank(text)) last[1] += text;
      else joined.push([kind, text]);
    }
    return joined;
  }

  // Spaces between JSON tokens have no meaning, so a change of them is not marked.
  function blank(text) { return /^ +$/.test(text); }

  function edits(a, b) {
    const trace = [];
    let best = new Map([[1, 0]]);
    for (let d = 0; d <= Math.min(a.length + b.length, MOST_EDITS); d += 1) {
      trace.push(new Map(best));
      for (let k = -d; k <= d; k += 2) {
        const down = k === -d || (k !== d && (best.get(k - 1) ?? -1) < (best.get(k + 1) ?? -1));
        let x = down ? best.get(k + 1) : best.get(k - 1) + 1;
        while (x < a.length && x - k < b.length && a[x] === b[x - k]) x += 1;
        best.set(k, x);
        if (x >= a.length && x - k >= b.length) return walk(trace, a, b);
      }
    }
    return null;
  }

  function walk(trace, a, b) {
    const parts = [];
    let x = a.length, y = b.length;
    for (let d = trace.length - 1; d >= 0; d -= 1) {
      const best = trace[d], k = x - y;
      const down = k === -d || (k !== d && (best.get(k - 1) ?? -1) < (best.get(k + 1) ?? -1));
      const k0 = down ? k + 1 : k - 1, x0 = best.get(k0), y0 = x0 - k0;
      while (x > x0 && y > y0) { x -= 1; y -= 1; parts.push([0, a[x]]); }
      if (d > 0) { parts.push(down ? [1, b[y0]] : [-1, a[x0]]); x = x0; y = y0; }
    }
    return parts.reverse();
  }

  // The head of the page

  function summary() {
    const count = { mended: 0, refused: 0, stream: 0, request: 0, gathered: 0, untouched: 0 };
    const calls = { repaired: 0, refused: 0, valid: 0 };
    for (const flow of flows) {
      count[flow.state] += 1;
      for (const call of flow.calls) calls[call.status] += 1;
    }
    const tiles = [["recordings", flows.length], ["tool calls", calls.repaired + calls.refused + calls.valid],
      ["calls mended", calls.repaired], ["calls refused", calls.refused], ["calls unchanged", calls.valid]];
    $("tiles").append(...tiles.map(([label, value]) => make("div", "", make("dt", "", label), make("dd", "", number(value)))));
    $("about").textContent = visible(`${report.directory} · ${report.made} · toolfix ${report.version}`);
    for (const [state, value] of Object.entries(count)) {
      if (!value) continue;
      const part = stateButton(state, `${STATES[state]}: ${many(value, "recording")}`);
      part.style.flexGrow = String(value);
      part.title = `${STATES[state]}: ${many(value, "recording")}`;
      $("share").append(part);
      const key = stateButton(state, "");
      key.append(make("i", ""), `${STATES[state]} `, make("b", "", number(value)));
      $("keys").append(make("li", "", key));
    }
    $("keys").append(make("li", "", `of ${many(flows.length, "recording")}`));
  }

  function stateButton(state, label) {
    const button = make("button", `is-${state}`);
    button.type = "button";
    button.dataset.state = state;
    if (label) button.setAttribute("aria-label", label);
    button.addEventListener("click", () => choose("state", state));
    return button;
  }

  // When calls arrived and how long they were held: one bar for each, in separate rows if they overlap.

  const seconds = (ms) => ms < 1000 ? `${Math.round(ms)} ms` : `${(ms / 1000).toFixed(1)} s`;
  function timeline() {
    const bars = flows.flatMap((flow, index) => flow.held.map(([from, to]) => (
      { index, state: flow.state, from: Date.parse(flow.started) + from, to: Date.parse(flow.started) + to })))
      .filter((bar) => !Number.isNaN(bar.from));
    if (bars.length < 2) return;
    bars.sort((a, b) => a.from - b.from);
    const first = bars[0].from, last = Math.max(...bars.map((bar) => bar.to)), span = Math.max(1, last - first);
    const free = [];
    for (const bar of bars) {
      const gap = span / 200;
      let lane = free.findIndex((until) => until <= bar.from);
      if (lane < 0) lane = free.length < MOST_LANES ? free.length : 0;
      free[lane] = bar.to + gap;
      const mark = make("button", `is-${bar.state}`);
      mark.type = "button";
      mark.style.left = `min(${(100 * (bar.from - first)) / span}%, 100% - 4px)`;
      mark.style.width = `${(100 * (bar.to - bar.from)) / span}%`;
      mark.style.top = `${4 + lane * 11}px`;
      mark.title = `${visible(flows[bar.index].title)}: held for ${seconds(bar.to - bar.from)}`;
      mark.setAttribute("aria-label", mark.title);
      mark.addEventListener("click", () => { opened = flows[bar.index].name; reset(); reveal(bar.index); });
      $("timeline").querySelector("div").append(mark);
    }
    $("timeline").hidden = false;
    $("timeline").querySelector("div").style.height = `${free.length * 11 + 5}px`;
    $("timeline").querySelector("figcaption").textContent = `When calls arrived, and how long each was held (the longest: ${
      seconds(Math.max(...bars.map((bar) => bar.to - bar.from)))})`;
    const [from, to] = $("timeline").querySelectorAll("span");
    from.textContent = new Date(first).toISOString().slice(0, 19).replace("T", " ");
    to.textContent = `${new Date(last).toISOString().slice(0, 19).replace("T", " ")} UTC`;
  }

  // Keys

  function shown() { return rows.filter((row) => !row.item.hidden); }
  function move(by) {
    const list = shown();
    if (!list.length) return;
    const at = list.findIndex((row) => row.item.contains(document.activeElement));
    const next = list[at < 0 ? (by > 0 ? 0 : list.length - 1) : Math.min(list.length - 1, Math.max(0, at + by))];
    next.button.focus({ preventScroll: true });
    next.item.scrollIntoView({ block: "nearest" });
  }
  function reset() {
    $("query").value = "";
    for (const set of chosen.values()) set.clear();
    update();
  }
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const typing = document.activeElement === $("query");
    if (event.key === "Escape") { if (typing && !$("query").value) $("query").blur(); else reset(); return; }
    if (typing && event.key === "Enter") { event.preventDefault(); move(1); return; }
    if (typing) return;
    if (event.key === "/") { event.preventDefault(); $("query").focus(); $("query").select(); }
    else if (event.key === "j") move(1);
    else if (event.key === "k") move(-1);
    else if (event.key === "Enter" && document.activeElement === document.body) move(1);
  });
  $("query").addEventListener("input", update);
  $("reset").addEventListener("click", () => { reset(); $("query").focus(); });

  if (matchMedia("(max-width: 860px)").matches) $("facets").open = false;
  summary();
  timeline();
  recall();
  addEventListener("hashchange", recall);
})();
