/** Space that is left between a popover and the edges of the window. */
const EDGE = 8;

/** Shows a popover next to an element, within the window; it follows when the window changes. */
export function anchored(node: HTMLElement, { anchor, end = false }: { anchor: HTMLElement; end?: boolean }) {
  const place = () => {
    const at = anchor.getBoundingClientRect();
    const { offsetWidth: width, offsetHeight: height } = node;
    const left = Math.max(EDGE, Math.min(end ? at.right - width : at.left, window.innerWidth - width - EDGE));
    const below = at.bottom + 4;
    const top = below + height <= window.innerHeight - EDGE ? below : Math.max(EDGE, Math.min(at.top - 4 - height, window.innerHeight - height - EDGE));
    Object.assign(node.style, { left: `${left}px`, top: `${top}px` });
  };
  node.showPopover();
  place();
  const watch = new ResizeObserver(place);
  watch.observe(node);
  window.addEventListener('resize', place);
  return {
    destroy() {
      watch.disconnect();
      window.removeEventListener('resize', place);
    },
  };
}
