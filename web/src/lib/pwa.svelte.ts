// The page as an installed app: the service worker with the offline shell, and the browser's offer to install it.

/** The event with which Chromium offers to install a page. */
type Offer = Event & { prompt(): Promise<unknown> };

class App {
  /** A newer version was installed while this one was open. */
  updated = $state(false);
  /** The browser would install the page if asked. */
  installable = $state(false);
  #offer: Offer | null = null;

  start(): void {
    window.addEventListener('beforeinstallprompt', (event) => {
      event.preventDefault();
      this.#offer = event as Offer;
      this.installable = true;
    });
    window.addEventListener('appinstalled', () => (this.installable = false));
    // Browsers offer workers only to pages that came by HTTPS or from their own machine, and development has none.
    if (!('serviceWorker' in navigator) || !import.meta.env.PROD) return;
    // The first worker that takes over is no update.
    let controlled = navigator.serviceWorker.controller !== null;
    navigator.serviceWorker.addEventListener('controllerchange', () => {
      this.updated ||= controlled;
      controlled = true;
    });
    navigator.serviceWorker.register('/sw.js', { updateViaCache: 'none' }).catch(() => undefined);
  }

  async install(): Promise<void> {
    const offer = this.#offer;
    this.#offer = null;
    this.installable = false;
    await offer?.prompt();
  }
}

export const app = new App();
