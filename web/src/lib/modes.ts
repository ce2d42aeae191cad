// When an agent asks for approval where no rule matches.

export const MODES = [
  { id: 'ask', name: 'Ask', about: 'Reads, writes in its own folders and runs programs in the sandbox; asks before anything else, and before running programs after reading untrusted text.' },
  { id: 'auto', name: 'Auto', about: 'Acts without asking, except after reading untrusted text.' },
  { id: 'read-only', name: 'Read-only', about: 'Only reads; everything else is refused.' },
] as const;

export type Mode = (typeof MODES)[number]['id'];
export const modeOf = (value: unknown): (typeof MODES)[number] => MODES.find((one) => one.id === value) ?? MODES[0];
