// Errors of the gateway in the words of a form. The gateway knows parameters by their wire names only; a form whose
// fields carry these as their `name` needs nothing else.

/** What a label says, without the field that may stand inside it. */
function textOf(label: HTMLLabelElement): string {
  const copy = label.cloneNode(true) as HTMLElement;
  for (const field of copy.querySelectorAll('input, select, textarea, button, .quiet')) field.remove();
  return copy.textContent.trim().replace(/\s+/g, ' ');
}

/** The labels of a form's fields, by their names. */
export function labelsOf(form: ParentNode | null | undefined): Record<string, string> {
  const labels: Record<string, string> = {};
  for (const field of form?.querySelectorAll<HTMLInputElement | HTMLSelectElement | HTMLTextAreaElement>('input[name], select[name], textarea[name]') ?? []) {
    // The label of a radio button names one choice; its group has the name of the parameter.
    const group = field.type === 'radio' ? field.closest('fieldset')?.querySelector('legend')?.textContent.trim() : null;
    const label = group || ([...(field.labels ?? [])].map(textOf).find(Boolean) ?? field.getAttribute('aria-label'));
    if (label) labels[field.name] = label;
  }
  return labels;
}

/** The label of a parameter: `rules[0].tools` is that of `rules[0].tools`, else of `rules.tools`, else of `rules`, else the name itself. */
export function labelFor(labels: Record<string, string>, parameter: string): string {
  const plain = parameter.replaceAll(/\[\d+\]/g, '');
  return labels[parameter] ?? labels[plain] ?? labels[plain.split('.')[0] ?? ''] ?? parameter;
}

/** The labels of the form that somebody is filling in: the one with the focus, or that of the dialog that is open. */
export function labelsHere(): Record<string, string> {
  if (typeof document === 'undefined') return {};
  const dialogs = document.querySelectorAll('dialog[open]');
  return labelsOf(document.activeElement?.closest('form') ?? dialogs[dialogs.length - 1]);
}
