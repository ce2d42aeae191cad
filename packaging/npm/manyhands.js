#!/usr/bin/env node
// Starts the program that npm installed for this platform, with everything it was given.
'use strict';
const { spawn } = require('node:child_process');
const { constants } = require('node:os');

const platform = `${process.platform}-${process.arch}`;
let program;
try {
  program = require.resolve(`@manyhands/${platform}/bin/manyhands`);
} catch {
  console.error(`manyhands: there is no package for ${platform}, or it was not installed`);
  console.error(`hint: install without --omit=optional, or see ${require('./package.json').homepage} for other packages`);
  process.exit(1);
}

const arguments_ = process.argv.slice(2);
// Becoming the program leaves no process between it and who started it. Older Node.js cannot.
if (typeof process.execve === 'function') {
  process.removeAllListeners('warning');
  process.on('warning', () => {});
  process.execve(program, [program, ...arguments_], process.env);
}
const child = spawn(program, arguments_, { stdio: 'inherit' });
// A terminal sends its signals to the program, too; whoever stops only this process means the program.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
  process.on(signal, () => {
    if (signal !== 'SIGINT' || !process.stdin.isTTY) child.kill(signal);
  });
}
child.on('error', (error) => {
  console.error(`manyhands: ${program}: ${error.message}`);
  process.exit(1);
});
child.on('exit', (code, signal) => process.exit(signal ? 128 + (constants.signals[signal] ?? 0) : (code ?? 1)));
