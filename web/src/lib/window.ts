// Which rows of a long list are there as elements: those one can see and a few around them.

export type Window = { first: number; last: number; before: number; after: number };

/** Rows `first` up to but without `last`, and the height that stands for those before and after. */
export function windowOf(scroll: number, view: number, count: number, height: number, around = 6): Window {
  if (count <= 0 || height <= 0) return { first: 0, last: 0, before: 0, after: 0 };
  const top = Math.max(0, Math.min(scroll, Math.max(0, count * height - view)));
  const first = Math.max(0, Math.floor(top / height) - around);
  const last = Math.min(count, Math.ceil((top + Math.max(0, view)) / height) + around);
  return { first, last, before: first * height, after: (count - last) * height };
}

/** Where to scroll so that a row is seen; where it is when it can be seen already. */
export function reveal(index: number, scroll: number, view: number, height: number): number {
  const top = index * height;
  if (top < scroll) return top;
  if (top + height > scroll + view) return top + height - view;
  return scroll;
}
