import { expect, it } from 'vitest';
import { asText, base64 } from '../src/pages/nodes/bytes';

it('bytes are text only if every one of them is', () => {
  const bytes = (text: string) => new TextEncoder().encode(text);
  expect(asText(bytes('grüße\n'))).toBe('grüße\n');
  expect(asText(bytes('\ufeffmarked'))).toBe('\ufeffmarked');
  expect(asText(bytes('nul\0'))).toBeNull();
  expect(asText(new Uint8Array([0xff, 0xfe]))).toBeNull();
});

it('base64 is made of as many bytes as there are', () => {
  const many = Uint8Array.from({ length: 100_003 }, (_, at) => at % 256);
  expect(Uint8Array.from(atob(base64(many)), (letter) => letter.charCodeAt(0))).toEqual(many);
});
