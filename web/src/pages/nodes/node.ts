import type { At } from '../../lib/http';
import type { Sandbox } from '../../lib/nodes';

/** A node. Whether it offers a terminal and how it is sandboxed is unknown of one that does not say. */
export type NodeView = At<'/api/nodes'>['nodes'][number] & { terminal?: boolean; sandbox?: Sandbox };
