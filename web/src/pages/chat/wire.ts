// What the gateway says of conversations beside what its documents describe already. All of it may be absent: an
// older gateway does not send it.

import type { SessionView, Who } from '../../lib/answers';
import type { ChatBlock, ChatMessage, SessionGetResult, SessionRunningCall } from '../../generated/protocol';
import { live } from '../../lib/live.svelte';
import type { Events } from '../../lib/socket';

/** A conversation of the list. */
export type Session = SessionView & { title?: string | null; pinned?: boolean; archived?: boolean; folder?: string | null };
/** A message that a search found. `marks` are UTF-16 offsets into the snippet. */
export type Match = { sessionKey: string; title?: string | null; seq: number; role: string; at: string | number; snippet: string; marks: [number, number][] };
/** Why a turn failed. */
export type TurnError = { code: string; message: string; retryable?: boolean };
export type Outcome = 'ok' | 'failed' | 'denied' | 'stopped';
/** What came of a call, in the history and live. */
export type Ended = { outcome?: Outcome | null; exitCode?: number | null; waitedMs?: number | null; diff?: string | null };
export type Block = ChatBlock;
export type Message = Omit<ChatMessage, 'content'> & Ended & { content: Block[]; stopped?: boolean | null; error?: TurnError | null };
export type RunningCall = SessionRunningCall & Ended & { pictures?: PictureRef[] | null };
export type ToolEvent = Events['chat.tool'] & Ended & { pictures?: PictureRef[] | null };
export type PictureRef = string | { mimeType: string; ref?: string | null };
export type ChatEvent = Omit<Events['chat'], 'error'> & { error?: string | TurnError | null; retryable?: boolean | null };
export type Details = SessionGetResult & { context?: { used: number; limit: number | null } | null; model?: string | { provider: string; id: string } | null };
/** What a search found, best first. */
export type Found = { matches: Match[]; more: boolean };
/** A new conversation with the beginning of another. */
export type Branched = { sessionKey: string };
/** A conversation that a sub-agent works in. */
export type Branch = { sessionKey: string; agentId: string; title?: string | null; state?: string | null; parentCallId?: string | null; parentKey?: string | null };
export type Branches = { sessions: Branch[] };

/** Listens for events that this page's documents do not describe. */
export function onEvent<T>(event: string, listener: (payload: T) => void): () => void {
  return live.on(event as keyof Events, listener as never);
}

/** Whether the gateway turns speech into text. */
export const transcribes = (who: Who | null): boolean => (who as (Who & { transcription?: boolean }) | null)?.transcription === true;
