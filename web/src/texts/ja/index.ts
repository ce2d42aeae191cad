import common from './common.json';
import shell from './shell.json';
import login from './login.json';
import parts from './parts.json';
import chat from './chat.json';
import approvals from './approvals.json';
import agents from './agents.json';
import servers from './servers.json';
import nodes from './nodes.json';
import channels from './channels.json';
import jobs from './jobs.json';
import people from './people.json';
import workspace from './workspace.json';
import artifacts from './artifacts.json';
import resources from './resources.json';
import activity from './activity.json';
import usage from './usage.json';
import settings from './settings.json';
import health from './health.json';
import tools from './tools.json';
import welcome from './welcome.json';

import type { Texts } from '../../lib/i18n';

const texts: Texts = { common, shell, login, parts, chat, approvals, agents, servers, nodes, channels, jobs, people, workspace, artifacts, resources, activity, usage, settings, health, tools, welcome };
export default texts;
