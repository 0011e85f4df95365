// The page works without this. With it tables can be sorted and filtered, and everything folded can be opened at once.
(() => {
  "use strict";
  const make = (name, text, props = {}) => Object.assign(document.createElement(name), props, text ? { textContent: text } : {});
  const all = (what, from = document) => [...from.querySelectorAll(what)];

  const value = (row, column) => {
    const text = row.cells[column]?.textContent.trim() ?? "";
    const number = parseFloat(text.replace(/^[$]/, ""));
    return { text, number: Number.isNaN(number) ? null : number };
  };

  const compare = (a, b) => {
    if (a.number !== null && b.number !== null && a.number !== b.number) return a.number - b.number;
    if ((a.number === null) !== (b.number === null)) return a.number === null ? 1 : -1;
    return a.text < b.text ? -1 : a.text > b.text ? 1 : 0;
  };

  const sortable = (table) => {
    const body = table.tBodies[0];
    const rows = [...body.rows];
    [...table.tHead.rows[0].cells].forEach((head, column) => {
      if (head.classList.contains("chart")) return;
      const button = make("button", head.textContent, { type: "button" });
      head.replaceChildren(button);
      button.addEventListener("click", () => {
        const down = head.getAttribute("aria-sort") === "ascending";
        all("th[aria-sort]", table).forEach((each) => each.removeAttribute("aria-sort"));
        head.setAttribute("aria-sort", down ? "descending" : "ascending");
        const sorted = [...rows].sort((a, b) => compare(value(a, column), value(b, column)) * (down ? -1 : 1));
        body.append(...sorted);
      });
    });
    if (rows.length < 8) return;
    const bar = make("div", "", { className: "tools" });
    const label = make("label", "Show rows that contain");
    const field = make("input", "", { type: "search" });
    const status = make("span", "", { className: "quiet" });
    status.setAttribute("role", "status");
    label.append(field);
    bar.append(label, status);
    table.closest(".scroll").before(bar);
    field.addEventListener("input", () => {
      const wanted = field.value.trim().toLowerCase();
      rows.forEach((row) => { row.hidden = !row.textContent.toLowerCase().includes(wanted); });
      status.textContent = wanted ? `${rows.filter((row) => !row.hidden).length} of ${rows.length} rows` : "";
    });
  };
  all("table.sortable").forEach(sortable);

  const folded = all("details");
  if (folded.length > 1) {
    const bar = make("div", "", { className: "tools" });
    for (const [text, open] of [["Open everything", true], ["Close everything", false]]) {
      const button = make("button", text, { type: "button" });
      button.addEventListener("click", () => folded.forEach((each) => { each.open = open; }));
      bar.append(button);
    }
    document.getElementById("main").prepend(bar);
  }

  const reveal = () => {
    let target = location.hash.length > 1 ? document.getElementById(decodeURIComponent(location.hash.slice(1))) : null;
    const found = target;
    for (; target; target = target.parentElement) if (target.tagName === "DETAILS") target.open = true;
    if (found?.tagName === "DETAILS") { found.querySelector("summary").focus(); found.scrollIntoView(); }
  };
  addEventListener("hashchange", reveal);
  reveal();

  let closed = [];
  addEventListener("beforeprint", () => {
    closed = folded.filter((each) => !each.open);
    closed.forEach((each) => { each.open = true; });
  });
  addEventListener("afterprint", () => closed.forEach((each) => { each.open = false; }));
})();
