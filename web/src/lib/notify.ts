// Requests for approval outside of the page: browser notifications for whoever wants them, and the badge of the installed page.

import '../texts/use/approvals';
import { t } from './i18n';
import { link } from './route.svelte';

type Waiting = { id: string; tool: string; agent: string };
export type Permission = 'on' | 'off' | 'blocked' | 'unsupported';

const STORED = 'manyhands.notify';
const shown = new Map<string, Notification>();
let known: Set<string> | null = null;

const supported = () => typeof Notification !== 'undefined';
function wanted(): boolean {
  try {
    return localStorage.getItem(STORED) === 'on';
  } catch {
    return false;
  }
}
function want(on: boolean): void {
  try {
    if (on) localStorage.setItem(STORED, 'on');
    else localStorage.removeItem(STORED);
  } catch {
    // A browser that stores nothing forgets it with the page.
  }
}

/** Whether notifications are shown here. */
export function permission(): Permission {
  if (!supported()) return 'unsupported';
  if (Notification.permission === 'denied') return 'blocked';
  return wanted() && Notification.permission === 'granted' ? 'on' : 'off';
}

/** Switches notifications on, which the browser asks the user about, or off. */
export async function notifications(on: boolean): Promise<Permission> {
  if (!supported()) return 'unsupported';
  want(on && (await Notification.requestPermission()) === 'granted');
  return permission();
}

/** Called with every list of waiting requests: notifies of new ones unless the page is in front, and sets the badge. */
export function announce(waiting: readonly Waiting[]): void {
  badge(waiting.length);
  const now = new Set(waiting.map((one) => one.id));
  for (const [id, one] of shown) {
    if (now.has(id)) continue;
    one.close();
    shown.delete(id);
  }
  // What was waiting when the page was opened is on the page already.
  const fresh = known === null ? [] : waiting.filter((one) => !known?.has(one.id));
  known = now;
  if (permission() !== 'on' || document.hasFocus()) return;
  for (const one of fresh) show(one);
}

function show(one: Waiting): void {
  try {
    // Not the arguments: they may be read by whoever sees the screen.
    const notification = new Notification(t('approvals.notifyTitle', { tool: one.tool }), { body: t('approvals.requestedBy', { agent: one.agent }), tag: one.id, icon: 'mark.svg' });
    notification.onclick = () => {
      window.focus();
      location.hash = link('policy');
      notification.close();
    };
    shown.set(one.id, notification);
  } catch {
    // Some browsers show notifications of service workers only.
  }
}

function badge(count: number): void {
  const device = navigator as Navigator & { setAppBadge?: (n: number) => Promise<void>; clearAppBadge?: () => Promise<void> };
  void (count ? device.setAppBadge?.(count) : device.clearAppBadge?.())?.catch(() => undefined);
}
