// What families of tools are called: the gateway's own by what they do, servers and machines by their names.

import { t, type Key } from '../../lib/i18n';

const OWN: Record<string, Key> = {
  unified: 'tools.family_unified',
  gateway: 'tools.family_gateway',
  gsv: 'tools.family_gsv',
  tool: 'tools.family_tool',
};
export const familyName = (family: string): string => (Object.hasOwn(OWN, family) ? t(OWN[family] as Key) : family);
