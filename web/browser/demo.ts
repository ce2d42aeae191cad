// A house that is lived in: conversations, machines, jobs, servers, people. Everything in it was made by real calls;
// only the model is scripted, and the chat platform and one MCP server are small ones of this process.

import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { soon, type Gateway, type Wanted } from './gateway';
import { McpServer, Telegram } from './others';
import { written } from './png';

const PLAN = `Three things are due, and one of them today:

| What | When | Where it stands |
| --- | --- | --- |
| Send the offer to Ada | **today** | the draft is in \`memory/offer.md\` |
| Renew the certificate | Wednesday | \`studio\` has the key |
| Water the plants | Friday | comes again every week |

The certificate ends in four days. This renews it and reloads the server:

\`\`\`sh
certbot renew --cert-name hands.example
systemctl reload nginx
\`\`\`

Shall I do that on **studio** now? It needs your approval.`;

const SCRIPT = `
models: [demo, small]
turns:
  - when: { user: due this week }
    thinking: The notes and the todos will say.
    text: I look at your notes and at the calendar.
    calls:
      - { id: d1, name: gsv__ReadFile, arguments: { path: memory/notes.md } }
      - { id: d2, name: calendar__events, arguments: { from: "2026-11-16", to: "2026-11-22" } }
    usage: { input: 2140, output: 61 }
  - when: { result_of: calendar__events }
    text: ${JSON.stringify(PLAN)}
    usage: { input: 2970, output: 214 }
  - when: { user: yes please }
    text: Then I renew it.
    calls: [{ id: d3, name: studio__Bash, arguments: { command: "certbot renew --cert-name hands.example && systemctl reload nginx" } }]
    usage: { input: 3320, output: 48 }
  - when: { user: disk }
    text: I ask the machine.
    calls: [{ id: d4, name: studio__Bash, arguments: { command: "df -h / | tail -1" } }]
    usage: { input: 890, output: 32 }
  - when: { result_of: studio__Bash }
    text: "There is room enough: the disk of **studio** is far from full."
    usage: { input: 1010, output: 27 }
  - when: { user: sum up }
    text: "- two offers went out\\n- the nightly copy worked\\n- nobody waits for an answer"
    usage: { input: 1630, output: 88 }
  - when: { user: "" }
    text: Good. It is noted.
    usage: { input: 640, output: 12 }
`;

const RULES = `
[[policy.rules]]
decision = "ask"
tools = ["*__Bash"]
when.command.contains = "certbot"
reason = "certificates are yours"
[[policy.rules]]
decision = "deny"
tools = ["gsv__DeleteFile"]
when.path.starts_with = "memory/"
reason = "what is remembered stays"
[sessions.reset]
mode = "manual"
`;

export class Demo {
  readonly telegram = new Telegram();
  readonly calendar = new McpServer([
    {
      name: 'events',
      description: 'Lists the events between two days.',
      inputSchema: { type: 'object', properties: { from: { type: 'string', description: 'the first day' }, to: { type: 'string', description: 'the last day' }, where: { oneOf: [{ title: 'In a room', type: 'object', properties: { room: { type: 'string' } }, required: ['room'] }, { title: 'Anywhere', const: 'anywhere' }] } }, required: ['from', 'to'] },
      answers: 'Mon 09:30 stand-up\nWed 14:00 certificate ends\nThu 11:00 call with Ada',
    },
    { name: 'free_slots', description: 'Finds free hours of a day.', inputSchema: { type: 'object', properties: { day: { type: 'string' } } }, answers: 'Tue 10:00, Tue 15:00' },
  ]);

  /** What the gateway has to be started with. */
  async settings(): Promise<Wanted> {
    await Promise.all([this.telegram.start(), this.calendar.start()]);
    return { script: SCRIPT, config: `[egress]\nallow_private = ["127.0.0.0/8"]\n${RULES}\n[channels.telegram.accounts.default]\napi_url = "${this.telegram.url}"\n` };
  }

  stop(): void {
    this.telegram.stop();
    this.calendar.stop();
  }

  /** Moves in. */
  async furnish(gateway: Gateway): Promise<void> {
    const write = (path: string, content: string) => gateway.call('gsv__WriteFile', { path, content });
    await write('memory/notes.md', '# Notes\n\n- the offer for Ada: 12 days, start in December\n- the certificate of hands.example ends on Wednesday\n- the nightly copy runs on studio at 02:30\n');
    await write('memory/offer.md', '# Offer\n\nDear Ada,\n\ntwelve days of work, starting on 1 December.\n');
    await write('HEARTBEAT.md', 'Look at open todos; say something only when one is due.\n');
    await write('skills/weekly/SKILL.md', '---\nname: weekly\ndescription: Writes the weekly summary.\n---\n\nRead the notes, list what was done and what is due.\n');

    await gateway.post('/api/servers', { name: 'calendar', server: { url: this.calendar.url } });
    await soon('its tools are known', async () => (await gateway.ask('POST', '/api/servers/calendar/refresh')).ok);
    await this.#machines(gateway);
    await this.#people(gateway);
    await this.#jobs(gateway);
    await this.#kept(gateway);
    await this.#talk(gateway);
    // A server changes what it says of a tool: that is held for the owner.
    const [events, slots] = this.calendar.tools;
    if (events && slots) this.calendar.tools = [events, { ...slots, description: 'Finds free hours of a day, and books the first of them.' }];
    await gateway.post('/api/servers/calendar/refresh');
  }

  async #machines(gateway: Gateway): Promise<void> {
    for (const name of ['studio', 'laptop']) {
      const { code } = await gateway.post<{ code: string }>('/api/nodes/codes', { nodeId: name });
      const folder = join(gateway.folder, 'machines-of-the-workshop', name);
      await mkdir(join(folder, 'site', 'assets'), { recursive: true });
      await writeFile(join(folder, 'site', 'index.html'), '<!doctype html>\n<title>hands.example</title>\n<h1>Hello</h1>\n');
      await writeFile(join(folder, 'site', 'assets', 'style.css'), 'body { font: 16px/1.5 system-ui }\n');
      await writeFile(join(folder, 'backup.log'), '02:30 begun\n02:34 1,204 files, nothing missing\n');
      await gateway.node(code, folder);
    }
    await soon('both machines are there', async () => (await gateway.get<{ nodes: { online: boolean }[] }>('/api/nodes')).nodes.filter((node) => node.online).length === 2);
    const command = 'echo "listening on 8080"; i=0; while read -r line; do i=$((i+1)); echo "$i $line"; done';
    const { sessionId } = await gateway.call<{ sessionId: string }>('studio__Bash', { command, background: true });
    for (const data of ['GET / 200', 'GET /assets/style.css 200', 'GET /favicon.ico 404']) await gateway.call('studio__Process', { action: 'submit', sessionId, data });
  }

  async #people(gateway: Gateway): Promise<void> {
    await gateway.post('/api/channels/telegram/default/login', { token: '7:a-token-of-a-bot-that-is-long-enough' });
    this.telegram.write({ id: 42, first_name: 'Ada Lovelace', username: 'ada' }, 'Good morning! Is the offer ready?');
    const asks = (id: string) => soon(`${id} asks`, async () => (await gateway.get<{ pairs: { senderId: string }[] }>('/api/pairs')).pairs.some((pair) => pair.senderId === id));
    await asks('42');
    await gateway.post('/api/pairs/telegram/42/approve', { owner: false });
    this.telegram.write({ id: 42, first_name: 'Ada Lovelace', username: 'ada' }, 'Thank you. Thursday at eleven, then.');
    await soon('she is answered', () => this.telegram.sent.some((one) => one.to === 42 && one.text.includes('noted')));
    this.telegram.write({ id: 43, first_name: 'Grace Hopper', username: 'grace' }, 'May I talk to your agent?');
    await asks('43');
    const todo = (content: string) => gateway.call('todo_update', { action: 'add', content, people: ['$SPEAKER'] });
    await todo('Send the offer to Ada');
    await todo('Renew the certificate of hands.example');
    await todo('Choose a name for the new machine');
    await gateway.call('todo_update', { action: 'add_recurring', content: 'Water the plants', people: ['$SPEAKER'], repeat: 'weekly', next: '2026-12-04 09:00', tz: 'Europe/Berlin' });
    await gateway.call('todo_update', { action: 'complete', content: 'Choose a name for the new machine' });
  }

  async #jobs(gateway: Gateway): Promise<void> {
    const add = async (name: string, schedule: object, spec: object) => (await gateway.call<{ job: { id: string } }>('gsv__Cron', { action: 'add', job: { name, schedule, spec } })).job.id;
    const run = (id: string) => gateway.call('gsv__Cron', { action: 'run', id, mode: 'force' });
    const morning = await add('Morning summary', { kind: 'cron', expr: '0 8 * * 1-5', tz: 'Europe/Berlin' }, { mode: 'task', message: 'sum up what happened since yesterday' });
    const check = await add('Check the studio', { kind: 'every', everyMs: 4 * 3_600_000 }, { mode: 'task', message: 'is there room on the disk of studio?' });
    await add('Tea', { kind: 'at', at: 'in 3 hours' }, { mode: 'systemEvent', text: 'the tea is ready' });
    await add('Sunday letter', { kind: 'cron', expr: '30 18 * * 0', tz: 'Europe/Berlin' }, { mode: 'task', message: 'sum up the week' });
    for (const id of [morning, check, morning]) await run(id);
  }

  async #kept(gateway: Gateway): Promise<void> {
    const give = async (name: string, type: string, bytes: Uint8Array<ArrayBuffer>) => {
      const response = await fetch(`${gateway.url}/api/artifacts?name=${encodeURIComponent(name)}&type=${encodeURIComponent(type)}`, { method: 'POST', headers: { authorization: `Bearer ${gateway.owner}` }, body: bytes });
      if (!response.ok) throw new Error(await response.text());
    };
    const make = async (kind: string, name: string, description: string) => (await gateway.call<{ collectionId: string }>('resource_create', { kind, name, description })).collectionId;
    const customers = await make('datastore', 'customers', 'Who asked for an offer, and where it stands.');
    await gateway.call('datastore_write', { collectionId: customers, rows: [{ data: { name: 'Ada Lovelace', stage: 'offer' } }, { data: { name: 'Grace Hopper', stage: 'asked' } }] });
    const handbook = await make('knowledge', 'handbook', 'How things are done here.');
    await gateway.call('knowledge_add', { collectionId: handbook, title: 'Certificates', text: 'Certificates are renewed by certbot on studio, four days before they end.' });
    await give('visits.csv', 'text/csv', new TextEncoder().encode('day,visits\n2026-11-12,310\n2026-11-13,342\n2026-11-14,377\n'));
    await give('harbour.png', 'image/png', harbour(320, 180));
    await give('minutes.md', 'text/markdown', new TextEncoder().encode('# Minutes\n\nAda wants to begin in December.\n'));
  }

  async #talk(gateway: Gateway): Promise<void> {
    const say = (sessionKey: string, message: string) => gateway.post('/api/chat', { sessionKey, message });
    const name = (key: string, label: string) => gateway.post(`/api/sessions/${encodeURIComponent(key)}/patch`, { label });
    await say('agent:main:disk', 'is there room on the disk of studio?');
    await name('agent:main:disk', 'Room on the studio');
    await say('agent:main:letter', 'sum up the week, please');
    await name('agent:main:letter', 'The week');
    await say('agent:main:main', 'What is due this week?');
    await gateway.ask('POST', '/api/chat', { sessionKey: 'agent:main:main', message: 'yes please' });
    await soon('the agent asks', async () => (await gateway.get<{ approvals: unknown[] }>('/api/approvals')).approvals.length > 0);
  }
}

/** A picture of a sky over water. */
function harbour(width: number, height: number): Uint8Array<ArrayBuffer> {
  const pixels = Buffer.alloc(width * height * 3);
  for (let y = 0; y < height; y += 1) {
    for (let x = 0; x < width; x += 1) {
      const sun = Math.hypot(x - width * 0.7, y - height * 0.35) < 22;
      const water = y > height * 0.62;
      const wave = water ? Math.sin(x / 9 + y / 3) * 10 : 0;
      const colour = sun ? [255, 220, 140] : water ? [20 + wave, 95 + wave, 110 + wave] : [250 - y, 190 - y / 3, 150 + y / 3];
      pixels.set(colour.map((one) => Math.max(0, Math.min(255, Math.round(one)))), (y * width + x) * 3);
    }
  }
  return new Uint8Array(written({ width, height, pixels }));
}

/** Every page, by what stands after the # of its address. */
export const PAGES = [
  'chat', 'tools', 'tools/gsv__ReadFile', 'tools/calendar__events', 'nodes', 'nodes/studio', 'nodes/studio/files', 'servers/calendar', 'channels', 'agents', 'cron', 'people', 'workspace/main/memory/notes.md',
  'artifacts', 'resources', 'policy', 'activity', 'usage', 'settings', 'health', 'welcome',
];
