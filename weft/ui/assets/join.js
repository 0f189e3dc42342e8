"use strict";
/* The join itself: what was chosen and why, its window as a drawing, its state and what bounds it. */

function joinView() {
  const box = h("div", {}), held = new Chart({ title: "Rows held", kind: "stack", series: HELD, format: short, height: 190 });
  const bound = h("p", { class: "note" });
  const element = h("div", {}, box, section("State", null, bound, h("div", { class: "grid" }, held.element)));
  return { element, update(query) {
    const { join, line, points } = query;
    put(box, [join, line.path, line.query, room(720), matchMedia("(prefers-color-scheme: dark)").matches], () => [
      section("Window", null, h("p", {}, join.window), windowPicture(join), h("p", { class: "note" }, lateness(join.drawn))),
      section("How it runs", join.explain.length ? null : "The driver's journal has the whole explanation; this query has none (it runs without Spark, or an earlier version of Weft started it).",
        h("dl", { class: "explain" }, (join.explain.length ? join.explain : plainFacts(join)).map(([name, text]) => h("div", {}, h("dt", {}, name), h("dd", { class: /join|residual|filter|matrix/.test(name) ? "mono" : null }, text))))),
      section("Columns kept", null, h("dl", { class: "explain" }, ["left", "right"].map((side) => h("div", {}, h("dt", {}, side), h("dd", { class: "mono" }, join.schemas[side] || "none"))),
        h("div", {}, h("dt", {}, "state path"), h("dd", { class: "mono" }, line.path + "/" + line.query))))]);
    say(bound, (join.bound ? "Bound: " + join.bound + ". " : "") + growth(points));
    held.update({ batches: points.map((p) => p.batch), at: points.map((p) => p.at), marks: [], values: heldOf(points) });
  } };
}

function lateness(drawn) {
  if (!["within", "tumbling"].includes(drawn.kind)) return "";
  return drawn.delay_text ? `A row may come ${drawn.delay_text} late; older rows are dropped and counted.` : "No delay is set: no row is late, and no row can be forgotten.";
}

function plainFacts(join) {
  return [["join", join.condition + (join.self_join ? " (self join)" : "")], ["kind", join.kind], ["window", join.window], ...(join.asof ? [["as of", join.asof]] : [])];
}

/* The state of the newer half of the batches against that of the older one. */
function growth(points) {
  if (points.length < 8) return "";
  const half = Math.floor(points.length / 2), mean = (some) => some.reduce((a, p) => a + p.held[0] + p.held[1] + p.whole, 0) / some.length;
  const before = mean(points.slice(0, half)), after = mean(points.slice(half));
  if (!before) return "";
  const ratio = after / before;
  return ratio > 1.1 ? `In the newer half of these batches the state is ${trim(ratio)} times what it was in the older half.` : ratio < 0.9 ? "The state is shrinking." : "The state is steady.";
}

function windowPicture(join) {
  const drawn = join.drawn, wide = room(720), left = wide < 500 ? 46 : 70, end = wide - 12;
  if (drawn.kind === "within") {
    const whole = Math.max(1, drawn.before + drawn.after), delay = drawn.delay || 0, unit = (end - left - 60) / Math.max(whole, delay * 1.2), x0 = left + 30 + drawn.before * unit;
    const from = x0 - drawn.before * unit, to = x0 + drawn.after * unit, [one, two] = join.self_join ? ["b", "a"] : ["l", "r"];
    return frameOf(wide, 144, `A left row meets right rows from ${drawn.texts[0]} before to ${drawn.texts[1]} after it`, [
      s("line", { x1: left, x2: end, y1: 40, y2: 40, css: { stroke: css("--left"), "stroke-width": 2 } }), s("line", { x1: left, x2: end, y1: 108, y2: 108, css: { stroke: css("--right"), "stroke-width": 2 } }),
      s("text", { class: "label", x: 0, y: 44 }, join.self_join ? "a" : "left"), s("text", { class: "label", x: 0, y: 112 }, join.self_join ? "b" : "right"),
      s("path", { d: `M${x0} 40L${from} 108H${to}Z`, css: { fill: css("--accent-soft") } }), s("rect", { x: from, y: 102, width: Math.max(2, to - from), height: 12, rx: 2, css: { fill: css("--right") } }),
      s("circle", { cx: x0, cy: 40, r: 6, css: { fill: css("--left") } }), s("text", { class: "label mono", x: x0, y: 24, "text-anchor": "middle" }, one === "l" ? "l" : "a"),
      s("text", { x: (from + x0) / 2, y: 132, "text-anchor": "middle" }, drawn.before ? drawn.texts[0] + " before" : ""), s("text", { x: (to + x0) / 2, y: 132, "text-anchor": "middle" }, drawn.after ? drawn.texts[1] + " after" : ""),
      s("line", { x1: x0, x2: x0, y1: 46, y2: 114, class: "tick", css: { "stroke-dasharray": "2 3" } }),
      s("text", { x: end, y: 60, "text-anchor": "end" }, "time →")]);
  }
  if (drawn.kind === "last" || drawn.kind === "groups") {
    const parts = [], number = 26, each = (wide - 10) / number, kept = drawn.kind === "last" ? 8 : 6;
    for (let at = 0; at < number; at++) {
      const here = drawn.kind === "last" ? at >= number - kept : Math.floor(at / kept) === 3;
      parts.push(s("rect", { x: at * each, y: 20, width: each - 4, height: 26, rx: 3, css: { fill: css(here ? "--right" : "--grid") } }));
    }
    const text = drawn.kind === "last" ? `a new row meets the last ${count(drawn.rows)} rows of the other side` : `rows meet within groups of ${count(drawn.rows)} rows`;
    parts.push(s("text", { x: 0, y: 70 }, text), s("text", { x: number * each, y: 70, "text-anchor": "end" }, "arrival →"));
    return frameOf(wide, 80, text, parts);
  }
  if (drawn.kind === "tumbling") {
    const parts = [];
    const each = wide / 4;
    for (let at = 0; at < 4; at++) parts.push(s("rect", { x: at * each, y: 14, width: each - 6, height: 44, rx: 3, css: { fill: css(at === 2 ? "--accent-soft" : "--grid") } }));
    [[0.03, "--left"], [0.1, "--right"], [0.31, "--right"], [0.53, "--left"], [0.58, "--right"], [0.68, "--left"], [0.8, "--left"], [0.9, "--right"]].forEach(([x, colour]) => parts.push(s("circle", { cx: x * wide, cy: 36, r: 5, css: { fill: css(colour) } })));
    parts.push(s("text", { x: 0, y: 80 }, `windows of ${drawn.size}: rows meet within one`), s("text", { x: wide - 6, y: 80, "text-anchor": "end" }, "time →"));
    return frameOf(wide, 90, `Tumbling windows of ${drawn.size}`, parts);
  }
  return h("p", { class: "note" }, "Every row can meet every row of the other side: the full history is kept.");
}
