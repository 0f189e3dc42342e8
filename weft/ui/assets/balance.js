"use strict";
/* Who has how much to do: loads over time, how uneven they are, and the keys behind it. */

const MEASURES = [["kept", "Rows kept", "rows", short], ["asked", "Rows that asked", "rows", short], ["pairs", "Pairs", "pairs", short], ["milliseconds", "Time", "", (v) => seconds(v / 1000)]];

function radios(title, choices, chosen, choose) {
  const name = "r-" + Math.random().toString(36).slice(2);
  return h("fieldset", { class: "choose" }, h("legend", {}, title), choices.map(([value, text]) =>
    h("label", {}, h("input", { type: "radio", name, value, checked: value === chosen, onchange: () => choose(value) }), text)));
}

function balanceView(store) {
  let measure = "kept", query = null;
  const heat = new HeatMap((v) => format(v)), ramp = h("span", { class: "ramp" });
  const format = (v) => MEASURES.find((one) => one[0] === measure)[3](v);
  const definitions = [
    ["most_to_mean", "Fullest over mean", "1 is even. Rows kept; A-DSP.", trim],
    ["most_less_mean", "Fullest less mean", "0 is even. Share of all rows kept; STA.", percent],
    ["heaviest_to_lightest", "Heaviest over lightest", "1 is even. Rows kept × rows that asked; FastJoin. No line where a task is idle.", (v) => (v === null ? "idle task" : short(v))],
    ["gini", "Gini coefficient", "0 is even, near 1 if one task has all; natural joins.", trim],
  ];
  const charts = definitions.map(([, title, note, form]) => new Chart({ title, note, height: 110, format: form, series: [{ name: "", colour: "accent" }] }));
  const keys = h("div", {}), keySection = section("Hot keys", "The most frequent keys in the windows of the tasks, by their values. A split key lives on a small matrix of tasks: a left row goes to one line of it, a right row to one column.", keys);
  const plain = h("details", {}, h("summary", {}, "The newest batch as a table"), h("div", { class: "scroll" }));
  const element = h("div", {},
    section("Load per task", "A row is a task, a column a batch; the darker a cell (in the dark: the brighter), the more the task had to do.",
      radios("Load is measured as", MEASURES.map((one) => [one[0], one[1]]), measure, (value) => { measure = value; draw(); }), h("div", {}, ramp), heat.element, plain),
    section("Imbalance", "Four definitions, as in the papers that the schemes come from.", h("div", { class: "grid four" }, charts.map((one) => one.element))),
    keySection);

  function draw() {
    if (!query || !query.tasks.length) return;
    const rows = query.tasks.map((one) => one[measure]), unit = MEASURES.find((one) => one[0] === measure)[2];
    heat.update(query.tasks.map((one) => one.batch), rows, unit);
    say(ramp, "0", h("i", {}), format(heat.data.most), unit ? " " + unit : "");
    const last = query.tasks.at(-1);
    put(plain.lastChild, last, () => h("table", {}, h("thead", {}, h("tr", {}, h("th", {}, "task"), MEASURES.map((one) => h("th", { class: "num" }, one[1])))),
      h("tbody", {}, last.kept.map((_, task) => h("tr", {}, h("td", {}, task), MEASURES.map(([name, , , form]) => h("td", { class: "num" }, name === "milliseconds" ? form(last[name][task]) : count(last[name][task]))))))));
  }

  return { element, async update(given) {
    query = given;
    draw();
    const own = query.points.filter((p) => p.imbalance);
    charts.forEach((chart, n) => chart.update({ batches: own.map((p) => p.batch), at: own.map((p) => p.at), values: [own.map((p) => p.imbalance[definitions[n][0]])],
      marks: query.plans.filter((p) => p.batch > 0).map((p) => ({ batch: p.batch, text: p.reason })) }));
    const found = await store.keys(query.line.key);
    keySection.hidden = !found.length;
    put(keys, [found, matchMedia("(prefers-color-scheme: dark)").matches], () => h("div", { class: "scroll" }, h("table", { class: "keys" },
      h("thead", {}, h("tr", {}, h("th", {}, found.length ? found[0].column || "key" : "key"), h("th", {}, "share of rows kept"), h("th", {}, "share of arrivals"), h("th", {}, "lives on"))),
      h("tbody", {}, found.map((key) => h("tr", {}, h("td", {}, h("span", { class: "keyname" }, key.label)),
        h("td", {}, shareBar(key.kept_share, "accent", count(key.kept) + " rows")), h("td", {}, shareBar(key.asked_share, "pairs")), h("td", {}, livesOn(key))))))));
  } };
}

function shareBar(share, colour, title) {
  return h("div", { class: "share", title }, h("i", { class: `c-${colour}`, css: { "--part": (100 * share).toFixed(1) + "%" } }), h("span", {}, percent(share)));
}

function livesOn(key) {
  if (key.split && key.split.includes("×")) {
    const [, columns] = key.split.split("×").map((n) => parseInt(n, 10));
    return h("div", { class: "homes tiny" }, matrix(key.tasks, columns), h("span", { class: "quiet" }, key.split));
  }
  if (key.split) return h("span", {}, `${plural(key.tasks.length, "task")}, in ${key.split}`);
  const moved = !key.tasks.includes(key.home);
  return h("div", { class: "homes" }, moved ? [h("span", { class: "task old" }, `task ${key.home}`), "→"] : null, key.tasks.map((task) => h("span", { class: "task" }, `task ${task}`)), moved ? h("span", { class: "quiet" }, "moved") : null);
}

function matrix(tasks, columns, loads) {
  const most = loads ? Math.max(1, ...loads) : 0, ramp = heatRamp();
  return h("div", { class: "matrix", role: "img", "aria-label": `tasks ${tasks.join(", ")} in ${plural(columns, "column")}`, css: { "grid-template-columns": `repeat(${columns}, auto)` } },
    tasks.map((task) => { const colour = loads ? ramp((loads[task] || 0) / most) : ramp(0.25);
      return h("b", { css: { "--cell": colour, "--on": onHeat(colour) } }, task); }));
}
