// How to name the usual providers of models in config.toml.

export type Provider = { id: string; title: string; kind: string; model: string; address?: string; key: boolean };

export const PROVIDERS: Provider[] = [
  { id: 'anthropic', title: 'Anthropic', kind: 'anthropic', model: 'claude-sonnet-5-5', key: true },
  { id: 'openai', title: 'OpenAI', kind: 'openai-responses', model: 'gpt-5.5', key: true },
  { id: 'gemini', title: 'Google Gemini', kind: 'gemini', model: 'gemini-3.1-pro', key: true },
  { id: 'openrouter', title: 'OpenRouter', kind: 'openai', model: 'anthropic/claude-sonnet-5.5', address: 'https://openrouter.ai/api/v1', key: true },
  { id: 'ollama', title: 'Ollama, on this machine', kind: 'openai', model: 'qwen3:8b', address: 'http://127.0.0.1:11434/v1', key: false },
];

const text = (value: string) => JSON.stringify(value);

/** What is put into config.toml for a provider and one of its models. */
export function settingsOf(provider: Provider, model: string): string {
  const lines = ['[models]', `default = ${text(`${provider.id}/${model || provider.model}`)}`, '', `[models.providers.${provider.id}]`, `kind = ${text(provider.kind)}`];
  if (provider.address) lines.push(`base_url = ${text(provider.address)}`);
  if (provider.key) lines.push(`api_key = ${text(`vault:${provider.id}`)}`);
  return lines.join('\n');
}
