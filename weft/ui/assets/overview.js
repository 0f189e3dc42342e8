"use strict";
/* All queries in a list, and one query in charts. */

const STATUS = {
  running: "running", silent: "silent", stopped: "stopped", failed: "failed", starting: "before its first batch",
};

function chips(line) {
  const told = [[line.status, STATUS[line.status] || line.status]];
  if (line.behind) told.push(["behind", "behind its trigger"]);
  if (line.moving) told.push(["moving", "migrating"]);
  const late = line.late[0] + line.late[1];
  if (late) told.push(["late", `${short(late)} late rows dropped`]);
  if (line.refused) told.push(["late", `${short(line.refused)} lines refused`]);
  if (line.trouble.length) told.push(["damaged", "damaged files"]);
  return h("span", { class: "chips" }, told.map(([kind, text]) => h("span", { class: `chip ${kind}` }, text)));
}

function queryRow(line, now) {
  return h("a", { class: "query", href: `#/${line.key}` },
    h("div", {}, chips(line), h("h2", { class: "title" }, line.condition || "not known yet"),
      h("p", { class: "facts" }, line.name ? h("span", {}, line.name) : null, h("span", { class: "mono" }, line.query.slice(0, 8)), h("span", {}, line.window))),
    h("div", { class: "numbers" },
      h("span", {}, h("b", {}, short(line.rows_per_s)), " rows/s"), h("span", {}, h("b", {}, short(line.pairs_per_s)), " pairs/s"),
      h("span", {}, h("b", {}, short(line.held[0] + line.held[1])), " rows held"),
      h("span", {}, h("b", {}, plural(line.tasks, "task"))),
      h("span", {}, line.batch === null ? "no batch" : `batch ${count(line.batch)}`, line.at ? `, ${ago(line.at, now)}` : "")));
}

function listView() {
  const list = h("div", {}), note = h("p", { class: "note" }), element = h("div", {}, h("h1", { class: "title words" }, "Queries"), note, list);
  return { element, update(told) {
    const queries = told.queries;
    say(note, queries.length ? `${plural(queries.length, "join")} under ${told.paths.join(", ")}.`
      : `No query has state under ${told.paths.join(", ")} yet. A query appears here with its first batch.`);
    put(list, [queries, Math.floor(now() / 5000)], () => [told.trouble.map((one) => h("p", { class: "told warn" }, one)), queries.map((line) => queryRow(line, now()))]);
  } };
}

function figure(name, value, small, alert) {
  return h("div", { class: "figure" }, h("dt", {}, name), h("dd", { class: alert ? "alert" : null }, value, small ? h("small", {}, small) : null));
}

/* Before the versions that are kept, only the driver's journal tells of a batch, and it does not tell everything apart. */
const HELD = [{ name: "left", colour: "left" }, { name: "right", colour: "right" }, { name: "both, older", colour: "old" }];
const heldOf = (points) => [points.map((p) => p.held[0]), points.map((p) => p.held[1]), points.map((p) => p.whole)];

function overviewView() {
  const figures = h("dl", { class: "figures" }), told = h("div", {});
  const two = [{ name: "left", colour: "left" }, { name: "right", colour: "right" }];
  const per = (v) => short(v);
  const charts = {
    rows: new Chart({ title: "Rows in, per batch", series: two, format: per }),
    pairs: new Chart({ title: "Pairs out, per batch", series: [{ name: "pairs", colour: "pairs" }], format: per }),
    time: new Chart({ title: "Time of a batch", kind: "stack", clip: true, format: seconds, series: [
      { name: "Spark", colour: "spark" }, { name: "read, route, write", colour: "route" }, { name: "state", colour: "state" }, { name: "pairs", colour: "step" }, { name: "all but Spark, older", colour: "old" }] }),
    held: new Chart({ title: "Rows held", kind: "stack", series: HELD, format: per }),
    lag: new Chart({ title: "Newest event time behind the clock", clip: true, series: two, format: seconds }),
    late: new Chart({ title: "Late rows dropped", kind: "bar", series: two, format: per }),
  };
  const lagBox = h("div", {}, charts.lag.element);
  const element = h("div", {}, told, figures,
    section("Batch by batch", "Triangles mark batches that began with a new plan. The newest batch is on the right.",
      h("div", { class: "grid two" }, charts.rows.element, charts.pairs.element, charts.time.element, charts.held.element, lagBox, charts.late.element)));
  return { element, update(query) {
    const { line, points, join } = query, last = points.at(-1);
    put(told, [line.message, line.trouble, line.moving, line.status], () => [
      line.message ? h("p", { class: "told", role: "alert" }, line.message) : null,
      line.moving ? h("p", { class: "told warn" }, "The next batch begins with a new plan: " + line.moving) : null,
      line.trouble.map((one) => h("p", { class: "told warn" }, one))]);
    const lags = last && last.lag ? last.lag : [null, null];
    put(figures, [line, lags], () => [
      figure("Rows in", line.rows_per_s === null ? "–" : short(line.rows_per_s) + "/s", last ? `${short(last.rows[0] + last.rows[1])} in the last batch` : ""),
      figure("Pairs out", line.pairs_per_s === null ? "–" : short(line.pairs_per_s) + "/s", last ? `${short(last.pairs)} in the last batch` : ""),
      figure("A batch takes", seconds(line.seconds), line.behind ? "longer than its trigger" : "mean of the last batches", line.behind),
      figure("State", short(line.held[0] + line.held[1]), "rows" + (line.bytes ? `, ${bytes(line.bytes)}` : "")),
      join.timed && lags[0] !== null ? figure("Behind the clock", seconds(Math.max(lags[0] || 0, lags[1] || 0)), `left ${seconds(lags[0])}, right ${seconds(lags[1])}`)
        : figure("Tasks", count(line.tasks), line.scheme),
      figure("Late rows", short(line.late[0] + line.late[1]), `${count(line.late[0])} left, ${count(line.late[1])} right`, line.late[0] + line.late[1] > 0)]);
    const batches = points.map((p) => p.batch), at = points.map((p) => p.at);
    const marks = query.plans.filter((p) => p.batch > 0).map((p) => ({ batch: p.batch, text: p.reason || p.change }));
    const give = (chart, ...values) => chart.update({ batches, at, marks, values });
    give(charts.rows, points.map((p) => p.rows[0]), points.map((p) => p.rows[1]));
    give(charts.pairs, points.map((p) => p.pairs));
    give(charts.time, ...["spark", "route", "state", "step", "whole"].map((part) => points.map((p) => p.time[part])));
    give(charts.held, ...heldOf(points));
    give(charts.late, points.map((p) => p.late[0]), points.map((p) => p.late[1]));
    lagBox.hidden = !join.timed || !points.some((p) => p.lag);
    give(charts.lag, points.map((p) => p.lag && p.lag[0]), points.map((p) => p.lag && p.lag[1]));
  } };
}
