"use strict";
/* What is peculiar to joins of documents: copies, evenness, groups, and lines that are no documents. */

function documentsView(store) {
  const one = [{ name: "", colour: "accent" }];
  const charts = {
    replication: new Chart({ title: "Replication", note: "Tasks that a document goes to, on average. 1 is the least.", series: one, format: trim, least: 1 }),
    load: new Chart({ title: "Fullest task", note: "Share of all documents that the fullest task gets.", series: [{ name: "", colour: "pairs" }], format: percent }),
    gini: new Chart({ title: "Gini coefficient", note: "0 if all tasks have as many documents, near 1 if one has all.", series: one, format: trim, least: 0.1 }),
    refused: new Chart({ title: "Lines refused", kind: "bar", note: "Lines that are no JSON document. weft.refused_documents gives them with their reasons.", series: [{ name: "", colour: "bad" }], format: short, least: 1 }),
  };
  const groups = h("div", {});
  const element = h("div", {}, section("Copies and evenness", null, h("div", { class: "grid two" }, Object.values(charts).map((chart) => chart.element))), section("Groups", null, groups));
  return { element, async update(query) {
    const points = query.points.filter((p) => p.documents), batches = points.map((p) => p.batch), at = points.map((p) => p.at);
    const marks = query.plans.filter((p) => p.batch > 0).map((p) => ({ batch: p.batch, text: p.reason }));
    const give = (chart, values) => chart.update({ batches, at, marks, values: [values] });
    give(charts.replication, points.map((p) => p.documents.replication));
    give(charts.load, points.map((p) => p.documents["max load"]));
    give(charts.gini, points.map((p) => p.documents.gini));
    give(charts.refused, points.map((p) => p.documents.refused));
    const plan = await store.plan(query.line.key, query.plans.length ? query.plans.at(-1).batch : 0), loads = query.tasks.length ? query.tasks.at(-1).kept : [];
    put(groups, [plan, loads, room(720), matchMedia("(prefers-color-scheme: dark)").matches], () => !plan || plan.kind !== "documents" ? null : [
      h("p", {}, plan.deciding.length ? ["Documents are routed by ", plan.deciding.map((name, n) => [n ? ", " : "", h("code", {}, name)]), plan.alone ? " alone." : " and by their other pairs."] : "No attribute decides alone: documents are routed by all their attribute-value pairs."),
      planPicture(plan, loads)]);
  } };
}
