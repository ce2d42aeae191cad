import { describe, expect, it } from 'vitest';
import { Refused, patiently } from '../src/lib/http';

const refused = (code: string) => new Refused(code, 'no', '', [], {}, 404);

describe('what was just made', () => {
  it('is asked for again until it is known', async () => {
    let asked = 0;
    const ask = () => (++asked < 3 ? Promise.reject(refused('not_found')) : Promise.resolve('there'));
    expect(await patiently(ask, 5, 0)).toBe('there');
    expect(asked).toBe(3);
  });
  it('is given up after some tries, with the reason', async () => {
    let asked = 0;
    await expect(patiently(() => (++asked, Promise.reject(refused('not_found'))), 4, 0)).rejects.toMatchObject({ code: 'not_found' });
    expect(asked).toBe(4);
  });
  it('is not asked for again when the answer is another no', async () => {
    let asked = 0;
    await expect(patiently(() => (++asked, Promise.reject(refused('forbidden'))), 4, 0)).rejects.toMatchObject({ code: 'forbidden' });
    expect(asked).toBe(1);
  });
});

it('names a wrong parameter as the form labels it', () => {
  const problems = [{ parameter: 'baseUrl', message: 'must be a URL' }, { parameter: 'key', message: 'is too short' }];
  const error = new Refused('invalid_arguments', 'baseUrl: must be a URL; key: is too short', '', problems, {}, 400);
  expect(error.labelled({ baseUrl: 'Endpoint' })).toBe('Endpoint: must be a URL\nkey: is too short');
  expect(refused('failed').labelled({ no: 'Number' })).toBe('no');
});
