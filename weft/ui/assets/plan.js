"use strict";
/* The plan of a batch as a picture, and all plans on a line of time. */

function planView(store) {
  let query = null, chosen = null, asked = 0;
  const picture = h("div", {}), slider = h("input", { type: "range", min: 0, max: 0, step: 1, "aria-label": "Batch whose plan and load are shown" });
  const output = h("output", {}), newest = h("button", { type: "button" }, "Newest"), list = h("ol", { class: "line-of-plans" }), heading = h("p", { class: "note" });
  const scrub = h("div", { class: "scrub" }, slider, output, newest);
  slider.addEventListener("input", () => { const at = query.tasks[slider.value]; chosen = +slider.value === query.tasks.length - 1 ? null : at.batch; draw(); });
  newest.addEventListener("click", () => { chosen = null; draw(); });
  const element = h("div", {}, section("Who keeps what", null, scrub, heading, h("div", { css: { "margin-top": "1rem" } }, picture)),
    section("Plans so far", "Why rows moved, how many, and how long the slowest task took for it.", list));

  async function draw() {
    if (!query || !query.tasks.length) return;
    const at = chosen === null ? query.tasks.length - 1 : Math.max(0, query.tasks.findIndex((one) => one.batch >= chosen));
    const tasks = query.tasks[at], mine = ++asked;
    slider.max = query.tasks.length - 1; slider.value = at;
    slider.setAttribute("aria-valuetext", `batch ${tasks.batch}`);
    output.textContent = `batch ${count(tasks.batch)}`;
    newest.hidden = chosen === null;
    const event = query.plans.filter((one) => one.batch <= tasks.batch).at(-1);
    const plan = await store.plan(query.line.key, event ? event.batch : tasks.batch);
    if (mine !== asked) return;
    say(heading, event ? `${event.scheme}, since batch ${count(event.batch)}${event.reason ? ": " + event.reason : ""}` : "");
    put(picture, [plan, tasks.kept, room(720), matchMedia("(prefers-color-scheme: dark)").matches], () => (plan ? planPicture(plan, tasks.kept) : h("p", { class: "note" }, "The plan of this batch is not kept any longer.")));
    put(list, [query.plans, event && event.batch], () => query.plans.slice().reverse().map((one) => h("li", { class: event && one.batch === event.batch ? "chosen" : null, "aria-current": event && one.batch === event.batch ? "true" : null },
      h("button", { type: "button", disabled: !one.drawn || !query.tasks.some((t) => t.batch >= one.batch), onclick: () => { chosen = one.batch; draw(); scrollTo({ top: 0 }); } }, `Batch ${count(one.batch)}`),
      h("span", { class: "quiet" }, changeOf(one)),
      h("p", {}, one.reason || "in force when the oldest batch that is kept was read"),
      one.rows === null ? null : h("p", {}, `${count(one.rows)} rows moved in ${seconds(one.seconds)}`))));
  }
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => draw());
  return { element, update(given) { query = given; return draw(); } };
}

/* What kind of plan it is, and what kind it was before if that differs. */
function changeOf(one) {
  const [before, after] = (one.change || "").split(" -> ");
  if (after && before !== after) return one.change.replace(" -> ", " → ").replaceAll(" x ", " × ");
  return one.scheme + (one.tasks ? ", " + plural(one.tasks, "task") : "");
}
