"use strict";
/* Where data come from, which page is shown, and when it is drawn anew. */

const frozen = document.getElementById("weft-data") ? JSON.parse(document.getElementById("weft-data").textContent) : null;
let skew = 0;
const now = () => (frozen ? frozen.list.now : Date.now() + skew);
const KEPT = 1500;

const store = {
  list: { paths: [], queries: [], trouble: [], now: 0 }, queries: new Map(), plans: new Map(), named: new Map(),

  async get(path) {
    const answer = await fetch(path, { headers: { accept: "application/json" }, credentials: "same-origin" });
    if (!answer.ok) throw new Error(answer.status === 404 ? "gone" : `The server answers ${answer.status}.`);
    return answer.json();
  },

  async lines() {
    this.list = frozen ? frozen.list : await this.get("/api/queries");
    if (!frozen) skew = this.list.now - Date.now();
    return this.list;
  },

  /* A query with all that came since it was last asked for. */
  async query(key) {
    const known = this.queries.get(key), line = this.list.queries.find((one) => one.key === key);
    if (known && line && known.line.version === line.version && known.line.status === line.status && known.line.message === line.message) return known;
    const since = known && known.raw.length ? known.raw.at(-1).batch - 1 : -1; /* the newest one may have grown */
    const told = frozen ? frozen.queries[key] : await this.get(`/api/query/${encodeURIComponent(key)}?since=${since}`);
    if (!told) throw new Error("gone");
    const newest = told.line.batch ?? -1, before = known || { raw: [], life: [], tasks: [] };
    const merged = (old, fresh, number) => { const first = fresh.length ? number(fresh[0]) : Infinity; return [...old.filter((one) => number(one) < first && number(one) <= newest), ...fresh].slice(-KEPT); };
    const query = { line: told.line, plans: told.plans, join: told.join, documents: told.documents,
      raw: merged(before.raw, told.batches, (one) => one.batch), life: merged(before.life, told.life, (one) => one[0]), tasks: merged(before.tasks, told.tasks, (one) => one.batch).slice(-240) };
    query.points = pointsOf(query);
    this.queries.set(key, query);
    return query;
  },

  async plan(key, batch) {
    const name = `${key} ${batch}`, version = this.named.get(key) || 0;
    const known = this.plans.get(name);
    if (known && known.version === version) return known.plan;
    const plan = frozen ? (frozen.plans[key] || {})[batch] || null : (await this.get(`/api/query/${encodeURIComponent(key)}/plan?batch=${batch}`)).plan;
    this.plans.set(name, { plan, version });
    return plan;
  },

  async keys(key) {
    if (frozen) return frozen.keys[key] || [];
    return (await this.get(`/api/query/${encodeURIComponent(key)}/keys`)).keys;
  },
};

/* Batches as the charts take them: what tasks told, and before that what the driver's journal has. */
function pointsOf(query) {
  const first = query.raw.length ? query.raw[0].batch : Infinity;
  const points = query.life.filter((one) => one[0] < first).map(([batch, at, total, joined, left, right, pairs, rows, size, lateLeft, lateRight]) => ({
    batch, at, rows: [left, right], pairs, held: [0, 0], whole: rows, late: [lateLeft, lateRight], bytes: size, lag: null, imbalance: null, documents: null,
    time: { spark: (total - joined) / 1000, route: 0, state: 0, step: 0, whole: joined / 1000 } }));
  for (const one of query.raw) {
    const state = one.seconds.state || 0, step = one.seconds.pairs || 0, spark = one.spark;
    points.push({ batch: one.batch, at: one.at, rows: one.rows, pairs: one.pairs, held: one.held, whole: 0, late: one.late, bytes: spark ? spark.bytes : null, imbalance: one.imbalance, documents: one.documents,
      lag: one.newest && query.join.timed && one.at ? one.newest.map((time) => (time === null ? null : one.at / 1000 - time / 1e6)) : null,
      time: { spark: spark ? Math.max(0, spark.total - spark.joined) : 0, route: spark ? Math.max(0, spark.joined - state - step) : 0, state, step, whole: 0 } });
  }
  return points;
}

const PAGES = [["", "Overview", overviewView], ["balance", "Balance", balanceView], ["plan", "Plan", planView], ["documents", "Documents", documentsView], ["join", "Join", joinView]];

const app = { root: document.getElementById("app"), shown: null, view: null, main: h("main", { id: "main", tabindex: -1 }) };

function where() {
  const [, key = "", page = ""] = decodeURIComponent(location.hash.slice(1)).split("/");
  return { key: key || (store.list.queries.length === 1 ? store.list.queries[0].key : ""), page };
}

function headOf(query, page) {
  const { line } = query;
  const pages = PAGES.filter(([name]) => name !== "documents" || query.documents);
  return [h("header", {},
    h("p", { class: "facts" }, chips(line), line.name ? h("span", {}, line.name) : null, h("span", { class: "mono" }, line.query), h("span", {}, line.batch === null ? "no batch yet" : `batch ${count(line.batch)}, ${ago(line.at, now())}`)),
    h("h1", { class: "title" }, line.condition || "not known yet"), h("p", { class: "facts" }, h("span", {}, line.window), h("span", {}, `${line.scheme}, ${plural(line.tasks, "task")}`))),
    h("nav", { class: "tabs", "aria-label": "Pages of this query" }, pages.map(([name, title]) => h("a", { href: `#/${line.key}${name ? "/" + name : ""}`, "aria-current": name === page ? "page" : null }, title)))];
}

async function show() {
  const { key, page } = where(), wanted = key + "/" + page;
  const query = key ? await store.query(key) : null;
  if (app.shown !== wanted) {
    app.shown = wanted;
    app.head = h("div", {});
    const build = key ? (PAGES.find(([name]) => name === page) || PAGES[0])[2] : listView;
    app.view = build(store);
    app.main.replaceChildren(app.head, app.view.element);
  }
  document.title = query ? `${query.line.condition || query.line.query.slice(0, 8)} · Weft` : "Weft";
  if (query) put(app.head, [query.line, page, Math.floor(now() / 2000)], () => headOf(query, page));
  await app.view.update(query || store.list);
  app.main.dataset.version = String(query ? query.line.batch : store.list.version);
}

let busy = null, again = false;
function refresh() {
  if (busy) { again = true; return busy; }
  busy = (async () => {
    try { do { again = false; await store.lines(); await show(); } while (again); lost(""); }
    catch (error) { if (error.message === "gone") { location.hash = "#/"; } else lost(error.message); }
    finally { busy = null; }
  })();
  return busy;
}

function lost(why) {
  put(app.lost, why, () => (why ? h("p", { class: "told warn", role: "status" }, `The page is not up to date: ${why} It tries again.`) : null));
}

function start() {
  const mark = s("svg", { viewBox: "0 0 32 32", "aria-hidden": "true" }, s("path", { d: "M4 10h9M21 10h7M4 22h3M15 22h13", css: { fill: "none", stroke: css("--left"), "stroke-width": 4, "stroke-linecap": "round" } }), s("path", { d: "M11 4v3M11 15v13M23 4v13M23 25v3", css: { fill: "none", stroke: css("--right"), "stroke-width": 4, "stroke-linecap": "round" } }));
  app.paths = h("span", { class: "paths" });
  app.lost = h("div", {});
  app.root.replaceChildren(h("div", { class: "frame" }, h("div", {},
    h("div", { class: "bar" }, h("a", { class: "brand", href: "#/" }, mark, "Weft"), app.paths), app.main, app.lost),
  ), h("footer", { class: "foot" }, frozen ? `Written ${new Date(frozen.list.now).toLocaleString("en-GB")} by weft state plot.` : "Read from the state path; nothing here touches the join."));
  addEventListener("hashchange", () => { scrollTo({ top: 0 }); refresh().then(() => app.main.focus({ preventScroll: true })); });
  let turned = 0;
  addEventListener("resize", () => { clearTimeout(turned); turned = setTimeout(() => app.view && refresh(), 150); });
  refresh().then(() => say(app.paths, store.list.queries.length > 1 ? h("a", { href: "#/" }, plural(store.list.queries.length, "query", "queries")) : store.list.paths.join(", ")));
  if (frozen) return;
  const events = new EventSource("/api/events");
  events.onmessage = () => refresh();
  events.onerror = () => lost("the server does not answer.");
  setInterval(() => { if (!document.hidden) refresh(); }, 10000);
}

start();
