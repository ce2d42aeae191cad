// One header on phones: what a page would show in a header of its own moves into the bar of the shell.

const NARROW = '(max-width: 760px)';
/** Where the shell has room for it. */
export const SLOT = 'header';

/** Moves an element into the shell's bar while the screen is narrow, and back when it is not. It must not be the outermost element of its component. */
export function inHeader(node: HTMLElement) {
  const here = document.createComment('');
  node.before(here);
  const narrow = window.matchMedia(NARROW);
  const place = () => {
    const slot = document.getElementById(SLOT);
    if (narrow.matches && slot) slot.append(node);
    else if (here.isConnected) here.before(node);
  };
  place();
  narrow.addEventListener('change', place);
  return {
    destroy() {
      narrow.removeEventListener('change', place);
      node.remove();
      here.remove();
    },
  };
}
