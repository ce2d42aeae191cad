import { blob } from './http';

/** How far from the view a picture may be when it is fetched. */
const NEAR = '600px';

/** Shows what is at an address of the gateway in an `<img>`, once that comes near the view. The element cannot ask for
 *  it by itself: it would not send the session's token. */
export function fetched(image: HTMLImageElement, from: string) {
  let stop = show(image, from);
  return {
    update(next: string) {
      if (next === from) return;
      from = next;
      stop();
      stop = show(image, from);
    },
    destroy: () => stop(),
  };
}

function show(image: HTMLImageElement, from: string): () => void {
  if (/^(data|blob):/.test(from)) {
    image.src = from;
    return () => undefined;
  }
  let made = '';
  let gone = false;
  const near = new IntersectionObserver((seen) => {
    if (!seen.some((one) => one.isIntersecting)) return;
    near.disconnect();
    blob(from).then(
      (bytes) => {
        if (!gone) image.src = made = URL.createObjectURL(bytes);
      },
      // What is no image makes the browser show the text that stands for it.
      () => !gone && (image.src = 'data:,'),
    );
  }, { rootMargin: NEAR });
  near.observe(image);
  return () => {
    gone = true;
    near.disconnect();
    if (made) URL.revokeObjectURL(made);
  };
}
