// Short names for what the gateway's documents describe. Nothing is written here that is not generated.

import type { components } from '../generated/api';

type Schemas = components['schemas'];

export type ErrorCode = Schemas['ErrorCode'];
export type Effect = Schemas['Effect'];

export type Who = Schemas['Who'];
export type ToolView = Schemas['ToolListing'];
export type Approval = Schemas['Approval'];
export type Untrusted = Schemas['Untrusted'];
export type AuditEntry = Schemas['AuditView'];
export type SessionView = Schemas['SessionView'];
export type ModelView = Schemas['ModelView'];
export type Models = Schemas['ModelList'];
export type Maker = Schemas['MakerView'];
export type AgentView = Schemas['AgentView'];
export type UsageRow = Schemas['UsageRow'];
export type Usage = Schemas['UsageList'];
export type ServerView = Schemas['ServerView'];
export type ServerShown = Schemas['ServerShown'];
export type Connection = Schemas['ConnectionRecord'];
export type Channel = Schemas['ChannelView'];
export type Pair = Schemas['Pair'];
export type Outbound = Schemas['Outbound'];
export type Inbound = Schemas['Inbound'];
export type Artifact = Schemas['ArtifactRecord'];
export type Rule = Schemas['Rule'];
export type Token = Schemas['Token'];
export type Todo = Schemas['Todo'];
export type Contact = Schemas['Contact'];
export type Finding = Schemas['Finding'];
export type Remembered = Schemas['Remembered'];
export type ResourceShown = Schemas['ResourceShown'];
export type Skill = Schemas['SkillStatus'];
export type SkillText = Schemas['SkillText'];
