"use strict";
/* Plans as pictures: who keeps what, to scale with the rows, coloured by the load of a batch. */

function planPicture(plan, loads) {
  const most = Math.max(1, ...loads), ramp = heatRamp(), paint = (task) => ramp((loads[task] || 0) / most);
  const draw = { table: tablePicture, ranges: rangesPicture, areas: areasPicture, slices: slicesPicture, biclique: bicliquePicture, documents: documentsPicture, hot: hotPicture }[plan.kind];
  return [h("p", { class: "note" }, plan.text + "."), draw ? draw(plan, loads, paint) : taskStrip(plan.tasks, loads, paint)];
}

/* How wide a picture may be: text in it keeps its size, on a phone too. */
function room(most) {
  return Math.max(240, Math.min(most, (app.view ? app.view.element.clientWidth : app.main.clientWidth) || most));
}

function cellText(x, y, width, height, text, colour) {
  if (width < 18 || height < 13) return null;
  return s("text", { x: x + width / 2, y: y + height / 2 + 4, "text-anchor": "middle", css: { fill: onHeat(colour), "font-weight": 600 } }, text);
}

function frameOf(width, height, label, parts) {
  return h("div", { class: "drawn" }, s("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label, css: { "max-width": width + "px" } }, parts));
}

/* Tasks side by side, their load as colour. */
function taskStrip(tasks, loads, paint, start = 0) {
  const wide = room(720), each = wide / tasks, parts = [];
  for (let task = 0; task < tasks; task++) {
    const colour = paint(start + task), gap = each > 8 ? 2 : 0;
    parts.push(s("rect", { x: task * each, y: 0, width: each - gap, height: 44, rx: each > 12 ? 3 : 0, fill: colour }, s("title", {}, `task ${start + task}: ${count(loads[start + task])} rows`)),
      cellText(task * each, 0, each - gap, 44, start + task, colour));
  }
  return frameOf(wide, 46, `${tasks} tasks, coloured by rows kept: ${loads.slice(start, start + tasks).slice(0, 32).join(", ")}`, parts);
}

function tablePicture(plan, loads, paint) {
  return plan.groups.map((group) => {
    const wide = room(720), each = wide / group.size, middle = (task) => (task - group.start + 0.5) * each, parts = [];
    const most = Math.max(1, ...group.flows.map((flow) => flow[2]));
    const flows = group.flows.slice().sort((a, b) => a[2] - b[2]);
    for (const [from, to, number] of flows) {
      const x1 = middle(from), x2 = middle(to), depth = 34 + 80 * (Math.abs(x2 - x1) / wide);
      parts.push(s("path", { class: "flow", d: `M${x1} 46C${x1} ${46 + depth} ${x2} ${46 + depth} ${x2} 50`, "stroke-width": (1 + 5 * number / most).toFixed(1) }, s("title", {}, `${plural(number, "key")} moved from task ${from} to task ${to}`)));
      parts.push(s("path", { d: `M${x2 - 4} 54h8l-4 -7z`, css: { fill: css("--accent") } }));
    }
    for (let task = 0; task < group.size; task++) {
      const colour = paint(group.start + task), gap = each > 8 ? 3 : 0;
      parts.push(s("rect", { x: task * each, y: 0, width: each - gap, height: 44, rx: each > 12 ? 3 : 0, fill: colour }, s("title", {}, `task ${group.start + task}: ${count(loads[group.start + task])} rows`)),
        cellText(task * each, 0, each - gap, 44, group.start + task, colour));
    }
    const lowest = group.flows.length ? 46 + Math.max(...group.flows.map(([a, b]) => 34 + 80 * Math.abs(a - b) / group.size)) * 0.78 : 48;
    const facts = [group.moved ? `${plural(group.moved, "key")} moved from the task of their hash` : "no key has moved", group.split.length ? `${plural(group.split.length, "key")} split over several tasks` : ""].filter(Boolean).join(", ");
    return [h("h3", {}, group.name), h("p", { class: "note" }, facts + ". Curves lead from the task of the hash to where keys live now; the thicker, the more keys."),
      frameOf(wide, lowest, `Hash table of ${group.name}: ${facts}`, parts),
      group.split.length ? h("div", { class: "splits" }, group.split.slice(0, 12).map((one) => h("div", { class: "split" }, h("span", { class: "keyname" }, one.label), h("span", { class: "quiet" }, `${one.rows} × ${one.columns} tasks`), h("br"), matrix(one.tasks, one.columns, loads)))) : null,
      group.keys.length ? h("details", {}, h("summary", {}, group.moved > group.keys.length ? `The first ${group.keys.length} of ${count(group.moved)} moved keys` : "The moved keys"),
        h("div", { class: "scroll" }, h("table", {}, h("thead", {}, h("tr", {}, h("th", {}, "key"), h("th", {}, "by its hash"), h("th", {}, "lives on"))),
          h("tbody", {}, group.keys.map((key) => h("tr", {}, h("td", {}, h("span", { class: "keyname" }, key.label)), h("td", {}, `task ${key.home}`), h("td", {}, `task ${key.task}`))))))) : null];
  });
}

function rangesPicture(plan, loads, paint) {
  const wide = room(720), edges = [0, ...plan.cuts.map((cut) => cut.at), 1], parts = [];
  edges.slice(0, -1).forEach((from, task) => {
    const x = from * wide, width = (edges[task + 1] - from) * wide, colour = paint(task);
    parts.push(s("rect", { x, y: 8, width: Math.max(1, width - 2), height: 54, rx: 3, fill: colour }, s("title", {}, `task ${task}: ${count(loads[task])} rows`)), cellText(x, 8, width, 54, task, colour));
  });
  let shown = -99, second = -99;
  plan.cuts.forEach((cut) => {
    const x = cut.at * wide - 1, room = cut.label.length * 6.4 + 10, level = x - shown > room ? 0 : x - second > room ? 1 : -1;
    parts.push(s("line", { class: "tick", x1: x, x2: x, y1: 62, y2: level === 1 ? 82 : 68 }, s("title", {}, cut.label)));
    if (level >= 0) { parts.push(s("text", { x, y: level ? 95 : 81, "text-anchor": "middle" }, cut.label)); if (level) second = x; else shown = x; }
  });
  return [h("p", { class: "note" }, `The axis is ${plan.axis || "the key"}, to scale with the rows held. The number in a range is its task.`), frameOf(wide, 100, `${edges.length - 1} ranges of ${plan.axis}; cut at ${plan.cuts.map((cut) => cut.label).join(", ")}`, parts)];
}

function areasPicture(plan, loads, paint) {
  const off = 26, size = room(486) - off - 2, parts = [s("rect", { class: "empty", x: off, y: off, width: size, height: size })];
  for (const area of plan.areas) {
    for (const cell of area.cells) {
      const [y, x, high, wide] = cell.box.map((one) => one * size), colour = paint(cell.task);
      parts.push(s("rect", { class: "cell", x: off + x, y: off + y, width: wide, height: high, fill: colour }, s("title", {}, `task ${cell.task}: ${count(loads[cell.task])} rows`)), cellText(off + x, off + y, wide, high, cell.task, colour));
    }
    const [y, x, high, wide] = area.box.map((one) => one * size);
    parts.push(s("rect", { class: "frameline", x: off + x, y: off + y, width: wide, height: high }, s("title", {}, `area ${area.name}, ${area.shape}`)));
  }
  parts.push(s("text", { x: off, y: off - 9 }, plan.axes[1] + " →"), s("text", { transform: `translate(${off - 16} ${off}) rotate(90)` }, plan.axes[0] + " →"));
  return h("div", { class: "grid two" }, frameOf(size + off + 2, size + off + 2, `Tuple matrix: ${plan.areas.map((area) => `area ${area.name}, ${area.shape}, tasks ${area.cells.map((cell) => cell.task).join(" ")}`).join("; ")}`, parts),
    h("div", {}, h("p", { class: "note" }, "Left keys run down and right keys run across, to scale with the rows held. An area is framed; each of its cells is a task. Dashed parts can have no results."),
      plan.areas.some((area) => area.keys) ? h("div", { class: "scroll" }, h("table", {}, h("thead", {}, h("tr", {}, h("th", {}, "area"), h("th", {}, plan.axes[0]), h("th", {}, plan.axes[1]), h("th", {}, "tasks"))),
        h("tbody", {}, plan.areas.slice(0, 40).map((area) => h("tr", {}, h("td", {}, area.name), h("td", {}, area.keys[0]), h("td", {}, area.keys[1]), h("td", {}, `${area.shape}: ${area.cells.map((cell) => cell.task).join(" ")}`)))))) : null));
}

function slicesPicture(plan, loads, paint) {
  const wide = room(720), turns = 2, number = Math.min(24, plan.tasks * turns), each = wide / number, parts = [];
  for (let at = 0; at < number; at++) { const task = at % plan.tasks, colour = paint(task); parts.push(s("rect", { x: at * each, y: 0, width: each - 2, height: 44, rx: 3, fill: colour }, s("title", {}, `task ${task}: ${count(loads[task])} rows`)), cellText(at * each, 0, each - 2, 44, task, colour)); }
  parts.push(s("text", { x: 0, y: 62 }, `${plan.axis} →`));
  return [h("p", { class: "note" }, `Slices of ${plan.length} go to the tasks in turns.`), frameOf(wide, 68, `Slices of ${plan.length} to ${plan.tasks} tasks in turns`, parts)];
}

function bicliquePicture(plan, loads, paint) {
  return plan.groups.map((group) => [h("h3", {}, group.name), h("p", { class: "note" }, `${plural(group.cuts.length - 1, "subgroup")}: tasks ${group.cuts[0]} to ${group.cuts.at(-1) - 1}`), taskStrip(group.cuts.at(-1) - group.cuts[0], loads, paint, group.cuts[0])]);
}

function hotPicture(plan, loads, paint) {
  const lists = Object.entries(plan.keys).filter(([, keys]) => keys.length);
  return [taskStrip(plan.tasks, loads, paint), plan.hot_tasks ? h("p", { class: "note" }, `Tasks 0 to ${plan.cold_tasks - 1} keep cold keys, the others hot ones.`) : null,
    plan.length ? h("p", { class: "note" }, `Slices of ${plan.length}.`) : null,
    lists.map(([side, keys]) => [h("h3", {}, side === "both" ? "Hot keys" : `Hot keys of the ${side} side`), h("div", { class: "homes" }, keys.map((key) => h("span", { class: "task keyname" }, key)))])];
}

function documentsPicture(plan, loads, paint) {
  const most = Math.max(1, ...plan.owned), wide = room(720), each = wide / plan.tasks, parts = [];
  plan.owned.forEach((number, task) => {
    const high = Math.max(2, (number / most) * 90), colour = paint(task);
    parts.push(s("rect", { x: task * each, y: 96 - high, width: Math.max(1, each - 3), height: high, rx: 2, fill: colour }, s("title", {}, `task ${task}: ${count(number)} pairs, ${count(loads[task])} documents kept`)));
    if (each > 18) parts.push(s("text", { x: task * each + each / 2, y: 112, "text-anchor": "middle" }, task));
  });
  return [h("p", { class: "note" }, plan.owned.some(Boolean) ? "Height: how many attribute-value pairs a task owns. Colour: the documents that it keeps." : "There are no groups yet; the first come from a sample of documents."),
    frameOf(wide, 116, `Pairs per task: ${plan.owned.join(", ")}`, parts)];
}
