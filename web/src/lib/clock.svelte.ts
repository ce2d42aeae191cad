// The time, for what is said relative to it: one timer for all of the page.

let now = $state(Date.now());
setInterval(() => !document.hidden && (now = Date.now()), 30_000);
document.addEventListener('visibilitychange', () => !document.hidden && (now = Date.now()));

export const clock = {
  get now(): number {
    return now;
  },
};
