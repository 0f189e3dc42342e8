"use strict";
/* Numbers, lengths of time and moments, for people. */

const GROUPED = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });

function count(value) {
  return value === null || value === undefined ? "–" : GROUPED.format(value);
}

function short(value) {
  if (value === null || value === undefined || Number.isNaN(value)) return "–";
  const size = Math.abs(value);
  for (const [unit, least] of [["G", 1e9], ["M", 1e6], ["k", 1e4]])
    if (size >= least) { const n = value / (unit === "k" ? 1e3 : least); return trim(n) + " " + unit; }
  return size >= 100 || Number.isInteger(value) ? GROUPED.format(value) : trim(value);
}

function trim(value) {
  const size = Math.abs(value);
  const text = value.toFixed(size >= 100 ? 0 : size >= 10 ? 1 : 2);
  return text.includes(".") ? text.replace(/\.?0+$/, "") : text;
}

function seconds(value) {
  if (value === null || value === undefined || Number.isNaN(value)) return "–";
  if (value < 0) return "−" + seconds(-value);
  if (value < 0.0005) return "0 s";
  if (value < 1) return trim(value * 1000) + " ms";
  if (value < 120) return trim(value) + " s";
  if (value < 7200) return trim(value / 60) + " min";
  if (value < 172800) return trim(value / 3600) + " h";
  return trim(value / 86400) + " d";
}

function bytes(value) {
  if (value === null || value === undefined || value < 0) return "–";
  let size = value;
  for (const unit of ["B", "kB", "MB", "GB"]) {
    if (size < 1000) return (unit === "B" ? String(size) : trim(size)) + " " + unit;
    size /= 1000;
  }
  return trim(size) + " TB";
}

function percent(value) {
  if (value === null || value === undefined) return "–";
  const share = value * 100;
  return (share >= 10 ? share.toFixed(0) : share >= 0.1 || share === 0 ? trim(share) : "<0.1") + " %";
}

function clock(at) {
  return at ? new Date(at).toLocaleTimeString("en-GB") : "";
}

function ago(at, now) {
  if (!at) return "no batch yet";
  const past = Math.max(0, (now - at) / 1000);
  return past < 2 ? "now" : seconds(past < 120 ? Math.round(past) : past) + " ago";
}

const plural = (number, one, many) => count(number) + " " + (number === 1 ? one : many || one + "s");
