/** What stands at the bottom of the page, where news are told. */
const there = new Set<HTMLElement>();
/** The width of the corner in which they are told. */
const CORNER = 400;

function tell() {
  const tops = [...there].map((node) => node.getBoundingClientRect()).filter((box) => box.height > 0 && box.right > window.innerWidth - CORNER);
  const high = Math.max(0, ...tops.map((box) => Math.round(window.innerHeight - box.top)));
  document.documentElement.style.setProperty('--foot', `${high}px`);
}

/** Says how far something at the bottom of the page reaches up, so that news are told above it and not on it. */
export function foot(node: HTMLElement) {
  there.add(node);
  const watch = new ResizeObserver(tell);
  watch.observe(node);
  watch.observe(document.documentElement);
  return {
    destroy() {
      watch.disconnect();
      there.delete(node);
      tell();
    },
  };
}
