// The page can be read without JavaScript; this adds sorting and opens linked cards.

// Click a column's head to order a leaderboard by it.
for (const table of document.querySelectorAll("table.board")) {
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, column) => {
    if (!head.dataset.sort) return;
    const button = document.createElement("button");
    button.append(...head.childNodes);
    button.title = "order by this column";
    head.append(button);
    button.addEventListener("click", () => {
      const rows = [...table.tBodies[0].rows];
      const key = (row) => parseFloat(row.cells[column].dataset.key || "Infinity");
      rows.sort((a, b) => key(a) - key(b)).forEach((row) => table.tBodies[0].append(row));
      heads.forEach((other) => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", "ascending");
    });
  });
}

// A link to a component opens its card.
const open = () => {
  const card = document.getElementById(location.hash.slice(1));
  if (card instanceof HTMLDetailsElement) card.open = true;
};
addEventListener("hashchange", open);
open();
