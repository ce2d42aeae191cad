// An agent as its form has it and as the settings have it, and its tools: given, found on demand, or not at all.

import type { ToolView } from './answers';

/** What the settings hold of an agent; what is null or missing follows the general setting. */
export type AgentConfig = {
  model?: string | null;
  thinking?: string | null;
  tools?: string[];
  discover?: string[];
  system_prompt?: string | null;
  reset?: { mode: string; at_hour?: number; idle_minutes?: number } | null;
  workspace?: string | null;
  dm_scope?: string | null;
  mode?: string | null;
  policy?: unknown;
};

export type AgentForm = {
  model: string;
  thinking: string;
  prompt: string;
  tools: string[];
  discover: string[];
  mode: string;
  reset: string;
  atHour: number;
  idleMinutes: number;
  workspace: string;
  dmScope: string;
};

export const THINKING = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh'] as const;
export const SCOPES = ['main', 'per-peer', 'per-channel-peer', 'per-account-channel-peer'] as const;
export const NAME = /^[a-z0-9][a-z0-9_-]{0,63}$/;

export function formOf(config: AgentConfig | undefined): AgentForm {
  return {
    model: config?.model ?? '',
    thinking: config?.thinking ?? '',
    prompt: config?.system_prompt ?? '',
    tools: [...(config?.tools ?? ['*'])],
    discover: [...(config?.discover ?? [])],
    mode: config?.mode ?? '',
    reset: config?.reset?.mode ?? '',
    atHour: config?.reset?.at_hour ?? 4,
    idleMinutes: config?.reset?.idle_minutes ?? 60,
    workspace: config?.workspace ?? '',
    dmScope: config?.dm_scope ?? '',
  };
}

/** The settings that a form says; what it does not show stays as it was. */
export function configOf(form: AgentForm, before: AgentConfig = {}): AgentConfig {
  const said = {
    ...before,
    model: form.model.trim() || null,
    thinking: form.thinking || null,
    system_prompt: form.prompt.trim() ? form.prompt : null,
    tools: form.tools,
    discover: form.discover,
    mode: form.mode || null,
    reset: form.reset ? { mode: form.reset, at_hour: form.atHour, idle_minutes: form.idleMinutes } : null,
    workspace: form.workspace || null,
    dm_scope: form.dmScope || null,
  };
  const all = form.tools.length === 1 && form.tools[0] === '*';
  const left = Object.entries(said).filter(([key, value]) => value !== null && !(key === 'tools' && all) && !(key === 'discover' && !form.discover.length) && !(key === 'policy' && !hasRules(value)));
  return Object.fromEntries(left);
}
const hasRules = (policy: unknown) => typeof policy === 'object' && policy !== null && 'rules' in policy && Array.isArray(policy.rules) && policy.rules.length > 0;

/** What the gateway says is wrong, by the keys of an agent (`model`); what belongs to none of them is under ''. */
export function wrongFields(message: string): Record<string, string> {
  const found: Record<string, string> = {};
  for (const line of message.split('\n')) {
    const [, key = ''] = /`agents\.(?:"[^"]+"|[^.`]+)\.([a-z_]+)/.exec(line) ?? [];
    // Where the file is and which line of it is wrong means nothing in a form.
    const text = line.replace(/^(?:path: )?\/\S+?\.toml(?::\d+)*: /, '').replace(/`agents\.(?:"[^"]+"|[^.`]+)\.([^`]+)`/, '`$1`');
    if (text.trim()) found[key] = found[key] ? `${found[key]}\n${text}` : text;
  }
  return found;
}

/** Whether a model is given a tool, can find it on demand, or does not have it. */
export type Access = 'on' | 'demand' | 'off';
export type Named = Pick<ToolView, 'name' | 'wireName'>;

const compiled = new Map<string, RegExp>();
function matches(pattern: string, tool: Named): boolean {
  let expression = compiled.get(pattern);
  if (!expression) {
    const source = pattern.split('*').map((part) => part.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')).join('.*');
    compiled.set(pattern, (expression = new RegExp(`^${source}$`, 's')));
  }
  return expression.test(tool.name) || expression.test(tool.wireName);
}

export function accessOf(tool: Named, { tools, discover }: { tools: string[]; discover: string[] }): Access {
  if (discover.some((pattern) => matches(pattern, tool))) return 'demand';
  return tools.some((pattern) => matches(pattern, tool)) ? 'on' : 'off';
}

/** The server or group of tools that a name begins with: `gsv__ReadFile` is of `gsv__`. */
const prefixOf = (name: string): string => /^.+?(?:__|::)/.exec(name)?.[0] ?? '';

/** Patterns that match the same known tools but for those that are taken out, with as few patterns as there can be. */
function without(patterns: string[], all: Named[], out: Set<Named>): string[] {
  return patterns.flatMap((pattern) => {
    const matched = all.filter((tool) => matches(pattern, tool));
    if (!matched.some((tool) => out.has(tool))) return [pattern];
    const left = matched.filter((tool) => !out.has(tool));
    return named(left, all);
  });
}

/** Patterns for exactly these of all tools: a whole server by its prefix, others by their names. */
function named(tools: Named[], all: Named[]): string[] {
  const chosen = new Set(tools);
  const whole = new Set(all.map((tool) => prefixOf(tool.name)).filter((prefix) => prefix && all.filter((tool) => prefixOf(tool.name) === prefix).every((tool) => chosen.has(tool))));
  return [...new Set(tools.map((tool) => (whole.has(prefixOf(tool.name)) ? `${prefixOf(tool.name)}*` : tool.name)))];
}

const added = (patterns: string[], tools: Named[], all: Named[]): string[] => {
  const missing = tools.filter((tool) => !patterns.some((pattern) => matches(pattern, tool)));
  const joined = [...patterns, ...named(missing, all)];
  // A pattern makes the names that it matches superfluous.
  return joined.filter((one, at) => joined.indexOf(one) === at && !joined.some((other) => other !== one && other.includes('*') && !one.includes('*') && matches(other, { name: one, wireName: one })));
};

/** The patterns after some tools were set: new tools of a server follow its others as long as they are all the same. */
export function withAccess(patterns: { tools: string[]; discover: string[] }, set: Named[], access: Access, all: Named[]): { tools: string[]; discover: string[] } {
  const out = new Set(set);
  const discover = access === 'demand' ? added(patterns.discover, set, all) : without(patterns.discover, all, out);
  if (access === 'demand') return { tools: patterns.tools, discover };
  return { tools: access === 'on' ? added(patterns.tools, set, all) : without(patterns.tools, all, out), discover };
}

/** Files of the workspace that become part of the prompt, in their order. */
export const PROMPT_FILES = ['AGENTS.md', 'SOUL.md', 'IDENTITY.md', 'USER.md', 'TOOLS.md', 'HEARTBEAT.md', 'BOOTSTRAP.md'] as const;

/** The text of a new skill. */
export const skillText = (name: string, description: string): string => `---\nname: ${name}\ndescription: ${description.replace(/\s+/g, ' ')}\n---\n\n`;

/** The name that a skill's text gives itself, as a name of a folder; else that of its file. */
export function skillName(text: string, file: string): string {
  const front = /^---\r?\n([\s\S]*?)\r?\n---/.exec(text)?.[1] ?? '';
  const said = /^name:\s*["']?(.+?)["']?\s*$/m.exec(front)?.[1] ?? file.replace(/\.(md|markdown|txt)$/i, '');
  return said.toLowerCase().normalize('NFKD').replace(/[^a-z0-9_-]+/g, '-').replace(/^-+|-+$/g, '').slice(0, 64);
}
