// What a node's `Process` tool lists. A result of a tool, not of the API: nodes bring their own tools.

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
