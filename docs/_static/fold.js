// On a phone, the sections of a page of more than two screens are folded: their headings are what one sees first.
document.addEventListener("DOMContentLoaded", () => {
  const long = document.documentElement.scrollHeight > 2 * window.innerHeight;
  const sections = [...document.querySelectorAll("article > section > section:has(> h2)")];
  if (!long || window.innerWidth >= 768 || sections.length < 3) return;
  const folds = sections.map((section) => {
    const fold = document.createElement("details");
    const summary = document.createElement("summary");
    summary.append(section.querySelector(":scope > h2"));
    fold.append(summary, ...section.childNodes);
    section.append(fold);
    return fold;
  });
  const reveal = () => {
    const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    const fold = target && folds.find((fold) => fold.parentElement.contains(target));
    if (fold) {
      fold.open = true;
      target.scrollIntoView();
    }
  };
  window.addEventListener("hashchange", reveal);
  window.addEventListener("beforeprint", () => folds.forEach((fold) => (fold.open = true)));
  reveal();
});
