/** Brings what was chosen into view where there is no room beside the list; again whenever `chosen` becomes another. */
export function bring(node: HTMLElement, chosen: unknown) {
  let last: unknown;
  const update = (now: unknown) => {
    if (now !== last && window.innerWidth < 900) node.scrollIntoView({ block: 'start' });
    last = now;
  };
  update(chosen);
  return { update };
}
