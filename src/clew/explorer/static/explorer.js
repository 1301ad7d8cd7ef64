// What plain links and forms cannot do: arrow keys in tables, the reader's place after a swap, and saying what came up.
// It computes nothing and asks for nothing; htmx fetches the pages.
"use strict";

(() => {
  const CELLS = "td > button, th > button";
  const KEYS = new Set(["ArrowUp", "ArrowDown", "ArrowLeft", "ArrowRight", "Home", "End", "PageUp", "PageDown"]);
  const PAGE = 10;

  // One stop of the Tab key a table: the cell that is open, or the first.
  function prepareGrids() {
    for (const grid of document.querySelectorAll("[data-grid]")) {
      const cells = [...grid.querySelectorAll(CELLS)];
      const open = cells.find((cell) => cell === document.activeElement || cell.matches("[aria-current], [aria-pressed=true]"));
      for (const cell of cells) cell.tabIndex = -1;
      const first = open ?? cells[0];
      if (first) first.tabIndex = 0;
    }
  }

  function moved(rows, row, column, event) {
    const last = rows.length - 1;
    const whole = event.ctrlKey || event.metaKey;
    const clamp = (number, most) => Math.min(Math.max(number, 0), most);
    switch (event.key) {
      case "ArrowUp": return [clamp(row - 1, last), column];
      case "ArrowDown": return [clamp(row + 1, last), column];
      case "PageUp": return [clamp(row - PAGE, last), column];
      case "PageDown": return [clamp(row + PAGE, last), column];
      case "ArrowLeft": return [row, clamp(column - 1, rows[row].length - 1)];
      case "ArrowRight": return [row, clamp(column + 1, rows[row].length - 1)];
      case "Home": return [whole ? 0 : row, 0];
      default: return [whole ? last : row, rows[whole ? last : row].length - 1];
    }
  }

  document.addEventListener("keydown", (event) => {
    const cell = event.target.closest?.(CELLS);
    const grid = cell?.closest("[data-grid]");
    if (!grid || event.altKey || event.shiftKey || !KEYS.has(event.key)) return;
    const rows = [...grid.rows].map((row) => [...row.querySelectorAll(CELLS)]).filter((cells) => cells.length);
    const row = rows.findIndex((cells) => cells.includes(cell));
    const [down, across] = moved(rows, row, rows[row].indexOf(cell), event);
    const next = rows[down][Math.min(across, rows[down].length - 1)];
    event.preventDefault();
    cell.tabIndex = -1;
    next.tabIndex = 0;
    next.focus();
  });

  // Sliders and choices of a form that says so take effect at once; without scripts its button does the same.
  document.addEventListener("change", (event) => {
    const form = event.target.closest?.('form[data-submit="change"]');
    if (form) form.requestSubmit();
  });

  // Swapping the page must not lose the reader's place in it: what is scrolled aside, what is folded open.
  let places = new Map();
  let folds = new Map();

  const named = (box) => box.id || box.getAttribute("aria-label");

  function remember() {
    places = new Map();
    folds = new Map();
    for (const box of document.querySelectorAll("#page .scroll")) {
      if (named(box)) places.set(named(box), [box.scrollLeft, box.scrollTop]);
    }
    for (const fold of document.querySelectorAll("#page details[id]")) folds.set(fold.id, fold.open);
  }

  function restore() {
    for (const fold of document.querySelectorAll("#page details[id]")) {
      if (folds.has(fold.id)) fold.open = folds.get(fold.id);
    }
    for (const box of document.querySelectorAll("#page .scroll")) {
      const place = places.get(named(box));
      if (place) [box.scrollLeft, box.scrollTop] = place;
    }
  }

  // A field that shows an address of this server shows the whole of it, and is ready to be copied when one comes to it.
  function completeAddresses() {
    for (const field of document.querySelectorAll("input[data-address]")) {
      field.value = new URL(field.dataset.address, location.origin).href;
    }
  }

  document.addEventListener("focusin", (event) => {
    if (event.target.matches?.("input[data-address]")) event.target.select();
  });

  function say() {
    const words = document.getElementById("view")?.dataset.said ?? "";
    const said = document.getElementById("said");
    if (said && said.textContent !== words) said.textContent = words;
  }

  document.addEventListener("htmx:beforeSwap", remember);
  document.addEventListener("htmx:afterSettle", () => {
    restore();
    prepareGrids();
    completeAddresses();
    say();
    // Whatever had the focus and is gone must not leave the keyboard at the top of the page.
    if (document.activeElement === document.body) document.getElementById("view")?.focus({ preventScroll: true });
  });
  document.addEventListener("DOMContentLoaded", prepareGrids);
  document.addEventListener("DOMContentLoaded", completeAddresses);
  if (document.readyState !== "loading") {
    prepareGrids();
    completeAddresses();
  }
})();
