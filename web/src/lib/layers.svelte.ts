// The dialogs that are open, the topmost last. What has to be seen and used above them moves into that one: everything
// outside a modal dialog is inert.

let open = $state.raw<HTMLElement[]>([]);

export const layers = {
  get top(): HTMLElement | null {
    return open.at(-1) ?? null;
  },
  add(dialog: HTMLElement): void {
    open = [...open, dialog];
  },
  remove(dialog: HTMLElement): void {
    open = open.filter((one) => one !== dialog);
  },
};
