// Rules that many people want, with what has to be filled in: offered where rules are added.

import '../texts/use/approvals';
import type { Rule } from './answers';
import { t, type Key } from './i18n';
import { outside } from './rules';

/** What is asked before the rules are made. */
export type Blank = 'folder' | 'website' | 'program';
export type Template = { id: string; title: string; about: string; blanks: Blank[]; rules: (filled: Record<Blank, string>, agent: string) => Rule[] };

type Part = Partial<Rule> & Pick<Rule, 'decision'>;
const rule = (part: Part, agent: string): Rule => ({ tools: ['*'], ...part, ...(agent ? { agents: [agent] } : {}) }) as Rule;
/** The parameters in which shells and program runners take what they run. */
const COMMANDS = ['command', 'cmd', 'argv'];
const eachCommand = (part: Part, program: string[]): Part[] => COMMANDS.map((name) => ({ ...part, when: { [name]: { program } } }) as Part);
/** A folder as rules compare it: `a` would also match `ab/`. */
const folder = (text: string) => `${text.trim().replace(/\/+$/, '')}/`;
const list = (text: string) => text.split(/[\s,]+/).filter(Boolean).map((one) => one.replace(/^https?:\/\//, '').replace(/\/.*$/, ''));

type Made = (filled: Record<Blank, string>) => Part[];
const MADE: { id: string; title: Key; about: Key; blanks?: Blank[]; rules: Made }[] = [
  { id: 'ask-shell', title: 'approvals.tplShell', about: 'approvals.tplShellAbout', rules: () => [{ decision: 'ask', effects: ['runs'] }] },
  {
    id: 'stay-in-folder',
    title: 'approvals.tplFolder',
    about: 'approvals.tplFolderAbout',
    blanks: ['folder'],
    // A path may climb out of the folder that it begins with.
    rules: (filled) => [
      { decision: 'deny', effects: ['reads', 'writes'], when: { path: { matches: '(^|/)\\.\\.(/|$)' } } } as unknown as Part,
      { decision: 'deny', effects: ['writes'], when: { path: { matches: outside(folder(filled.folder)) } } } as unknown as Part,
      { decision: 'ask', effects: ['runs'] },
    ],
  },
  { id: 'read-only', title: 'approvals.tplReadOnly', about: 'approvals.tplReadOnlyAbout', rules: () => [{ decision: 'deny', effects: ['writes', 'runs', 'sends'] }] },
  { id: 'ask-messages', title: 'approvals.tplContact', about: 'approvals.tplContactAbout', rules: () => [{ decision: 'ask', effects: ['sends'] }] },
  { id: 'ask-files', title: 'approvals.tplFiles', about: 'approvals.tplFilesAbout', rules: () => [{ decision: 'ask', tools: ['*WriteFile', '*EditFile', '*DeleteFile', 'write_file', '*file_write', '*apply_patch'] }] },
  { id: 'deny-delete', title: 'approvals.tplDelete', about: 'approvals.tplDeleteAbout', rules: () => [{ decision: 'deny', tools: ['*DeleteFile', '*_delete', '*_remove'] }] },
  { id: 'deny-destructive', title: 'approvals.tplDangerous', about: 'approvals.tplDangerousAbout', rules: () => eachCommand({ decision: 'deny' }, ['rm', 'dd', 'mkfs*', 'shutdown', 'reboot', 'sudo']) },
  { id: 'allow-program', title: 'approvals.tplProgram', about: 'approvals.tplProgramAbout', blanks: ['program'], rules: (filled) => eachCommand({ decision: 'allow' }, list(filled.program)) },
  { id: 'allow-website', title: 'approvals.tplWebsite', about: 'approvals.tplWebsiteAbout', blanks: ['website'], rules: (filled) => [{ decision: 'allow', tools: ['url_fetch', '*web_fetch'], when: { url: { host: list(filled.website) } } } as unknown as Part] },
];

export const templates = (): Template[] =>
  MADE.map(({ id, title, about, blanks = [], rules }) => ({ id, title: t(title), about: t(about), blanks, rules: (filled, agent) => rules(filled).map((part) => rule(part, agent)) }));
