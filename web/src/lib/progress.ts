// Which steps of Get started were skipped, and which were finished in a way that cannot be looked up.

const KEY = 'welcome';

export const STEPS = ['model', 'chat', 'client', 'node', 'channel'] as const;
export type Step = (typeof STEPS)[number];
export type Marks = Partial<Record<Step, 'done' | 'skipped'>>;

export function readMarks(): Marks {
  try {
    const kept = JSON.parse(localStorage.getItem(KEY) ?? '{}') as Record<string, unknown>;
    return Object.fromEntries(STEPS.flatMap((step) => (kept[step] === 'done' || kept[step] === 'skipped' ? [[step, kept[step]]] : [])));
  } catch {
    return {};
  }
}

export function keepMarks(marks: Marks): void {
  try {
    localStorage.setItem(KEY, JSON.stringify(marks));
  } catch {
    // A browser that stores nothing starts over.
  }
}

/** The step to do next: the first that is neither done nor skipped. */
export const nextStep = (marks: Marks): Step | null => STEPS.find((step) => !marks[step]) ?? null;
