// How a maker of models is written into config.toml by hand. Who there is, the gateway says.

import type { Maker } from './answers';

const text = (value: string) => JSON.stringify(value);

/** What is put into config.toml for a maker and one of its models. */
export function settingsOf(maker: Pick<Maker, 'id' | 'kind' | 'model' | 'baseUrl' | 'needsKey'>, model: string): string {
  const lines = ['[models]', `default = ${text(`${maker.id}/${model || maker.model || '…'}`)}`, '', `[models.providers.${maker.id}]`, `kind = ${text(maker.kind)}`];
  if (maker.baseUrl) lines.push(`base_url = ${text(maker.baseUrl)}`);
  if (maker.needsKey) lines.push(`api_key = ${text(`vault:${maker.id}`)}`);
  return lines.join('\n');
}

/** How its key is put into the vault on the gateway's machine. */
export const keyOf = (maker: Pick<Maker, 'id'>) => `printf %s "$KEY" | manyhands secret set ${maker.id}`;
