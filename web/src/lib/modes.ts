// When an agent asks for approval where no rule matches.

import { t } from './i18n';

export const MODES = [
  { id: 'ask', name: t('parts.modeAsk'), about: t('parts.modeAskAbout') },
  { id: 'auto', name: t('parts.modeAuto'), about: t('parts.modeAutoAbout') },
  { id: 'read-only', name: t('parts.modeReadOnly'), about: t('parts.modeReadOnlyAbout') },
] as const;

export type Mode = (typeof MODES)[number]['id'];
export const modeOf = (value: unknown): (typeof MODES)[number] => MODES.find((one) => one.id === value) ?? MODES[0];
