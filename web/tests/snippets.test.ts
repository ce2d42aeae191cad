import { describe, expect, it } from 'vitest';
import { asCommand, asCurl, asMcp, quoted } from '../src/lib/snippets';

/** The words of a line as a POSIX shell reads them; whatever would be run or replaced by it is an error. */
function words(line: string): string[] {
  const found: string[] = [];
  let word: string | null = null;
  for (let at = 0; at < line.length; at++) {
    const here = line.charAt(at);
    if (here === "'") {
      const end = line.indexOf("'", at + 1);
      if (end === -1) throw new Error('a quote has no end');
      word = (word ?? '') + line.slice(at + 1, end);
      at = end;
    } else if (here === '\\') {
      at += 1;
      word = (word ?? '') + line.charAt(at);
    } else if (here === ' ') {
      if (word !== null) found.push(word);
      word = null;
    } else if (/[\w@%+=:,./-]/.test(here)) word = (word ?? '') + here;
    else throw new Error(`a shell would act on ${here}`);
  }
  return word === null ? found : [...found, word];
}

describe('a call as text', () => {
  const nasty = ["it's", '$(touch /tmp/x)', '`id`', 'two words', '"quoted"', 'line\nbreak', '\\', ';&|<>*?#~!', ''];
  it.each(nasty)('is one word for a shell: %j', (word) => expect(words(quoted(word))).toEqual([word]));
  it('is a command with its arguments whole', () => {
    const args = { command: "echo 'hi' && rm -rf \"$HOME\"" };
    expect(words(asCommand('laptop__Bash', args))).toEqual(['manyhands', 'call', 'laptop__Bash', JSON.stringify(args)]);
    expect(words(asCommand('a', {}, 'other')).slice(-2)).toEqual(['--agent', 'other']);
  });
  it('is a request with the token by its name', () => {
    const text = asCurl('http://127.0.0.1:7717', 'tool::web_fetch', { url: 'https://a.example' }, 'o');
    expect(text).toContain('http://127.0.0.1:7717/api/tools/tool%3A%3Aweb_fetch?agent=o');
    expect(text).toContain('$MANYHANDS_TOKEN');
  });
  it('is what an MCP client takes', () => {
    expect(JSON.parse(asMcp('http://h', 't', 'url'))).toEqual({ mcpServers: { manyhands: { url: 'http://h/mcp', headers: { Authorization: 'Bearer t' } } } });
    expect(JSON.parse(asMcp('http://h', 't', 'command'))).toEqual({ mcpServers: { manyhands: { command: 'manyhands', args: ['mcp'], env: { MANYHANDS_URL: 'http://h', MANYHANDS_TOKEN: 't' } } } });
  });
});
