import { expect, it } from 'vitest';
import { advice } from '../src/pages/servers/server';

it.each([
  ['HTTP 401 Unauthorized', false, 'servers.adviceLogin'],
  ['npx was not found; install Node.js', true, 'servers.adviceInstall'],
  ['it ended with status 1', true, 'servers.adviceLog'],
  ['cannot connect to 127.0.0.1: Connection refused (os error 111)', false, 'servers.adviceReach'],
  ['the answer was not JSON', false, 'servers.adviceOther'],
])('%j leads to the right advice', (problem, local, key) => expect(advice(problem, local)).toBe(key));
