// What is being changed of an agent: its settings, its files, and the general settings that are shown beside them.
// It outlives the form, so that nobody loses what they typed by looking at another page.

import { configOf, formOf, wrongFields, type AgentConfig, type AgentForm } from '../../lib/agents';
import { dotted } from '../../lib/config';
import { FileDraft } from '../../lib/fileDrafts.svelte';
import { get, put, remove } from '../../lib/http';
import { told } from '../../lib/live.svelte';

type Limit = { dollars?: number | null; tokens?: number | null };
export type Config = {
  agents?: Record<string, AgentConfig>;
  policy?: { mode?: string };
  models?: { default?: string | null; fallbacks?: string[]; limits?: { per_agent?: Limit; per_turn?: Limit } };
  heartbeat?: { enabled?: boolean; every_minutes?: number; agents?: Record<string, { enabled?: boolean | null; every_minutes?: number | null }> };
  sessions?: { reset?: { mode?: string } };
};
/** Settings beside the agent's own: fallbacks and limits hold for every agent. Numbers are typed, and empty for none. */
type Beside = { fallbacks: string[]; dollars: string; tokens: string; turnDollars: string; beat: '' | 'on' | 'off'; everyMinutes: string };

const copy = <T>(value: T): T => JSON.parse(JSON.stringify(value)) as T;
const typed = (value: number | null | undefined) => (value === null || value === undefined ? '' : String(value));

export async function readConfig(): Promise<Config> {
  const shown = await get('/api/config');
  return ('config' in shown ? shown.config : {}) as Config;
}

export class AgentEdit {
  form = $state<AgentForm>(formOf(undefined));
  beside = $state<Beside>({ fallbacks: [], dollars: '', tokens: '', turnDollars: '', beat: '', everyMinutes: '' });
  config = $state.raw<Config | null>(null);
  files = $state.raw<FileDraft[]>([]);
  wrong = $state.raw<Record<string, string>>({});
  error = $state.raw<{ message: string; hint: string } | null>(null);
  busy = $state(false);
  #form = $state('');
  #beside = $state('');

  constructor(
    readonly id: string,
    /** The agent whose workspace it uses. */
    public workspace: string,
  ) {}

  get settingsDirty(): boolean {
    return this.config !== null && JSON.stringify(this.form) !== this.#form;
  }
  get dirty(): boolean {
    return this.settingsDirty || (this.config !== null && JSON.stringify(this.beside) !== this.#beside) || this.files.some((one) => one.dirty);
  }

  file(path: string): FileDraft {
    const known = this.files.find((one) => one.path === path);
    if (known) return known;
    const fresh = new FileDraft(this.workspace, path);
    this.files = [...this.files, fresh];
    return fresh;
  }
  forget(path: string): void {
    this.files = this.files.filter((one) => one.path !== path);
  }

  /** Reads the settings; what is being changed stays. */
  async load(): Promise<void> {
    try {
      this.#take(await readConfig());
      this.error = null;
    } catch (error) {
      this.error = told(error);
    }
  }

  #take(config: Config): void {
    const [form, beside] = [formOf(config.agents?.[this.id]), this.#besideOf(config)];
    const first = this.config === null;
    if (first || JSON.stringify(this.form) === this.#form) this.form = copy(form);
    if (first || JSON.stringify(this.beside) === this.#beside) this.beside = copy(beside);
    this.#form = JSON.stringify(form);
    this.#beside = JSON.stringify(beside);
    this.config = config;
  }

  #besideOf({ models, heartbeat }: Config): Beside {
    const own = heartbeat?.agents?.[this.id];
    const limits = models?.limits;
    return {
      fallbacks: [...(models?.fallbacks ?? [])],
      dollars: typed(limits?.per_agent?.dollars),
      tokens: typed(limits?.per_agent?.tokens),
      turnDollars: typed(limits?.per_turn?.dollars),
      beat: own?.enabled === true ? 'on' : own?.enabled === false ? 'off' : '',
      everyMinutes: typed(own?.every_minutes),
    };
  }

  discard(): void {
    this.form = JSON.parse(this.#form) as AgentForm;
    this.beside = JSON.parse(this.#beside) as Beside;
    for (const file of this.files) file.discard();
    this.wrong = {};
  }

  /** Saves everything that was changed; what is wrong is told beside its field, and the rest is saved. */
  async save(): Promise<boolean> {
    if (this.busy) return false;
    this.busy = true;
    this.wrong = {};
    const wrong: Record<string, string> = {};
    if (this.settingsDirty) {
      try {
        // What the form does not show is as it is now, not as it was when the form was opened.
        const now = (await readConfig()).agents?.[this.id];
        await put('/api/config', { path: dotted(['agents', this.id]), value: configOf(copy(this.form), now) });
        this.#form = JSON.stringify(this.form);
      } catch (error) {
        Object.assign(wrong, wrongFields(told(error).message));
      }
    }
    Object.assign(wrong, await this.#saveBeside());
    for (const file of this.files) if (file.dirty) await file.save();
    this.wrong = wrong;
    await this.load();
    this.busy = false;
    return !Object.keys(wrong).length && !this.files.some((one) => one.dirty);
  }

  async #saveBeside(): Promise<Record<string, string>> {
    const before = JSON.parse(this.#beside) as Beside;
    const now = copy(this.beside);
    const wrong: Record<string, string> = {};
    const set = async (field: keyof Beside, path: string, value: unknown) => {
      if (JSON.stringify(before[field]) === JSON.stringify(now[field])) return;
      try {
        await (value === null ? remove('/api/config', { path }) : put('/api/config', { path, value }));
        this.#beside = JSON.stringify({ ...(JSON.parse(this.#beside) as Beside), [field]: now[field] });
      } catch (error) {
        wrong[field] = told(error).message.replace(/^(?:path: )?\/\S+?\.toml(?::\d+)*: /, '');
      }
    };
    const number = (text: string) => (text.trim() ? Number(text) : null);
    await set('fallbacks', 'models.fallbacks', now.fallbacks);
    await set('dollars', 'models.limits.per_agent.dollars', number(now.dollars));
    await set('tokens', 'models.limits.per_agent.tokens', number(now.tokens));
    await set('turnDollars', 'models.limits.per_turn.dollars', number(now.turnDollars));
    await set('beat', dotted(['heartbeat', 'agents', this.id, 'enabled']), now.beat ? now.beat === 'on' : null);
    await set('everyMinutes', dotted(['heartbeat', 'agents', this.id, 'every_minutes']), number(now.everyMinutes));
    return wrong;
  }
}

const edits = new Map<string, AgentEdit>();
/** What is being changed of an agent; what was changed and not saved before is still there. */
export function editOf(id: string, workspace: string): AgentEdit {
  const known = edits.get(id);
  if (known?.dirty) return known;
  const fresh = new AgentEdit(id, workspace);
  edits.set(id, fresh);
  return fresh;
}
export const forgetEdit = (id: string): void => void edits.delete(id);
/** The agents of which something is changed and not saved. */
export const unsaved = (): string[] => [...edits.values()].filter((one) => one.dirty).map((one) => one.id);

// Whoever closes the page is asked first, wherever in it they are.
window.addEventListener('beforeunload', (event) => unsaved().length && event.preventDefault());
