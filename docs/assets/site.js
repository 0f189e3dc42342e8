// A table that is wider than the screen scrolls; let it be reached with the keyboard, too.
function reachable() {
  for (const box of document.querySelectorAll(".md-typeset__scrollwrap")) {
    if (box.scrollWidth > box.clientWidth) box.tabIndex = 0;
    else box.removeAttribute("tabindex");
  }
}
document$.subscribe(() => setTimeout(reachable, 0));
window.addEventListener("resize", reachable);
