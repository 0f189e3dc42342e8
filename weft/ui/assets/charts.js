"use strict";
/* Lines, stacked areas and bars over batches. One SVG each; a legend that reads out the batch under the pointer or the arrow keys. */

function niceSteps(most) {
  if (!(most > 0)) return [0, 1];
  const raw = most / 3, power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 2.5, 5, 10].map((n) => n * power).find((n) => n >= raw);
  const found = [];
  for (let at = 0; at < most + step * 0.999; at += step) found.push(at);
  return found;
}

/* options: title, series [{name, colour, dash}], kind "line" | "stack" | "bar", format, height, log */
class Chart {
  constructor(options) {
    this.options = { kind: "line", format: short, height: 150, ...options };
    this.data = { batches: [], at: [], values: [], marks: [] };
    this.cursor = null;
    this.legend = h("div", { class: "legend", "aria-live": "off" });
    this.box = h("div", {});
    this.element = h("figure", { class: "chart" },
      h("header", {}, h("h3", {}, this.options.title), this.legend), this.box,
      this.options.note ? h("figcaption", { class: "note" }, this.options.note) : null);
    this.width = 0;
    sized(this.box, (width) => { this.width = width; this.draw(); });
  }

  update(data) {
    const same = this.data.batches.length === data.batches.length && this.data.batches.at(-1) === data.batches.at(-1) && this.drawn;
    this.data = data;
    if (!same || JSON.stringify(data.values.map((one) => one.slice(-3))) !== this.last) this.draw();
  }

  draw() {
    const { batches, values, marks } = this.data, { series, kind, height } = this.options;
    this.last = JSON.stringify(values.map((one) => one.slice(-3)));
    this.read();
    if (!this.width) return;
    this.drawn = true;
    if (!batches.length) { this.box.replaceChildren(h("p", { class: "note" }, "Nothing yet.")); return; }
    const left = 44, right = 8, top = 8, bottom = 20, wide = Math.max(40, this.width - left - right), high = height - top - bottom;
    const sums = kind === "line" ? null : stacked(values, batches.length);
    const all = (kind === "line" ? values.flat() : sums.at(-1) || []).filter((v) => v !== null && Number.isFinite(v));
    const low = Math.min(0, ...all.length ? [reduced(all, Math.min)] : [0]);
    const peak = Math.max(all.length ? reduced(all, Math.max) : 0, this.options.least || 0), usual = 1.3 * quantile(all, 0.97);
    const clipped = this.options.clip && all.length > 12 && peak > 3 * usual && usual > 0; /* a first batch that compiles must not hide the others */
    const steps = niceSteps(clipped ? usual : peak);
    const most = steps.at(-1);
    const x = (i) => left + (batches.length === 1 ? wide : (i / (batches.length - 1)) * wide);
    const y = (v) => top + high - ((Math.min(v, most) - low) / (most - low || 1)) * high;
    const parts = [];
    for (const step of steps) {
      parts.push(s("line", { class: "gridline", x1: left, x2: left + wide, y1: y(step), y2: y(step) }));
      parts.push(s("text", { x: left - 7, y: y(step) + 4, "text-anchor": "end" }, this.options.format(step)));
    }
    if (low < 0) parts.push(s("text", { x: left - 7, y: y(low) + 4, "text-anchor": "end" }, this.options.format(low)));
    for (const at of ticks(batches, wide))
      parts.push(s("text", { x: x(at), y: height - 4, "text-anchor": at === 0 ? "start" : at === batches.length - 1 ? "end" : "middle" }, count(batches[at])));
    for (const mark of marks || []) {
      const i = batches.indexOf(mark.batch);
      if (i >= 0) parts.push(s("g", {}, s("line", { class: "mark", x1: x(i), x2: x(i), y1: top - 2, y2: top + high }),
        s("path", { class: "marktip", d: `M${x(i) - 3.5} ${top - 6}h7l-3.5 5z` }), s("title", {}, `batch ${mark.batch}: ${mark.text}`)));
    }
    series.forEach((one, n) => {
      if (kind === "stack") {
        const upper = sums[n], lower = n ? sums[n - 1] : upper.map(() => 0);
        const path = upper.map((v, i) => `${x(i).toFixed(1)} ${y(v).toFixed(1)}`).join("L") + "L" + lower.map((v, i) => `${x(i).toFixed(1)} ${y(v).toFixed(1)}`).reverse().join("L");
        parts.push(s("path", { class: `area c-${one.colour}`, d: `M${path}Z` }));
      } else if (kind === "bar") {
        const each = Math.max(1, Math.min(14, (wide / batches.length) * 0.7));
        values[n].forEach((v, i) => { if (v) { const from = n ? sums[n - 1][i] : 0;
          parts.push(s("rect", { class: `bar1 c-${one.colour}`, x: Math.max(left, x(i) - each / 2), width: each, y: y(from + v), height: Math.max(1, y(from) - y(from + v)) })); } });
      } else {
        let path = "", pen = false;
        values[n].forEach((v, i) => { if (v === null || !Number.isFinite(v)) { pen = false; return; } path += `${pen ? "L" : "M"}${x(i).toFixed(1)} ${y(v).toFixed(1)}`; pen = true; });
        parts.push(s("path", { class: `line c-${one.colour}${one.dash ? " dash" : ""}`, d: path }));
        if (values[n].filter((v) => v !== null).length === 1) values[n].forEach((v, i) => v !== null && parts.push(s("circle", { class: `dot c-${one.colour}`, cx: x(i), cy: y(v), r: 3.5 })));
      }
    });
    if (clipped) {
      const at = batches.findIndex((_, i) => (kind === "line" ? values.some((one) => one[i] === peak) : sums.at(-1)[i] === peak));
      parts.push(s("text", { x: x(at) + (at > batches.length / 2 ? -6 : 6), y: top + 9, "text-anchor": at > batches.length / 2 ? "end" : "start" }, `↑ ${this.options.format(peak)}`));
    }
    this.hair = s("g", {});
    parts.push(s("line", { class: "axis", x1: left, x2: left + wide, y1: y(0), y2: y(0) }), this.hair);
    const svg = s("svg", { viewBox: `0 0 ${this.width} ${height}`, height, role: "img", tabindex: 0, "aria-label": this.told() }, parts);
    this.place = (i) => {
      this.cursor = i;
      this.hair.replaceChildren(...(i === null ? [] : [s("line", { class: "now", x1: x(i), x2: x(i), y1: top, y2: top + high }),
        ...series.map((one, n) => { const v = kind === "line" ? values[n][i] : null; return v === null || !Number.isFinite(v) ? null : s("circle", { class: `dot c-${one.colour}`, cx: x(i), cy: y(v), r: 3.5 }); }).filter(Boolean)]));
      this.read();
    };
    svg.addEventListener("pointermove", (event) => {
      const at = (event.clientX - svg.getBoundingClientRect().left - left) / wide;
      this.place(Math.max(0, Math.min(batches.length - 1, Math.round(at * (batches.length - 1)))));
    });
    svg.addEventListener("pointerleave", () => this.place(null));
    svg.addEventListener("blur", () => this.place(null));
    svg.addEventListener("keydown", (event) => {
      const step = { ArrowLeft: -1, ArrowRight: 1, Home: -1e9, End: 1e9 }[event.key];
      if (!step) return;
      event.preventDefault();
      this.place(Math.max(0, Math.min(batches.length - 1, (this.cursor ?? batches.length - 1) + step)));
    });
    const focused = document.activeElement === this.box.firstChild;
    this.box.replaceChildren(svg);
    if (focused) svg.focus();
    if (this.cursor !== null && this.cursor < batches.length) this.place(this.cursor);
  }

  read() {
    const { batches, at, values } = this.data, i = this.cursor ?? batches.length - 1, { series, format } = this.options;
    const head = this.cursor === null || !batches.length ? [] : [h("span", {}, `batch ${count(batches[i])}${at[i] ? ", " + clock(at[i]) : ""}`)];
    const shown = (n) => !/older/.test(series[n].name) || (values[n] || []).some(Boolean);
    this.legend.replaceChildren(...head, ...series.map((one, n) => !shown(n) ? "" : h("span", {},
      series.length > 1 ? h("i", { class: `c-${one.colour}${this.options.kind === "line" ? "" : " block"}${one.dash ? " dash" : ""}` }) : null,
      series.length > 1 ? one.name : null, h("b", {}, batches.length && values[n] ? format(values[n][i]) : ""))));
  }

  told() {
    const { batches, values } = this.data, { title, series, format } = this.options;
    if (!batches.length) return `${title}: nothing yet`;
    const each = series.map((one, n) => `${one.name || title} ${format(values[n].at(-1))}`).join(", ");
    return `${title}, batches ${batches[0]} to ${batches.at(-1)}; newest: ${each}. Arrow keys read out other batches.`;
  }
}

const quantile = (values, share) => (values.length ? values.slice().sort((a, b) => a - b)[Math.min(values.length - 1, Math.floor(share * values.length))] : 0);
const reduced = (values, of) => values.reduce((a, b) => of(a, b));

function stacked(values, length) {
  const sums = [];
  values.forEach((one, n) => sums.push(Array.from({ length }, (_, i) => (n ? sums[n - 1][i] : 0) + (one[i] || 0))));
  return sums;
}

function ticks(batches, wide) {
  const most = Math.max(2, Math.floor(wide / 90)), step = Math.max(1, Math.ceil((batches.length - 1) / most)), found = [];
  for (let i = 0; i < batches.length - 1 - step / 2; i += step) found.push(i);
  if (batches.length) found.push(batches.length - 1);
  return found;
}
