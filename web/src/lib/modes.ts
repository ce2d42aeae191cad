// When an agent asks for approval where no rule matches.

import '../texts/use/approvals';
import { t } from './i18n';

export const MODES = [
  { id: 'ask', name: t('approvals.modeAsk'), about: t('approvals.modeAskAbout') },
  { id: 'auto', name: t('approvals.modeAuto'), about: t('approvals.modeAutoAbout') },
  { id: 'read-only', name: t('approvals.modeReadOnly'), about: t('approvals.modeReadOnlyAbout') },
] as const;

export type Mode = (typeof MODES)[number]['id'];
export const modeOf = (value: unknown): (typeof MODES)[number] => MODES.find((one) => one.id === value) ?? MODES[0];
