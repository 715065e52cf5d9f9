// Order of what a search finds: pages that answer a question come before lists of classes.
const shift = (page) =>
  page.startsWith("how_to/") || page.startsWith("tutorials/") || page === "start" ? 20
    : page.startsWith("reference/api/") || page.startsWith("proofs/") ? -10
    : 0;

var Scorer = {
  score: ([page, title, anchor, description, score]) => score + shift(page),
  // What follows are the defaults of Sphinx.
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
