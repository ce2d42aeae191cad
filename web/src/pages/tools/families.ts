// What families of tools are called: the gateway's own by what they do, servers and machines by their names.

import '../../texts/use/tools';
import type { ToolView } from '../../lib/answers';
import { t, type Key } from '../../lib/i18n';
import { flowing } from '../../lib/safe';

const OWN: Record<string, Key> = {
  unified: 'tools.family_unified',
  gateway: 'tools.family_gateway',
  gsv: 'tools.family_gsv',
  tool: 'tools.family_tool',
};
export const familyName = (family: string): string => (Object.hasOwn(OWN, family) ? t(OWN[family] as Key) : family);

/** The first sentence of what a tool does. */
export const summary = (tool: Pick<ToolView, 'description'>): string => /^.*?[.!?](?=\s|$)/.exec(flowing(tool.description).split('\n')[0] ?? '')?.[0] ?? tool.description.split('\n')[0] ?? '';
