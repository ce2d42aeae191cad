// The slash commands there are, as the gateway lists them.

export type Command = { name: string; about: string };

/** The commands in what `/help` says. What counts for one message only ends with a colon. */
export function commandsIn(help: string): Command[] {
  const of = (line: string): Command[] => {
    const [, name = '', about = ''] = /^\W*\/([a-z]+)(?![a-z:])\s*(?:-\s)?(.*)$/.exec(line) ?? [];
    if (name) return [{ name, about }];
    const rest = line.split(' - ', 2)[1] ?? '';
    return [...line.matchAll(/\/([a-z]+:)([A-Z/]*)/g)].map(([, word = '', what = '']) => ({ name: word, about: `${what} ${rest}`.trim() }));
  };
  return help.split('\n').flatMap((line) => of(line.trim()));
}

/** How many are offered: all, and the list scrolls. */
const MOST = 40;

/** The commands that a beginning could become. Those for one message come first where they fit as well: they are short. */
export function fitting(commands: Command[], typed: string): Command[] {
  return commands.filter((one) => one.name.startsWith(typed)).slice(0, MOST);
}

/** A command as it is typed: one that goes on at once ends with its colon. */
export function completed(name: string): string {
  return name.endsWith(':') ? `/${name}` : `/${name} `;
}

/** Whether a text is a command and no message. */
export function isCommand(text: string): boolean {
  return /^\/[a-z]+(\s|$)/i.test(text.trim());
}
