/** Lets the arrow keys, Home and End move the focus among the links and buttons of a list. */
export function arrows(list: HTMLElement) {
  const onkeydown = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const all = [...list.querySelectorAll<HTMLElement>('a[href], button:not(:disabled)')];
    const at = all.indexOf(event.target as HTMLElement);
    if (at < 0) return;
    const steps: Record<string, number> = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: all.length - 1 };
    const to = steps[event.key];
    if (to === undefined) return;
    event.preventDefault();
    all[(to + all.length) % all.length]?.focus();
  };
  list.addEventListener('keydown', onkeydown);
  return { destroy: () => list.removeEventListener('keydown', onkeydown) };
}
