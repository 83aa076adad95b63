
"use strict";
(() => {
const $ = id => document.getElementById(id);
const make = (tag, className, text) => {
  const element = document.createElement(tag);
  if (className) element.className = className;
  if (text !== undefined) element.textContent = text;
  return element;
};
const about = JSON.parse(document.querySelector("script.about").textContent);
const nodes = [];
for (const block of document.querySelectorAll("script.rows")) {
  for (const row of JSON.parse(block.textContent)) nodes.push(row);
  block.remove();
}
const position = new Map(nodes.map((node, at) => [node.i, at]));
const children = nodes.map(() => []);
const roots = [];
nodes.forEach((node, at) => (node.p === undefined ? roots : children[node.p]).push(at));
const actions = new Map();
for (const action of about.actions) actions.set(action.callId, [...(actions.get(action.callId) || []), action]);
const silent = new Set(["other", "model", "thinking", "label"]);
const number = value => value.toLocaleString("en");
const dollars = value => "$" + value.toFixed(value < 1 ? 4 : 2);
const when = time => time ? new Date(time).toLocaleString() : "";
const signs = {user: "›", assistant: "●", result: "⚙", bash: "$", compaction: "≡", branch: "↳", custom: "✎", developer: "!", files: "@"};
const names = {user: "User", assistant: "Assistant", bash: "Command", compaction: "Compaction", branch: "Branch summary", custom: "Extension", developer: "Program", files: "Files", result: "Result"};
let leaf = about.leaf !== null && position.has(about.leaf) ? position.get(about.leaf) : nodes.length - 1;
let filter = "default", query = "", openThinking = false, openOutputs = false;
let path = [], onPath = new Set(), results = new Map(), selected = -1;

/* The tree: rows in order, indented where branches part; only those in view are in the page. */
const order = [], depth = new Int32Array(nodes.length);
{
  const stack = roots.map(at => [at, 0]).reverse();
  while (stack.length) {
    const [at, level] = stack.pop();
    order.push(at);
    depth[at] = level;
    const below = children[at];
    const next = below.length > 1 ? level + 1 : level;
    for (let child = below.length - 1; child >= 0; child--) stack.push([below[child], next]);
  }
}
const HEIGHT = 24;
let shown = order;
const onlyCalls = node => node.k === "assistant" && (node.b || []).every(block => block.k === "call" || block.k === "think");
const passes = node => {
  switch (filter) {
    case "all": return true;
    case "user": return node.k === "user";
    case "labelled": return node.l !== undefined;
    case "no-tools": return !silent.has(node.k) && node.k !== "result" && !onlyCalls(node);
    default: return !silent.has(node.k);
  }
};
/* What is read on the page, without its markup: every text in that is escaped, so that a tag is a tag. */
const signsOf = {"&lt;": "<", "&gt;": ">", "&quot;": '"', "&#39;": "'", "&amp;": "&"};
const plain = html => html.replace(/<[^>]*>/g, "").replace(/&(?:lt|gt|quot|#39|amp);/g, sign => signsOf[sign]);
const holds = (node, words) => {
  let text = node.s + " " + (node.l || "") + " " + (node.e || "");
  for (const block of node.b || []) text += " " + (block.h ? plain(block.h) : block.x || block.a || "") + " " + (block.n || "");
  text = text.toLowerCase();
  return words.every(word => text.includes(word));
};
const wordsOf = () => query.toLowerCase().split(/\s+/).filter(word => word);
/* Marks what was searched for in the part of the conversation that is shown. */
function mark() {
  if (!window.Highlight || !CSS.highlights) return;
  CSS.highlights.delete("hit");
  const words = wordsOf(), ranges = [];
  if (!words.length) return;
  const texts = document.createTreeWalker($("log"), NodeFilter.SHOW_TEXT);
  while (texts.nextNode() && ranges.length < 5000) {
    const text = texts.currentNode.data.toLowerCase();
    if (text.length !== texts.currentNode.data.length) continue;
    for (const word of words)
      for (let at = text.indexOf(word); at >= 0; at = text.indexOf(word, at + word.length))
        ranges.push(new StaticRange({startContainer: texts.currentNode, startOffset: at, endContainer: texts.currentNode, endOffset: at + word.length}));
  }
  if (ranges.length) CSS.highlights.set("hit", new Highlight(...ranges));
}
function refilter() {
  const words = wordsOf();
  shown = order.filter(at => passes(nodes[at]) && (!words.length || holds(nodes[at], words)));
  $("found").textContent = number(shown.length) + " of " + number(nodes.length) + " entries";
  $("rows").style.height = shown.length * HEIGHT + "px";
  drawRows();
  mark();
}
function drawRows() {
  const tree = $("tree"), rows = $("rows");
  const first = Math.max(0, Math.floor(tree.scrollTop / HEIGHT) - 10);
  const last = Math.min(shown.length, first + Math.ceil(tree.clientHeight / HEIGHT) + 20);
  const fragment = document.createDocumentFragment();
  for (let line = first; line < last; line++) {
    const at = shown[line], node = nodes[at];
    const row = make("div", "row" + (onPath.has(at) ? " on" : "") + (at === selected ? " sel" : ""));
    row.style.top = line * HEIGHT + "px";
    row.style.paddingLeft = 8 + Math.min(depth[at], 12) * 12 + "px";
    row.setAttribute("role", "treeitem");
    row.title = node.s;
    row.dataset.at = at;
    row.append(make("span", "who", signs[node.k] || "·"), " " + (node.s || node.e || ""));
    if (node.l) row.append(make("span", "label", node.l));
    fragment.append(row);
  }
  rows.replaceChildren(fragment);
}
function revealRow(at) {
  const line = shown.indexOf(at);
  if (line < 0) return;
  const tree = $("tree"), top = line * HEIGHT;
  if (top < tree.scrollTop || top > tree.scrollTop + tree.clientHeight - HEIGHT) tree.scrollTop = Math.max(0, top - tree.clientHeight / 2);
  drawRows();
}

/* The conversation: the branch to the leaf; a part of it is in the page and grows at its ends. */
function walk() {
  path = [];
  for (let at = leaf; at !== undefined && at >= 0; at = nodes[at].p) path.push(at);
  path.reverse();
  onPath = new Set(path);
  results = new Map();
  /* A result belongs to the nearest call before it: some servers number their calls anew in every answer. */
  const open = new Map();
  for (const at of path) {
    const node = nodes[at];
    if (node.k === "assistant") for (const block of node.b || []) if (block.k === "call") open.set(block.c, at);
    if (node.k === "result" && open.has(node.c)) { results.set(open.get(node.c) + ":" + node.c, at); open.delete(node.c); }
  }
  const answered = new Set(results.values());
  path = path.filter(at => !answered.has(at));
}
const PAGE = 60;
let from = 0, to = 0;
function showAround(at) {
  const middle = Math.max(0, at < 0 ? path.length : path.indexOf(at));
  from = Math.max(0, middle - PAGE / 2);
  to = Math.min(path.length, middle + PAGE);
  const log = $("log");
  log.replaceChildren(make("div", "edge"), ...path.slice(from, to).map(draw), make("div", "edge"));
  edges.disconnect();
  edges.observe(log.firstChild);
  edges.observe(log.lastChild);
  mark();
}
const edges = new IntersectionObserver(entries => {
  for (const entry of entries) {
    if (!entry.isIntersecting) continue;
    const log = $("log"), main = $("main");
    if (entry.target === log.firstChild && from > 0) {
      const before = main.scrollHeight, next = Math.max(0, from - PAGE);
      log.firstChild.after(...path.slice(next, from).map(draw));
      from = next;
      main.scrollTop += main.scrollHeight - before;
      edges.unobserve(log.firstChild); edges.observe(log.firstChild);
    } else if (entry.target === log.lastChild && to < path.length) {
      const next = Math.min(path.length, to + PAGE);
      log.lastChild.before(...path.slice(to, next).map(draw));
      to = next;
      edges.unobserve(log.lastChild); edges.observe(log.lastChild);
    }
  }
}, {root: $("main"), rootMargin: "800px"});

function draw(at) {
  const node = nodes[at];
  if (silent.has(node.k) && !node.e && !(node.b && filter === "all")) {
    const line = make("div", "entry small", node.s);
    line.id = "e-" + node.i;
    if ((node.k === "other" || node.k === "label") && filter !== "all") line.hidden = true;
    return line;
  }
  const card = ["compaction", "branch", "custom", "developer", "bash", "files", "result", "other"].includes(node.k);
  const entry = make("article", "entry " + node.k + (card ? " card" : ""));
  entry.id = "e-" + node.i;
  entry.dataset.at = at;
  const meta = make("div", "meta");
  meta.append(make("b", "", names[node.k] || node.s));
  if (node.k === "compaction" || node.k === "custom") meta.append(make("span", "", node.s));
  if (node.m) meta.append(make("span", "", node.m));
  if (node.t) meta.append(make("span", "", when(node.t)));
  if (node.u && node.u[0]) meta.append(make("span", "", number(node.u[0]) + " tokens" + (node.u[2] ? ", " + dollars(node.u[2]) : "")));
  if (node.l) meta.append(make("span", "tag", node.l));
  const link = make("a", "", "#");
  link.href = "#e-" + node.i;
  link.title = "Copy the link to this message";
  link.onclick = () => { if (navigator.clipboard) navigator.clipboard.writeText(link.href).catch(() => {}); };
  meta.append(link);
  entry.append(meta);
  for (const block of node.b || []) entry.append(drawBlock(block, at));
  if (node.e) entry.append(make("div", "error", node.e));
  return entry;
}
function drawBlock(block, at) {
  switch (block.k) {
    case "html": { const box = make("div"); box.innerHTML = block.h; return box; }
    case "think": {
      const box = make("details", "think"), text = make("div");
      box.open = openThinking;
      text.innerHTML = block.h;
      box.append(make("summary", "", "Thinking"), text);
      return box;
    }
    case "call": return drawCall(block, at);
    case "image": return drawImage(block);
    case "diff": return drawDiff(block.x);
    default: return drawText(block.x);
  }
}
const LINES = 24, LETTERS = 4000;
function drawText(text) {
  const lines = text.split("\n", LINES + 1);
  const cut = lines.length > LINES || text.length > LETTERS;
  const box = document.createDocumentFragment();
  const pre = make("pre", "", cut ? lines.slice(0, LINES).join("\n").slice(0, LETTERS) : text);
  box.append(pre);
  if (cut) {
    const more = make("button", "more", "Show all " + number(text.length) + " characters");
    more.onclick = () => {
      const all = pre.classList.toggle("tall");
      pre.textContent = all ? text : lines.slice(0, LINES).join("\n").slice(0, LETTERS);
      more.textContent = all ? "Show less" : "Show all " + number(text.length) + " characters";
    };
    box.append(more);
  }
  return box;
}
function drawDiff(text) {
  const pre = make("pre", "code");
  for (const line of text.split("\n").slice(0, 2000)) {
    /* Lines of some tools carry a number after their sign. */
    const kind = {"+": "da", "-": "dr", "@": "dh"}[line[0]];
    pre.append(kind ? make("span", kind, line || " ") : line + "\n");
  }
  return pre;
}
/* What became of a call. Where several calls of one prompt have one id, it is what was done first behind the answer. */
function actionOf(call, at) {
  let prompt = at;
  while (prompt !== undefined && nodes[prompt].k !== "user") prompt = nodes[prompt].p;
  const id = prompt === undefined ? undefined : nodes[prompt].i;
  const fitting = (actions.get(call) || []).filter(action => action.prompt === undefined || action.prompt === id);
  if (fitting.length < 2) return fitting[0];
  return fitting.filter(action => action.at >= nodes[at].t).sort((one, other) => one.at - other.at)[0] || fitting.at(-1);
}
function drawCall(block, at) {
  const found = results.get(at + ":" + block.c), result = found === undefined ? undefined : nodes[found];
  const action = actionOf(block.c, at);
  const box = make("details", "call" + (result && result.e ? " failed" : ""));
  box.open = openOutputs;
  let hint = "";
  let given = {};
  try { given = JSON.parse(block.a) || {}; } catch { /* shown as it is */ }
  hint = String(given.command ?? given.path ?? given.file_path ?? given.pattern ?? given.query ?? Object.values(given)[0] ?? "");
  const summary = make("summary");
  summary.append(make("span", "name", block.n), make("span", "hint", hint.split("\n")[0].slice(0, 300)));
  if (action) summary.append(make("span", "state " + action.state, action.state));
  else if (!result) summary.append(make("span", "state pending", "no result"));
  box.append(summary);
  const fill = () => {
    if (box.lastChild !== summary || !box.open) return;
    const body = make("div", "body");
    if (action) body.append(make("p", "", action.label));
    const diff = action && action.diff || (result && (result.b || []).find(part => part.k === "diff") || {}).x;
    if (diff) body.append(drawDiff(diff)); else if (block.a !== "{}") body.append(drawGiven(given, block.a));
    if (result) for (const part of result.b || []) if (part.k !== "diff") body.append(drawBlock(part, found));
    box.append(body);
  };
  box.addEventListener("toggle", fill);
  fill();
  return box;
}
/* Replacements are shown as what goes and what comes, texts as texts, the rest as it was given. */
function drawGiven(given, text) {
  const edits = Array.isArray(given.edits) ? given.edits : [given];
  const old = edit => edit && (edit.oldText ?? edit.old_text ?? edit.old_string), next = edit => edit && (edit.newText ?? edit.new_text ?? edit.new_string);
  const marked = (sign, part) => String(part).split("\n").map(line => sign + line).join("\n");
  if (edits.length && edits.every(edit => typeof old(edit) === "string" && typeof next(edit) === "string"))
    return drawDiff(edits.map(edit => marked("-", old(edit)) + "\n" + marked("+", next(edit))).join("\n@@\n"));
  if (typeof given.command === "string" && Object.keys(given).length === 1) return drawText("$ " + given.command);
  if (typeof given.content === "string") return drawDiff(marked("+", given.content));
  return drawText(text);
}
function drawImage(block) {
  if (!/^image\/(png|jpeg|gif|webp)$/.test(block.m) || !/^[A-Za-z0-9+/=\s]*$/.test(block.d)) return make("p", "small", "(a picture that cannot be shown: " + block.m + ")");
  const image = make("img", "shot");
  image.src = "data:" + block.m + ";base64," + block.d;
  image.loading = "lazy";
  image.alt = "Picture";
  image.onclick = () => { $("zoom").firstElementChild.src = image.src; $("zoom").showModal(); };
  return image;
}

/* Going somewhere. */
function choose(at, jump) {
  selected = at;
  if (!onPath.has(at)) {
    leaf = at;
    for (;;) { const below = children[leaf]; if (!below.length) break; leaf = below[below.length - 1]; }
    walk();
  }
  let target = at;
  if (nodes[at].k === "result") for (const [key, value] of results) if (value === at) target = Number(key.split(":")[0]);
  if (jump) {
    let entry = document.getElementById("e-" + nodes[target].i);
    if (!entry || entry.dataset.at === undefined || !path.slice(from, to).includes(target)) { showAround(target); entry = document.getElementById("e-" + nodes[target].i); }
    if (entry) {
      if (target !== at) for (const box of entry.querySelectorAll("details.call")) box.open = true;
      entry.scrollIntoView({block: "start"});
    }
  }
  for (const old of document.querySelectorAll(".entry.cur")) old.classList.remove("cur");
  const entry = document.getElementById("e-" + nodes[target].i);
  if (entry) entry.classList.add("cur");
  revealRow(at);
}
const spoken = () => path.filter(at => !silent.has(nodes[at].k));
function end(which) {
  const stop = spoken().at(which);
  if (stop !== undefined) choose(stop, true);
}
function step(by) {
  const stops = spoken();
  let here = stops.indexOf(selected);
  if (here < 0) {
    const top = $("main").getBoundingClientRect().top + 4;
    const seen = [...document.querySelectorAll(".entry[data-at]")].find(entry => entry.getBoundingClientRect().bottom > top);
    here = seen ? stops.indexOf(Number(seen.dataset.at)) - (by > 0 ? 1 : 0) : by > 0 ? -1 : stops.length;
  }
  const next = stops[Math.min(stops.length - 1, Math.max(0, here + by))];
  if (next !== undefined) choose(next, true);
}
function follow() {
  const at = position.get(decodeURIComponent(location.hash.replace(/^#e-/, "")));
  if (at !== undefined) choose(at, true);
  return at !== undefined;
}
function toggleThinking() {
  openThinking = !openThinking;
  $("show-thinking").setAttribute("aria-pressed", openThinking);
  for (const box of document.querySelectorAll("details.think")) box.open = openThinking;
}
function toggleOutputs() {
  openOutputs = !openOutputs;
  $("show-outputs").setAttribute("aria-pressed", openOutputs);
  for (const box of document.querySelectorAll("details.call")) box.open = openOutputs;
}
function theme(name) { document.documentElement.dataset.theme = name; }
const toggleTheme = () => theme(document.documentElement.dataset.theme === "dark" ? "light" : "dark");
const toggleSide = () => { document.body.classList.toggle("no-side"); drawRows(); };

/* The head. */
document.title = about.title;
$("title").textContent = about.title === "Session" ? (nodes.find(node => node.k === "user") || {s: "Session"}).s : about.title;
const stats = about.stats;
const fact = (name, value) => { const pair = make("div"); pair.append(make("dt", "", name), make("dd", "", value)); $("facts").append(pair); };
fact("Directory", about.cwd);
fact("Started", when(about.started));
fact("Messages", number(stats.totalMessages) + " (" + number(stats.userMessages) + " user, " + number(stats.assistantMessages) + " assistant)");
fact("Tool calls", number(stats.toolCalls));
fact("Tokens", number(stats.tokens.input) + " in, " + number(stats.tokens.output) + " out, " + number(stats.tokens.cacheRead) + " cached");
fact("Cost", dollars(stats.cost));
fact("Session", about.id);
for (const [name, model] of Object.entries(stats.models)) {
  const line = make("tr");
  line.append(make("td", "", name));
  for (const value of [number(model.requests), number(model.tokens.input), number(model.tokens.output), number(model.tokens.cacheRead), dollars(model.cost)]) line.append(make("td", "right", value));
  $("models").querySelector("tbody").append(line);
}
$("models").hidden = !Object.keys(stats.models).length;
$("prompt").hidden = !about.systemPrompt && !about.tools.length;
$("prompt").querySelector("pre").textContent = about.systemPrompt || "";
for (const [name, text] of about.tools) {
  const item = make("li");
  item.append(make("b", "", name), " " + text.split("\n")[0]);
  $("prompt").querySelector("ul").append(item);
}

/* Hands on. */
$("rows").onclick = event => { const row = event.target.closest(".row"); if (row) { choose(Number(row.dataset.at), true); if (innerWidth <= 760) toggleSide(); } };
$("tree").onscroll = drawRows;
addEventListener("resize", drawRows);
addEventListener("hashchange", follow);
let waiting;
$("search").onkeydown = event => { if (event.key === "Enter" && shown.length) { event.preventDefault(); choose(shown[0], true); mark(); } };
$("search").oninput = event => { clearTimeout(waiting); waiting = setTimeout(() => { query = event.target.value; $("tree").scrollTop = 0; refilter(); }, 120); };
$("filters").onclick = event => {
  const chosen = event.target.dataset.filter;
  if (!chosen) return;
  filter = chosen;
  for (const button of $("filters").children) button.setAttribute("aria-pressed", button.dataset.filter === chosen);
  refilter();
  showAround(selected >= 0 && path.includes(selected) ? selected : -1);
};
$("show-side").onclick = toggleSide;
$("show-thinking").onclick = toggleThinking;
$("show-outputs").onclick = toggleOutputs;
$("show-theme").onclick = toggleTheme;
$("show-help").onclick = () => $("help").showModal();
for (const box of document.querySelectorAll("dialog")) box.onclick = () => box.close();
$("grip").onpointerdown = event => {
  event.target.setPointerCapture(event.pointerId);
  event.target.onpointermove = move => { $("side").style.width = Math.max(180, move.clientX) + "px"; };
  event.target.onpointerup = () => { event.target.onpointermove = null; };
};
addEventListener("keydown", event => {
  if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
  if (event.target === $("search")) { if (event.key === "Escape") { $("search").value = ""; query = ""; refilter(); $("search").blur(); } return; }
  const acts = {"/": () => $("search").focus(), j: () => step(1), k: () => step(-1), t: toggleThinking, o: toggleOutputs, s: toggleSide, d: toggleTheme, "?": () => $("help").showModal(), g: () => end(0), G: () => end(-1)};
  if (acts[event.key]) { event.preventDefault(); acts[event.key](); }
});
theme(matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
if (innerWidth <= 760) document.body.classList.add("no-side");
walk();
refilter();
if (!follow()) { showAround(-1); from === 0 ? $("main").scrollTo(0, 0) : $("main").scrollTo(0, $("main").scrollHeight); revealRow(path[path.length - 1]); }
document.documentElement.dataset.ready = nodes.length;
})();
