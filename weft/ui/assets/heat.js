"use strict";
/* Load per task over batches: a row per task, a column per batch; the pointer and the arrow keys read a cell out. */

class HeatMap {
  constructor(format) {
    this.format = format;
    this.data = { batches: [], rows: [], unit: "" };
    this.cursor = null;
    this.canvas = h("canvas", { tabindex: 0, role: "img" });
    this.tasks = h("div", { class: "tasks", "aria-hidden": "true" });
    this.below = h("div", { class: "below" });
    this.readout = h("p", { class: "read", role: "status" });
    this.element = h("div", { class: "heat" }, this.tasks, this.canvas, this.below, this.readout);
    sized(this.element, () => this.draw());
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.draw());
    const at = (event) => {
      const box = this.canvas.getBoundingClientRect(), { batches, tasks } = this.data;
      return [Math.floor(((event.clientX - box.left) / box.width) * batches.length), Math.floor(((event.clientY - box.top) / box.height) * tasks)];
    };
    this.canvas.addEventListener("pointermove", (event) => this.read(...at(event)));
    this.canvas.addEventListener("pointerleave", () => { this.cursor = null; this.read(); });
    this.canvas.addEventListener("keydown", (event) => {
      const step = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key];
      if (!step) return;
      event.preventDefault();
      const [x, y] = this.cursor || [this.data.batches.length - 1, 0];
      this.read(x + step[0], y + step[1]);
    });
  }

  /* rows: per batch an array with a number per task */
  update(batches, rows, unit) {
    const tasks = rows.reduce((most, row) => Math.max(most, row.length), 0);
    this.data = { batches, rows, unit, tasks, most: rows.reduce((most, row) => row.reduce((a, b) => Math.max(a, b), most), 0) };
    this.draw();
    this.read(...(this.cursor || []));
  }

  draw() {
    const { batches, rows, tasks, most } = this.data, wide = this.canvas.clientWidth;
    if (!batches.length || !wide) return;
    const each = Math.max(1, Math.min(26, Math.floor(360 / tasks))), ratio = window.devicePixelRatio || 1;
    this.canvas.style.height = each * tasks + "px";
    this.canvas.width = Math.round(wide * ratio);
    this.canvas.height = Math.round(each * tasks * ratio);
    const pen = this.canvas.getContext("2d"), ramp = heatRamp(), gap = each > 6 ? 1 : 0;
    pen.clearRect(0, 0, this.canvas.width, this.canvas.height);
    const column = this.canvas.width / batches.length, row = this.canvas.height / tasks, between = column > 6 * ratio ? gap * ratio : 0;
    batches.forEach((_, x) => rows[x].forEach((value, y) => {
      pen.fillStyle = ramp(most ? value / most : 0);
      const left = Math.round(x * column), up = Math.round(y * row);
      pen.fillRect(left, up, Math.round((x + 1) * column) - left - between, Math.round((y + 1) * row) - up - gap * ratio);
    }));
    this.tasks.replaceChildren(h("span", {}, "task 0"), tasks > 1 ? h("span", {}, `task ${tasks - 1}`) : "");
    this.tasks.style.height = each * tasks + "px";
    this.below.replaceChildren(h("span", {}, `batch ${count(batches[0])}`), h("span", {}, `batch ${count(batches.at(-1))}`));
  }

  read(x, y) {
    const { batches, rows, tasks, unit } = this.data;
    if (!batches.length) return;
    if (x === undefined) {
      const last = rows.at(-1), most = Math.max(...last), fullest = last.indexOf(most);
      say(this.readout, "Newest batch: task ", h("b", {}, fullest), " has most, ", h("b", {}, this.format(most)), ` ${unit}.`);
      this.canvas.setAttribute("aria-label", `Load of ${tasks} tasks over batches ${batches[0]} to ${batches.at(-1)}; in the newest batch task ${fullest} has most, ${this.format(most)} ${unit}. Arrow keys read out cells.`);
      return;
    }
    x = Math.max(0, Math.min(batches.length - 1, x)); y = Math.max(0, Math.min(tasks - 1, y));
    this.cursor = [x, y];
    const value = rows[x][y], whole = rows[x].reduce((a, b) => a + b, 0);
    say(this.readout, "Batch ", h("b", {}, count(batches[x])), ", task ", h("b", {}, y), ": ",
      value === undefined ? "not there" : [h("b", {}, this.format(value)), ` ${unit}, ${percent(whole ? value / whole : 0)} of the batch`]);
  }
}

function heatRamp() {
  const stops = [0, 1, 2, 3, 4].map((n) => rgb(css(`--heat-${n}`)));
  return (share) => {
    const at = Math.max(0, Math.min(1, share)) * 4, low = Math.min(3, Math.floor(at)), part = at - low;
    return `rgb(${stops[low].map((one, i) => Math.round(one + (stops[low + 1][i] - one) * part)).join(" ")})`;
  };
}

function rgb(hex) {
  return [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));
}

/* The colour of text that can be read on a colour of the ramp. */
function onHeat(colour) {
  const [r, g, b] = colour.match(/\d+/g).map((n) => { const v = n / 255; return v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; });
  return 0.2126 * r + 0.7152 * g + 0.0722 * b > 0.19 ? "#10181b" : "#ffffff";
}
