import { describe, expect, it } from 'vitest';
import { keyOf, settingsOf } from '../src/lib/providers';

const anthropic = { id: 'anthropic', kind: 'anthropic' as const, model: 'claude-sonnet-5-5', baseUrl: null, needsKey: true };
const vllm = { id: 'vllm', kind: 'openai' as const, model: null, baseUrl: 'http://127.0.0.1:8000/v1', needsKey: false };

describe('the settings of a provider', () => {
  it('name the key and never hold it', () => {
    expect(settingsOf(anthropic, '')).toBe('[models]\ndefault = "anthropic/claude-sonnet-5-5"\n\n[models.providers.anthropic]\nkind = "anthropic"\napi_key = "vault:anthropic"');
    expect(keyOf(anthropic)).toBe('printf %s "$KEY" | manyhands secret set anthropic');
  });
  it('say where a model of this machine is, which needs no key', () => {
    const text = settingsOf(vllm, 'llama3');
    expect(text).toContain('default = "vllm/llama3"');
    expect(text).toContain('base_url = "http://127.0.0.1:8000/v1"');
    expect(text).not.toContain('api_key');
  });
  it('leave a gap where there is no usual model', () => expect(settingsOf(vllm, '')).toContain('default = "vllm/…"'));
  it('keep what was typed a text', () => expect(settingsOf(anthropic, 'a"\nb')).toContain('default = "anthropic/a\\"\\nb"'));
});
