// What a program prints for a terminal, as a page can show it: without colours and cursor moves, and with
// each line as it stood in the end.

const ESC = '\u001b';
// Control sequences (colours, moves), strings for the terminal (titles, links, the clipboard), and short ones.
const SEQUENCES = new RegExp(`${ESC}(?:\\[[0-?]*[ -/]*[@-~]|[\\]PX^_][^\\u0007${ESC}]{0,4096}(?:\\u0007|${ESC}\\\\)|[@-Z\\\\^_=>78])`, 'g');

/** The text that is left on the screen. */
export function screen(printed: string): string {
  const plain = printed.replace(SEQUENCES, '');
  if (!plain.includes('\r')) return plain;
  const lines = plain.split('\n').map((line) => {
    // A line that is written again and again, such as a progress bar, shows its last state.
    const states = line.split('\r').filter((state) => state !== '');
    return states.at(-1) ?? '';
  });
  return lines.join('\n');
}
