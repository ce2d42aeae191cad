import { describe, expect, it } from 'vitest';
import { PROVIDERS, settingsOf, type Provider } from '../src/lib/providers';

function named(id: string): Provider {
  const found = PROVIDERS.find((one) => one.id === id);
  if (!found) throw new Error(`there is no ${id}`);
  return found;
}

describe('the settings of a provider', () => {
  it('name the key and never hold it', () => {
    expect(settingsOf(named('anthropic'), '')).toBe('[models]\ndefault = "anthropic/claude-sonnet-5-5"\n\n[models.providers.anthropic]\nkind = "anthropic"\napi_key = "vault:anthropic"');
  });
  it('say where a model of this machine is, which needs no key', () => {
    const text = settingsOf(named('ollama'), 'llama3');
    expect(text).toContain('default = "ollama/llama3"');
    expect(text).toContain('base_url = "http://127.0.0.1:11434/v1"');
    expect(text).not.toContain('api_key');
  });
  it('keep what was typed a text', () => expect(settingsOf(named('openai'), 'a"\nb')).toContain('default = "openai/a\\"\\nb"'));
});
