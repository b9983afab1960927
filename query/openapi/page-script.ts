/** What the page does besides: it finds by words, and prints what is folded. It is read without it just as well. */
export const PAGE_SCRIPT = `
const filter = document.getElementById('filter');
const input = filter.querySelector('input');
const found = document.getElementById('found');
const articles = [...document.querySelectorAll('article')];
const entries = new Map([...document.querySelectorAll('nav li[data-of]')].map((entry) => [entry.dataset.of, entry]));
filter.hidden = false;
input.addEventListener('input', () => {
  const words = input.value.toLowerCase().split(/\\s+/).filter((word) => word !== '');
  let shown = 0;
  for (const article of articles) {
    const fits = words.every((word) => article.dataset.words.includes(word));
    article.hidden = !fits;
    entries.get(article.id).hidden = !fits;
    if (fits) shown += 1;
  }
  for (const group of document.querySelectorAll('nav details')) group.open = words.length > 0;
  found.textContent = words.length === 0 ? '' : shown + ' of ' + articles.length;
});
addEventListener('beforeprint', () => {
  for (const folded of document.querySelectorAll('main details')) folded.open = true;
});
`;
