// Answers whose shape the gateway's documents do not describe: `/api` calls that answer with an
// envelope around any value. Only what the page shows is named.

import type { components } from '../generated/api';

export type ErrorCode = NonNullable<components['schemas']['Envelope']['code']>;
export type Effect = string;

export type Who = { name: string; role: string; owner: boolean; version: string; url: string | null };

export type ToolView = {
  wireName: string;
  name: string;
  family: string;
  group: string;
  description: string;
  inputSchema: unknown;
  effects: Effect[];
  runsOn: string;
  timeoutSeconds?: number;
};

export type Approval = {
  id: string;
  state: string;
  tool: string;
  arguments: unknown;
  effects: Effect[];
  caller: string;
  agent: string;
  rule: string;
  createdAt: string;
  expiresAt: string;
  decidedBy: string | null;
  decidedAt: string | null;
};

export type AuditEntry = {
  seq: number;
  at: number;
  kind: string;
  call: string | null;
  caller: string;
  agent: string;
  tool: string;
  effects: Effect[];
  argumentsDigest: string;
  summary: string;
  status: string;
  code: string;
  durationUs: number | null;
  hash: string;
};

export type SessionView = {
  sessionKey: string;
  agent: string;
  label: string | null;
  createdAt: string;
  lastActiveAt: string;
  messages: number;
  costMicros: number;
  busy: boolean;
};

export type ModelView = { id: string; model: string; title: string | null; contextTokens: number | null; price: { input: number; output: number } | null };
export type Models = {
  default: string | null;
  fallbacks: string[];
  providers: { provider: string; kind: string; baseUrl: string; used: ModelView[]; offered?: ModelView[]; error?: string; scripted: boolean }[];
  problems: unknown[];
};

export type AgentView = { id: string; model: string | null; thinking: string | null; tools: string[]; systemPrompt: string | null };

export type UsageRow = {
  day: string;
  agent: string;
  sessionKey: string;
  model: string;
  calls: number;
  inputTokens: number;
  outputTokens: number;
  cacheReadTokens: number;
  cacheWriteTokens: number;
  costMicros: number;
};
export type Usage = { since: string; total: { calls: number; inputTokens: number; outputTokens: number; costMicros: number }; rows: UsageRow[] };

export type ServerView = {
  name: string;
  type?: string;
  state: string;
  problem?: string | null;
  tools?: number;
  held?: number;
  service?: string;
  url?: string | null;
  command?: string | null;
  toolList?: { name: string; tool: string; description?: string }[];
  heldBack?: { tool: string; new: boolean; difference: string; fingerprint: string }[];
  stderr?: string[];
};

export type Connection = { pcid: string; service: string; name: string; kind: string; fields: string[]; agents: string[]; status: string; detail: string; created: number; checked: number | null };

export type Channel = {
  channel: string;
  accountId: string;
  state: string;
  detail: string | null;
  since: number | string | null;
  name: string | null;
  handle: string | null;
  id: string | null;
  lastMessageAt: number | string | null;
};
export type Pair = {
  channel: string;
  senderId: string;
  name: string | null;
  handle: string | null;
  state: string;
  owner: boolean;
  code: string | null;
  message: string | null;
  requestedAt: number | string;
};
export type Outbound = { id: string; channel: string; accountId: string; to: string | null; state: string; text: string | null; attempts: number; error: string | null; createdAt: number | string };
export type Inbound = { id: string; channel: string; from: string | null; name: string | null; text: string | null; error: string | null; receivedAt: number | string };

export type Artifact = { id: string; name: string; mime: string; size: number; agent: string; created: number; expires: number | null; chat: string };

export type Rule = { decision: string; tools?: string[]; effects?: string[]; callers?: string[]; agents?: string[]; when?: unknown; reason?: string; network?: boolean };
export type Token = { id: string; name: string; role: string; tools: string[]; createdAt: string; expiresAt: string | null; lastUsedAt: string | null; state: string };

export type Todo = { id: string; created_at?: string; done_at?: string; chat_id?: string; next?: string; repeat?: string; tz?: string; content: string };
export type Contact = { contact_id: string; nickname: string; kind: string; channel: string; active: boolean; reachable_ids: string[] };

export type Process = {
  sessionId: string;
  status: string;
  pid: number;
  startedAt: number;
  endedAt: number | null;
  runtimeMs: number;
  workdir: string;
  command: string;
  tail: string;
  exitCode: number | null;
  signal: string | null;
};

export type Preview = { text: string; times: number[]; zone?: string };
export type Finding = { what: string; state: 'ok' | 'look' | 'wrong'; about: string; remedy?: string | null };
